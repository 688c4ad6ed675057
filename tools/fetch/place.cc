#include "fetch/place.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/os/programs.h"

namespace fetch {

namespace os = modelutils::os;

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

bool is_address(const std::string& text) {
  return os::address_bytes(text).has_value();
}

bool is_loopback(const std::string& address) {
  return address == "::1" || (is_address(address) && address.substr(0, 4) == "127.");
}

bool is_private(const std::string& address) {
  const auto bytes = os::address_bytes(address.substr(0, address.find('%')));
  if (!bytes) return true;
  if (const auto inner = inner_ipv4(bytes->data())) return is_private_ipv4(*inner);
  // Unique local; link-local and site-local; multicast.
  return (bytes->at(0) & 0xFE) == 0xFC || (bytes->at(0) == 0xFE && (bytes->at(1) & 0x80) != 0) || bytes->at(0) == 0xFF;
}

}  // namespace fetch
