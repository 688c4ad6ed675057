// Where an address leads: its origin, and whether a connection is to this machine or a private network.
#pragma once

#include <sys/socket.h>

#include <string>

namespace fetch {

/// Without the query, which may hold a signature, and the fragment.
std::string shown(const std::string& url);

std::string scheme_of(const std::string& url);

/// Scheme, host and port, in lower case.
std::string origin_of(const std::string& url);

/// Does it hold a user or a password?
bool has_user(const std::string& url);

bool is_loopback(const sockaddr* address);

/// Is it an address that only this machine or a private network knows? Also link-local and multicast ones, and IPv4
/// addresses inside IPv6 ones. Families other than the two count as private.
bool is_private(const sockaddr* address);
/// The same of an address as text, without a port; what is none counts as private.
bool is_private(const std::string& address);

}  // namespace fetch
