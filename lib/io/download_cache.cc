#include "io/download_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace modelutils {

namespace {

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "sha256-" (once "sha256:") and 64 digits.
bool is_ollama_blob(std::string_view name) {
  constexpr std::string_view prefix = "sha256";
  constexpr std::size_t digits = 64;
  if (name.size() != prefix.size() + 1 + digits || !name.starts_with(prefix)) return false;
  const char mark = name[prefix.size()];
  return (mark == '-' || mark == ':') && is_hexadecimal(name.substr(prefix.size() + 1));
}

}  // namespace

std::string_view download_cache_of(std::string_view resolved_path) {
  std::vector<std::string_view> parts;
  while (!resolved_path.empty()) {
    const std::size_t slash = std::min(resolved_path.find('/'), resolved_path.size());
    parts.push_back(resolved_path.substr(0, slash));
    resolved_path.remove_prefix(std::min(slash + 1, resolved_path.size()));
  }
  for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
    const bool is_model = parts[i].starts_with("models--") || parts[i].starts_with("datasets--");
    if (is_model && (parts[i + 1] == "blobs" || parts[i + 1] == "snapshots")) return "Hugging Face";
  }
  if (parts.size() > 1 && parts[parts.size() - 2] == "blobs" && is_ollama_blob(parts.back())) return "Ollama";
  return {};
}

std::string in_cache_text(std::string_view cache) {
  return fmt::format("is in a cache of {}, where a file's name is its checksum", cache);
}

}  // namespace modelutils
