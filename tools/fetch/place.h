// Whether a connection is to this machine or a private network.
#pragma once

#include <sys/socket.h>

#include <string>

namespace fetch {

bool is_loopback(const sockaddr* address);

/// Is it an address that only this machine or a private network knows? Also link-local and multicast ones, and IPv4
/// addresses inside IPv6 ones. Families other than the two count as private.
bool is_private(const sockaddr* address);
/// The same of an address as text, without a port; what is none counts as private.
bool is_private(const std::string& address);

}  // namespace fetch
