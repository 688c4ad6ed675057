#include "convert/to_gguf/image_refusals.h"

#include <fmt/core.h>

#include <span>

#include "base/types.h"
#include "json/reader.h"

namespace modelutils::to_gguf {

namespace {

constexpr std::string_view settings_ending = ".comfy_quant";

// Methods of quantisation whose tensors are not decoded here, by parts of names.
struct ForeignMark {
  std::string_view part;
  std::string_view method;
};
constexpr ForeignMark foreign_marks[] = {
    {".quant_state.bitsandbytes__nf4", "bitsandbytes NF4"},
    {".quant_state.bitsandbytes__fp4", "bitsandbytes FP4"},
    {".absmax", "bitsandbytes"},
    {".qweight", "SVDQuant (Nunchaku) or another packed method"},
    {".wscales", "SVDQuant (Nunchaku)"},
    {".weight_scale_2", "NVFP4"},
};

tl::unexpected<Error> refuse_weight(const Tensor& tensor, const std::string& path, std::string message) {
  return input_error("convert-image-model", std::move(message), at_tensor(tensor.name), {}, path);
}

// ComfyUI states the form of each weight as JSON: {"format": "float8_e4m3fn"}.
Status check_settings(const Catalog& catalog, const Tensor& tensor, const std::string& path) {
  constexpr u64 most = 4096;
  if (!tensor.is_readable() || tensor.bytes > most) {
    return refuse_weight(tensor, path, "is too large for the settings of a weight");
  }
  std::string text(static_cast<std::size_t>(tensor.bytes), '\0');
  MU_TRY(catalog.read(tensor, 0, std::as_writable_bytes(std::span(text))));
  const auto document = json::parse(text, std::string(tensor.name));
  const auto format = document ? json::string_member((*document)->root, "format") : std::nullopt;
  if (!format) return refuse_weight(tensor, path, "does not state the format of a weight");
  if (format->starts_with("float8_e4m3") || format->starts_with("float8_e5m2")) return {};
  return refuse_weight(
      tensor, path,
      fmt::format("states the format '{}' (ComfyUI's), which cannot be converted; use the unquantised model", *format));
}

}  // namespace

Status refuse_foreign_weights(const Catalog& catalog, std::string_view prefix, const std::string& path) {
  for (const Tensor& tensor : catalog.tensors) {
    if (!tensor.name.starts_with(prefix)) continue;
    if (tensor.name.ends_with(settings_ending)) MU_TRY(check_settings(catalog, tensor, path));
    for (const ForeignMark& mark : foreign_marks) {
      if (tensor.name.find(mark.part) == std::string_view::npos) continue;
      return refuse_weight(tensor, path,
                           fmt::format("belongs to weights quantised with {}, which cannot be converted; use the "
                                       "unquantised model",
                                       mark.method));
    }
  }
  return {};
}

}  // namespace modelutils::to_gguf
