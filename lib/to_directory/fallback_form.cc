#include "to_directory/fallback_form.h"

#include <fmt/core.h>

namespace modelutils {

namespace {

struct NamedFallback {
  std::string name;
  FallbackForm form;
};
const std::vector<NamedFallback>& all_fallbacks() {
  static const std::vector<NamedFallback> all = [] {
    std::vector<NamedFallback> list;
    for (const u32 bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
      for (const u32 group : {32u, 64u, 128u}) {
        list.push_back({fmt::format("affine{}-g{}", bits, group),
                        {.type = TensorType::F16, .params = {mlx::Mode::affine, bits, group}}});
      }
    }
    for (const mlx::Mode mode : {mlx::Mode::mxfp4, mlx::Mode::mxfp8, mlx::Mode::nvfp4}) {
      list.push_back({std::string(mlx::mode_name(mode)), {.params = mlx::default_params(mode)}});
    }
    list.push_back({"bf16", {.is_plain = true, .type = TensorType::BF16}});
    list.push_back({"f16", {.is_plain = true, .type = TensorType::F16}});
    list.push_back({"f32", {.is_plain = true, .type = TensorType::F32}});
    return list;
  }();
  return all;
}

}  // namespace

std::optional<FallbackForm> fallback_form(std::string_view name) {
  for (const NamedFallback& known : all_fallbacks()) {
    if (known.name == name) return known.form;
  }
  return std::nullopt;
}

std::vector<std::string> fallback_names() {
  std::vector<std::string> names;
  for (const NamedFallback& known : all_fallbacks()) names.push_back(known.name);
  return names;
}

}  // namespace modelutils
