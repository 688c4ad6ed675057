#include "fetch/url.h"

#include <algorithm>

#include "base/os/programs.h"

namespace fetch {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

// True if the text has only letters, digits and the other characters of host names. Bytes beyond ASCII belong to
// unencoded international names.
bool is_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

bool is_ipv6(const std::string& text) {
  return text.find(':') != std::string::npos && modelutils::os::address_bytes(text).has_value();
}

// Returns the length of the scheme before a colon; 0 if there is none.
std::size_t scheme_length(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(text[0])) return 0;
  const std::string_view scheme = text.substr(0, colon);
  const bool is_scheme = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  return is_scheme ? colon : 0;
}

std::string encoded(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7F) {
      result += c;
    } else {
      result += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result;
}

}  // namespace

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  const std::size_t scheme = scheme_length(text);
  if (scheme == 0 || text.substr(scheme, 3) != "://") return {};
  if (std::any_of(text.begin(), text.end(), is_control)) return {};
  url.scheme = lower(text.substr(0, scheme));
  const std::size_t begin = scheme + 3;
  url.path = std::min(text.size(), text.find_first_of("/?#", begin));
  std::string_view authority = text.substr(begin, url.path - begin);
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    if (authority.substr(0, at).find('\\') != std::string_view::npos) return {};  // browsers read it as a slash
    url.has_user = true;
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  bool has_port = false;
  if (!authority.empty() && authority[0] == '[') {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return {};
    url.host = lower(authority.substr(1, bracket - 1));
    url.is_ipv6 = true;
    port = authority.substr(bracket + 1);
    has_port = !port.empty();
    if (has_port && port[0] != ':') return {};
    if (has_port) port.remove_prefix(1);
    if (!is_ipv6(url.host)) return {};
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    if (has_port) port = authority.substr(colon + 1);
    url.host = lower(authority.substr(0, colon));
    if (!is_host(url.host)) return {};
  }
  if (port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return {};
  if (!port.empty() && std::stoi(std::string(port)) > 65535) return {};
  while (port.size() > 1 && port[0] == '0') port.remove_prefix(1);
  url.port = port.empty() ? (url.scheme == "https" ? "443" : url.scheme == "http" ? "80" : "") : std::string(port);
  return url;
}

std::string resolve_reference(const std::string& base, std::string_view location) {
  while (!location.empty() && location.front() == ' ') location.remove_prefix(1);
  while (!location.empty() && location.back() == ' ') location.remove_suffix(1);
  location = location.substr(0, location.find('#'));
  if (std::any_of(location.begin(), location.end(), is_control)) return {};
  if (scheme_length(location) > 0) {
    const auto url = parse_url(location);
    return std::string(location.substr(0, url ? url->path : 0)) + encoded(location.substr(url ? url->path : 0));
  }
  const auto from = parse_url(base);
  if (!from) return {};
  if (location.substr(0, 2) == "//") return resolve_reference(base, from->scheme + ":" + std::string(location));
  const std::string root = base.substr(0, from->path);
  const std::string path = base.substr(from->path, base.find_first_of("?#", from->path) - from->path);
  if (location.empty()) return base.substr(0, base.find('#'));
  if (location[0] == '/') return root + encoded(location);
  if (location[0] == '?') return root + (path.empty() ? "/" : path) + encoded(location);
  const std::size_t slash = path.rfind('/');
  return root + (slash == std::string::npos ? "/" : path.substr(0, slash + 1)) + encoded(location);
}

std::string shown(const std::string& url) {
  return url.substr(0, url.find_first_of("?#"));
}

std::string scheme_of(const std::string& url) {
  const auto parsed = parse_url(url);
  return parsed ? parsed->scheme : std::string();
}

std::string origin_of(const std::string& url) {
  const auto parsed = parse_url(url);
  if (!parsed) return {};
  return parsed->scheme + "://" + (parsed->is_ipv6 ? "[" + parsed->host + "]" : parsed->host) + ":" + parsed->port;
}

bool has_user(const std::string& url) {
  const auto parsed = parse_url(url);
  return parsed && parsed->has_user;
}

}  // namespace fetch
