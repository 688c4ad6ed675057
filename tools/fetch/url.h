// Splits addresses into their parts. Strict about the text between "://" and the path: it must be a plain host and
// port, so that no other parser can see a different host in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fetch {

struct Url {
  std::string scheme;     ///< in lower case
  std::string host;       ///< in lower case; an IPv6 address has no brackets
  std::string port;       ///< the scheme's default if the address has none; empty if that is unknown
  bool is_ipv6 = false;   ///< the host is in brackets
  bool has_user = false;  ///< a user or password precedes the host
  std::size_t path = 0;   ///< offset of the path in the text
};

/// Parses SCHEME://HOST[:PORT][/…]. Returns nullopt for other texts.
std::optional<Url> parse_url(std::string_view text);

/// Resolves the reference `location` of a redirect against `base` (RFC 3986, 5.2). Drops the fragment and
/// percent-encodes spaces and non-ASCII bytes. Returns empty if the result contains control characters.
std::string resolve_reference(const std::string& base, std::string_view location);

/// Returns the address without its query, which may contain a signature, and without its fragment.
std::string shown(const std::string& url);

/// Returns the scheme; empty if `url` is not an address.
std::string scheme_of(const std::string& url);

/// Returns scheme, host and port in lower case; empty if `url` is not an address.
std::string origin_of(const std::string& url);

/// True if the address contains a user or password.
bool has_user(const std::string& url);

}  // namespace fetch
