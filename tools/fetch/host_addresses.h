// The addresses of a host, from a program that every glibc and musl system has: a static program has no resolver.
#pragma once

#include <string>
#include <vector>

#include "fetch/answer.h"

namespace fetch {

struct HostAddresses {
  std::vector<std::string> all;
  std::optional<Failure> failure;  ///< why there are none
};

/// `getent ahosts HOST`, at most so many seconds; what it said of a host remains valid for a minute. The address itself
/// if the host is one.
const HostAddresses& addresses_of(const std::string& host, unsigned seconds);

/// The addresses in what getent wrote, each once, in their order; lines that begin with none are left out.
std::vector<std::string> addresses_in(const std::string& said);

}  // namespace fetch
