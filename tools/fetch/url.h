// Addresses in their parts. Strict where a mistake would cost something: what stands between "://" and the path must be
// a plain host and port, so that no other reader of the address can see another host in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fetch {

struct Url {
  std::string scheme;     ///< in lower case
  std::string host;       ///< in lower case, of an IPv6 address without its brackets
  std::string port;       ///< the scheme's own if the address has none; empty if neither is known
  bool is_ipv6 = false;   ///< the host is an address in brackets
  bool has_user = false;  ///< a user or a password stands before the host
  std::size_t path = 0;   ///< where the path begins in the text
};

/// Nothing for what is no address: SCHEME://HOST[:PORT][/…].
std::optional<Url> parse_url(std::string_view text);

/// Where a redirect leads: `location` as a server wrote it, seen from `base` (RFC 3986, 5.2). Without a fragment;
/// spaces and what is not ASCII percent-encoded. Empty if it holds control characters.
std::string resolve_reference(const std::string& base, std::string_view location);

/// Without the query, which may hold a signature, and the fragment.
std::string shown(const std::string& url);

/// Empty for what is no address.
std::string scheme_of(const std::string& url);

/// Scheme, host and port, in lower case; empty for what is no address.
std::string origin_of(const std::string& url);

/// Does it hold a user or a password?
bool has_user(const std::string& url);

}  // namespace fetch
