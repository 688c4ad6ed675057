// Resolves host names with getent, a program on every glibc and musl system, because a static program has no resolver.
#pragma once

#include <string>
#include <vector>

#include "fetch/answer.h"

namespace fetch {

struct HostAddresses {
  std::vector<std::string> all;
  std::optional<Failure> failure;  ///< set if there are no addresses
};

/// Runs `getent ahosts HOST` for at most `seconds`. Results are cached for a minute. If the host is an address, returns
/// that.
const HostAddresses& addresses_of(const std::string& host, unsigned seconds);

/// Returns the addresses in getent's output, in order and without duplicates. Skips lines that do not begin with one.
std::vector<std::string> addresses_in(const std::string& said);

}  // namespace fetch
