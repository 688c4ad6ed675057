// Tells whether a connection goes to this machine or a private network. Addresses are texts without brackets or port.
#pragma once

#include <string>

namespace fetch {

/// True for the text of an IPv4 or IPv6 address.
bool is_address(const std::string& text);

/// True for addresses of this machine.
bool is_loopback(const std::string& address);

/// True for addresses that exist only on this machine or in a private network, including link-local and multicast ones
/// and IPv4 addresses embedded in IPv6. Text that is not an address counts as private.
bool is_private(const std::string& address);

}  // namespace fetch
