#include "io/output_place.h"

#include <fmt/core.h>

#include <filesystem>

#include "io/download_cache.h"

namespace modelutils {

std::string output_place(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const auto place = std::filesystem::weakly_canonical(absolute, error);
  return error ? path : place.string();
}

Status refuse_output_in_cache(const std::string& path) {
  const std::string_view cache = download_cache_of(output_place(path));
  if (cache.empty()) return {};
  return output_error("out-in-cache", fmt::format("{}; write it somewhere else", in_cache_text(cache)), path);
}

}  // namespace modelutils
