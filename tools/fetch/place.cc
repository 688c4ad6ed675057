#include "fetch/place.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace fetch {

namespace {

bool is_in(std::uint32_t address, std::uint32_t net, int bits) {
  return (address >> (32 - bits)) == (net >> (32 - bits));
}

bool is_private_ipv4(std::uint32_t address) {
  return is_in(address, 0x00000000, 8) || is_in(address, 0x0A000000, 8) || is_in(address, 0x64400000, 10) ||
         is_in(address, 0x7F000000, 8) || is_in(address, 0xA9FE0000, 16) || is_in(address, 0xAC100000, 12) ||
         is_in(address, 0xC0000000, 24) || is_in(address, 0xC0A80000, 16) || is_in(address, 0xE0000000, 3);
}

std::uint32_t four_bytes(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         std::uint32_t{bytes[3]};
}

// Returns the IPv4 address embedded in an IPv6 one: ::a.b.c.d, ::ffff:a.b.c.d, 64:ff9b::a.b.c.d, 2002:aabb:ccdd::.
std::optional<std::uint32_t> inner_ipv4(const unsigned char* bytes) {
  constexpr unsigned char translated[12] = {0, 0x64, 0xFF, 0x9B};
  const auto zeros = std::find_if(bytes, bytes + 16, [](unsigned char byte) { return byte != 0; }) - bytes;
  if (zeros >= 12 || (zeros == 10 && bytes[10] == 0xFF && bytes[11] == 0xFF)) return four_bytes(bytes + 12);
  if (std::memcmp(bytes, translated, sizeof translated) == 0) return four_bytes(bytes + 12);
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return four_bytes(bytes + 2);
  return {};
}

}  // namespace

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_in(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr), 0x7F000000, 8);
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool is_private(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_private_ipv4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return true;
  const unsigned char* bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr;
  if (const auto inner = inner_ipv4(bytes)) return is_private_ipv4(*inner);
  // Unique local; link-local and site-local; multicast.
  return (bytes[0] & 0xFE) == 0xFC || (bytes[0] == 0xFE && (bytes[1] & 0x80) != 0) || bytes[0] == 0xFF;
}

bool is_private(const std::string& address) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    return is_private(reinterpret_cast<const sockaddr*>(&four));
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  const std::string bare = address.substr(0, address.find('%'));
  if (inet_pton(AF_INET6, bare.c_str(), &six.sin6_addr) != 1) return true;
  return is_private(reinterpret_cast<const sockaddr*>(&six));
}

}  // namespace fetch
