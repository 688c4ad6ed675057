#include "requantize/recipe.h"

#include <fmt/core.h>

#include "base/closest_name.h"
#include "io/random_access_file.h"
#include "quantize/quantize.h"

namespace modelutils::requantize {

namespace {

constexpr u64 most_bytes = u64{16} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

Result<quantize::TypeOverride> parse_override(std::string_view flag, std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return usage_error(fmt::format("{} takes PATTERN=TYPE, such as 'output.weight=Q8_0', not '{}'", flag, text));
  }
  const std::string_view name = trimmed(text.substr(equals + 1));
  const auto type = type_from_name(name);
  if (!type || !has_encoder(*type)) {
    ClosestName closest(name);
    for (const TypeInfo& info : all_types()) {
      if (has_encoder(info.type)) closest.offer(info.name);
    }
    return usage_error(fmt::format("{}: there is no type '{}' to quantise to{}", flag, name, closest.hint()));
  }
  return quantize::TypeOverride{std::string(trimmed(text.substr(0, equals))), *type};
}

Result<const quantize::Mix*> parse_mix(std::string_view flag, std::string_view text) {
  if (const quantize::Mix* mix = quantize::mix_from_name(text)) return mix;
  std::string names;
  for (const quantize::Mix& mix : quantize::all_mixes()) names += (names.empty() ? "" : ", ") + std::string(mix.name);
  return usage_error(fmt::format("{} takes one of {}, not '{}'", flag, names, text));
}

Result<Recipe> read_recipe(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  const u64 size = file->file_size();
  if (size > most_bytes) return input_error("quantize-recipe", "is too large for a recipe", {}, {}, path);
  std::string text(size, '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  Recipe recipe;
  u64 number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("line {}", number);
    Status added = [&]() -> Status {
      constexpr std::string_view mix_word = "type=";
      if (line.starts_with(mix_word)) {
        MU_ASSIGN(recipe.mix, parse_mix(where, line.substr(mix_word.size())));
        return {};
      }
      MU_ASSIGN(quantize::TypeOverride one, parse_override(where, line));
      recipe.overrides.push_back(std::move(one));
      return {};
    }();
    if (!added) return input_error("quantize-recipe", added.error().message, {}, {}, path);
  }
  return recipe;
}

}  // namespace modelutils::requantize
