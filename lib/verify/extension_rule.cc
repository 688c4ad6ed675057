#include "verify/extension_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace modelutils {

namespace {

// Returns ".gguf" for "a/b.GGUF"; empty if there is no extension.
std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

}  // namespace

void check_extension(const std::string& path, Format format, FindingLog& log) {
  const FormatInfo& own = format_info(format);
  const std::string extension = extension_of(path);
  if (own.extension.empty() || extension == own.extension) return;
  const bool is_of_another = std::ranges::any_of(
      all_formats(), [&](const FormatInfo& other) { return !other.extension.empty() && extension == other.extension; });
  if (!is_of_another) return;
  log.error(
      Scope::container, "verify-extension",
      fmt::format(
          "this is {}, but its name ends in {}: programs that rely on the name cannot load it; rename it to end in {}",
          own.noun, extension, own.extension));
}

}  // namespace modelutils
