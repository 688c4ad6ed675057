#include "io/remote_address.h"

#include <strings.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "base/escape.h"

namespace modelutils {

namespace {

constexpr std::size_t max_token = 4096;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return value;
}

bool is_on(const char* name) {
  const auto value = variable(name);
  if (!value) return false;
  for (const char* on : {"1", "ON", "YES", "TRUE"}) {
    if (::strcasecmp(value->c_str(), on) == 0) return true;
  }
  return false;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

std::string token_file() {
  if (const auto path = variable("HF_TOKEN_PATH")) return *path;
  if (const auto home = variable("HF_HOME")) return *home + "/token";
  if (const auto cache = variable("XDG_CACHE_HOME")) return *cache + "/huggingface/token";
  return variable("HOME").value_or("") + "/.cache/huggingface/token";
}

std::string token() {
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  std::string text;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (text.empty()) text = trimmed(variable(name).value_or(""));
  }
  if (text.empty()) {
    std::ifstream file(token_file());
    std::getline(file, text);
    text = trimmed(text);
  }
  // What cannot stand in a header is not a token.
  const bool is_plain =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=") ==
      std::string::npos;
  return is_plain && text.size() <= max_token ? text : std::string();
}

std::string_view host_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool may_have_token(std::string_view url) {
  if (url.starts_with("https://")) return true;
  const std::string_view host = host_of(url);
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Status check_web(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.empty()) return usage_error("the address names no host: it should be https://HOST/PATH");
  if (authority.find('@') != std::string_view::npos) {
    return usage_error("the address has a user or a password in it, which others could read: leave them out");
  }
  return {};
}

std::string percent_encoded(std::string_view segment) {
  std::string text;
  for (const char c : segment) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::vector<std::string_view> segments(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

Result<std::string> hub_url(const std::string& endpoint, std::string_view text) {
  std::vector<std::string_view> parts = segments(text);
  if (parts.front() == "models") parts.erase(parts.begin());
  for (const std::string_view kind : {"datasets", "spaces", "kernels", "buckets"}) {
    if (!parts.empty() && parts.front() == kind)
      return usage_error(fmt::format("hf://{}/… does not hold models", kind));
  }
  if (parts.size() < 3) return usage_error("the address names no file: it should be hf://ORG/REPO[@REVISION]/PATH");
  for (const std::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return usage_error("the path of the address has an empty part, \".\" or \"..\": write it in full");
    }
  }
  const auto at = parts[1].find('@');
  std::string revision = at == std::string_view::npos ? "main" : std::string(parts[1].substr(at + 1));
  std::size_t path = 2;
  // refs/pr/N and refs/convert/NAME stand as they are and have three segments.
  if (revision == "refs" && parts.size() > 4 && (parts[2] == "pr" || parts[2] == "convert")) {
    revision = fmt::format("refs%2F{}%2F{}", parts[2], percent_encoded(parts[3]));
    path = 4;
  } else if (revision.find('%') == std::string::npos) {  // %2F is how a branch's "/" is written
    revision = percent_encoded(revision);
  }
  if (revision.empty() || at == 0)
    return usage_error("the address has an empty name or revision: it should be hf://ORG/REPO[@REVISION]/PATH");
  std::string url = fmt::format("{}/{}/{}/resolve/{}", endpoint, percent_encoded(parts[0]),
                                percent_encoded(parts[1].substr(0, at)), revision);
  for (; path < parts.size(); ++path) url += "/" + percent_encoded(parts[path]);
  return url;
}

}  // namespace

bool is_address(std::string_view path) {
  const auto colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  return path.substr(0, colon).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-") ==
         std::string_view::npos;
}

Result<RemoteAddress> resolve_address(const std::string& path) {
  for (const char c : path) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      return usage_error("the address has a space or a control character: write a space as %20");
    }
  }
  const bool is_hub = path.starts_with("hf://");
  if (!is_hub && !path.starts_with("https://") && !path.starts_with("http://")) {
    return usage_error("an address must begin with https://, http:// or hf://");
  }
  RemoteAddress address;
  if (is_hub) {
    std::string endpoint = variable("HF_ENDPOINT").value_or("https://huggingface.co");
    while (endpoint.ends_with('/')) endpoint.pop_back();
    if (!endpoint.starts_with("https://") && !endpoint.starts_with("http://")) {
      return usage_error("HF_ENDPOINT is not an address that begins with https:// or http://");
    }
    MU_TRY(check_web(endpoint));
    MU_ASSIGN(address.url, hub_url(endpoint, std::string_view(path).substr(5)));
    if (may_have_token(endpoint)) address.token = token();
  } else {
    MU_TRY(check_web(path));
    address.url = path.substr(0, path.find('#'));
  }
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (is_on(name)) return input_error("remote-offline", fmt::format("is an address, and {} is set", name));
  }
  return address;
}

}  // namespace modelutils
