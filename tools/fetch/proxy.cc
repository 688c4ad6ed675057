#include "fetch/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "fetch/answer.h"

namespace fetch {

namespace {

std::string variable(const std::string& name, bool has_capitals = true) {
  if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != '\0') return value;
  if (!has_capitals) return {};
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const char* value = std::getenv(capitals.c_str());
  return value == nullptr ? std::string() : value;
}

// Returns the 4 or 16 bytes of an address; empty if the text is not one.
std::string bytes_of(const std::string& address) {
  char bytes[16];
  if (inet_pton(AF_INET, address.c_str(), bytes) == 1) return std::string(bytes, 4);
  if (inet_pton(AF_INET6, address.c_str(), bytes) == 1) return std::string(bytes, 16);
  return {};
}

bool is_in_net(const std::string& address, const std::string& net, const std::string& bits) {
  const std::string place = bytes_of(address);
  const std::string begin = bytes_of(net);
  const std::optional<u64> wanted = number(bits);
  if (place.empty() || place.size() != begin.size() || !wanted || *wanted > place.size() * 8) return false;
  for (std::size_t bit = 0; bit < *wanted; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((place[bit / 8] & mask) != (begin[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_named(const std::string& host, std::string name) {
  if (!name.empty() && name[0] == '[') name = name.substr(1, name.find(']') - 1);
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    return is_in_net(host, name.substr(0, slash), name.substr(slash + 1));
  }
  if (const std::string bytes = bytes_of(host); !bytes.empty()) return bytes == bytes_of(name);
  while (!name.empty() && name.front() == '.') name.erase(0, 1);
  while (!name.empty() && name.back() == '.') name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (name.empty() || host.size() < name.size()) return false;
  if (host.compare(host.size() - name.size(), name.size(), name) != 0) return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

}  // namespace

bool is_listed(const std::string& host, const std::string& list) {
  if (list == "*") return true;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t begin = list.find_first_not_of(", \t", at);
    if (begin == std::string::npos) break;
    at = std::min(list.size(), list.find_first_of(", \t", begin));
    if (is_named(host, list.substr(begin, at - begin))) return true;
  }
  return false;
}

std::string proxy_for(const Url& url) {
  if (is_listed(url.host, variable("no_proxy"))) return {};
  const std::string own = variable(url.scheme + "_proxy", url.scheme != "http");
  return own.empty() ? variable("all_proxy") : own;
}

std::string proxy_host(const std::string& proxy) {
  const auto url = parse_url(proxy.find("://") == std::string::npos ? "http://" + proxy : proxy);
  return url ? url->host : std::string();
}

}  // namespace fetch
