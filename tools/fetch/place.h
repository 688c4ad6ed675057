// Tells whether a connection goes to this machine or a private network.
#pragma once

#include <sys/socket.h>

#include <string>

namespace fetch {

bool is_loopback(const sockaddr* address);

/// True for addresses that exist only on this machine or in a private network, including link-local and multicast ones
/// and IPv4 addresses embedded in IPv6. Families other than IPv4 and IPv6 count as private.
bool is_private(const sockaddr* address);
/// Like is_private(sockaddr), for an address as text without a port. Text that is not an address counts as private.
bool is_private(const std::string& address);

}  // namespace fetch
