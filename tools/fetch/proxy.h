// Chooses the proxy for an address from the environment variables that curl uses: curl(1), "ENVIRONMENT".
#pragma once

#include <string>

#include "fetch/url.h"

namespace fetch {

/// Returns the proxy as given in the variable; empty for none. http_proxy is read in lower case only, because CGI
/// servers put a client's Proxy header into HTTP_PROXY.
std::string proxy_for(const Url& url);

/// True if a no_proxy list contains the host. Names match themselves and their subdomains, "*" matches every host, and
/// "10.0.0.0/8" and "fd00::/8" match the addresses in that network.
bool is_listed(const std::string& host, const std::string& list);

/// Returns the host of a proxy, whose scheme is optional; empty if there is none.
std::string proxy_host(const std::string& proxy);

}  // namespace fetch
