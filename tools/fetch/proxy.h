// Which proxy leads to an address, by the variables that curl reads: curl(1), "ENVIRONMENT".
#pragma once

#include <string>

#include "fetch/url.h"

namespace fetch {

/// The proxy, as the variable says it; empty for none. http_proxy counts in lower case only, because servers that start
/// programs put a header of their clients into HTTP_PROXY.
std::string proxy_for(const Url& url);

/// Is a host named in such a list? Names match themselves and those below them, "*" everything, "10.0.0.0/8" and
/// "fd00::/8" the addresses in them.
bool is_listed(const std::string& host, const std::string& list);

/// The host of a proxy, whose scheme may be missing; empty if there is none.
std::string proxy_host(const std::string& proxy);

}  // namespace fetch
