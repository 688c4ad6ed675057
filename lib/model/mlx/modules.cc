#include "model/mlx/modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/byte_reader.h"
#include "base/name_index.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/hf/names.h"
#include "tensor/half.h"
#include "tensor/types.h"

namespace modelutils::mlx {

namespace {

constexpr std::size_t kept_findings_of_a_code = 1000;

class Finder {
 public:
  Finder(std::span<const TensorRef> tensors, const Quantization& quantization)
      : tensors_(tensors), quantization_(quantization) {}

  Modules run() {
    index_names();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const hf::SplitName name = hf::split_name(tensors_[i].name);
      if (name.suffix == hf::Suffix::weight) {
        if (first_of_name(i)) add_module(i, name.module);
      } else if (has_parts_ && name.suffix == hf::Suffix::scales) {
        check_orphan(name.module, ".weight", "mlx-weight-missing", "has scales but no weight");
      } else if (has_parts_ && name.suffix == hf::Suffix::biases && find(name.module, ".scales") == no_tensor) {
        check_orphan(name.module, ".scales", "mlx-scales-missing", "has biases but no scales");
      } else if (quantization_.has_blocks) {
        add_blocks(i);
      }
    }
    check_overrides();
    return std::move(result_);
  }

 private:
  // Builds the index only if there is some sign of quantised modules, because a plain file of 100,000 tensors needs
  // none.
  void index_names() {
    has_parts_ = quantization_.declared || quantization_.has_blocks;
    for (const TensorRef& tensor : tensors_) {
      if (has_parts_) break;
      has_parts_ = tensor.name.ends_with(".scales") || tensor.name.ends_with(".biases");
    }
    if (!has_parts_) return;
    names_.reserve(tensors_.size());
    places_.reserve(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (names_.insert(tensors_[i].name).is_new) places_.push_back(i);
    }
  }

  bool first_of_name(std::size_t i) const {
    if (!has_parts_) return true;
    const std::optional<u32> number = names_.find(tensors_[i].name);
    return number && places_[*number] == i;
  }

  std::size_t find(std::string_view module, std::string_view suffix) {
    scratch_.assign(module);
    scratch_ += suffix;
    const std::optional<u32> number = names_.find(scratch_);
    return number ? places_[*number] : no_tensor;
  }

  void check_orphan(std::string_view module, std::string_view wanted, std::string_view code, std::string_view message) {
    if (quantization_.foreign_method.empty() && find(module, wanted) == no_tensor) {
      result_.findings.error(Scope::model, code, std::string(message), at_module(module));
    }
  }

  void add_module(std::size_t weight, std::string_view path) {
    Module module;
    module.path = path;
    module.weight = weight;
    const TensorRef& tensor = tensors_[weight];
    module.shape.assign(tensor.shape.begin(), tensor.shape.end());
    if (has_parts_) {
      module.scales = find(path, ".scales");
      module.biases = find(path, ".biases");
      module.bias = find(path, ".bias");
      if (quantization_.foreign_method.empty()) judge(module);
    }
    result_.list.push_back(std::move(module));
  }

  // "P_blocks" with its "P_scales" is a module by itself; its path is the name of the blocks.
  void add_blocks(std::size_t number) {
    constexpr std::string_view blocks_end = "_blocks", scales_end = "_scales";
    const std::string_view name = tensors_[number].name;
    if (name.ends_with(scales_end)) {
      check_orphan(name.substr(0, name.size() - scales_end.size()), blocks_end, "mlx-weight-missing",
                   "has scales but no blocks");
    }
    if (!name.ends_with(blocks_end) || !first_of_name(number)) return;
    Module module;
    module.path = name;
    module.weight = number;
    module.shape.assign(tensors_[number].shape.begin(), tensors_[number].shape.end());
    module.scales = find(name.substr(0, name.size() - blocks_end.size()), scales_end);
    if (module.scales == no_tensor) {
      result_.findings.error(Scope::model, "mlx-scales-missing", "has blocks but no scales", at_module(name));
    } else {
      module.quantized = true;
      module.params = default_params(Mode::mxfp4);
      module.decodable = check_blocks(module);
    }
    result_.list.push_back(std::move(module));
  }

  // Checks types and shapes of blocks and scales; fills in the logical shape.
  bool check_blocks(Module& module) {
    const TensorRef& blocks = tensors_[module.weight];
    const TensorRef& scales = tensors_[module.scales];
    if (blocks.type != TensorType::U8 || scales.type != TensorType::U8) {
      result_.findings.error(Scope::model, "mlx-weight-type", "has blocks or scales that are not U8",
                             at_module(module.path));
      return false;
    }
    std::vector<u64> wanted(scales.shape.begin(), scales.shape.end());
    wanted.push_back(module.params->group_bytes());
    const auto columns = wanted.size() < 2 ? std::nullopt : checked_mul(scales.shape.back(), module.params->group_size);
    std::vector<u64> shape(scales.shape.begin(), scales.shape.end());
    if (columns) shape.back() = *columns;
    if (!columns || !std::ranges::equal(blocks.shape, wanted) || !element_count(shape)) {
      result_.findings.error(Scope::model, "mlx-scales-shape",
                             fmt::format("blocks have shape [{}], which scales of shape [{}] do not fit",
                                         joined(blocks.shape), joined(scales.shape)),
                             at_module(module.path));
      return false;
    }
    module.shape = std::move(shape);
    return true;
  }

  void judge(Module& module) {
    const bool packed = tensors_[module.weight].type == TensorType::U32;
    const Quantization::Override* entry = quantization_.find_override(module.path);
    if (module.scales == no_tensor) {
      const bool asked = entry != nullptr && entry->rule != Quantization::Rule::off;
      if (asked || (packed && (quantization_.declared || module.biases != no_tensor))) {
        result_.findings.error(Scope::model, "mlx-scales-missing",
                               packed ? "has a packed weight (U32) but no scales"
                                      : "config.json says it is quantised, but it has no scales",
                               at_module(module.path));
      }
      return;
    }
    if (!quantization_.declared && !packed) return;  // the scales belong to another method
    module.quantized = true;
    if (!quantization_.declared) {
      result_.findings.error(Scope::model, "mlx-config-missing",
                             "is quantised, but config.json has no usable field 'quantization'",
                             at_module(module.path));
      return;
    }
    if (entry != nullptr && entry->rule == Quantization::Rule::off) {
      result_.findings.error(Scope::model, "mlx-config-contradiction",
                             "config.json says false (not quantised), but it has scales", at_module(module.path));
      return;
    }
    module.params = quantization_.params_for(module.path);
    if (module.params) module.decodable = check_parts(module);  // otherwise the config already has a finding
  }

  // Checks a quantised module against its parameters; fills in the logical shape.
  bool check_parts(Module& module) {
    const Params params = *module.params;
    const TensorRef& weight = tensors_[module.weight];
    const TensorRef& scales = tensors_[module.scales];
    bool good = true;
    const auto type_text = [](const TensorRef& tensor) {
      return tensor.type ? type_name(*tensor.type) : std::string_view("of unknown type");
    };
    if (weight.type != TensorType::U32) {
      result_.findings.error(Scope::model, "mlx-weight-type",
                             fmt::format("has scales, but its weight is {}; packed weights are U32", type_text(weight)),
                             at_module(module.path));
      good = false;
    }
    if (!scales.type || !is_scale_type(params.mode, *scales.type)) {
      result_.findings.error(Scope::model, "mlx-scales-type",
                             scale_type_message("scales are", type_text(scales), params.mode), at_module(module.path));
      good = false;
    }
    auto shape = logical_shape(params, weight.shape, scales.shape);
    if (!shape) {
      result_.findings.error(Scope::model, "mlx-scales-shape", std::move(shape.error().message),
                             at_module(module.path));
      good = false;
    }
    if (!check_biases(module, params)) good = false;
    if (good) module.shape = std::move(*shape);
    return good;
  }

  bool check_biases(const Module& module, const Params& params) {
    if (!mode_info(params.mode).has_biases) {
      if (module.biases != no_tensor) {
        result_.findings.warning(Scope::model, "mlx-biases-unexpected",
                                 fmt::format("has biases, although mode {} does not use them", mode_name(params.mode)),
                                 at_module(module.path));
      }
      return true;
    }
    if (module.biases == no_tensor) {
      result_.findings.error(Scope::model, "mlx-biases-missing", "is quantised in affine mode but has no biases",
                             at_module(module.path));
      return false;
    }
    const TensorRef& scales = tensors_[module.scales];
    const TensorRef& biases = tensors_[module.biases];
    bool good = true;
    if (!biases.type || !is_scale_type(params.mode, *biases.type)) {
      const auto found = biases.type ? type_name(*biases.type) : std::string_view("of unknown type");
      result_.findings.error(Scope::model, "mlx-biases-type", scale_type_message("biases are", found, params.mode),
                             at_module(module.path));
      good = false;
    } else if (biases.type != scales.type && scales.type && is_scale_type(params.mode, *scales.type)) {
      result_.findings.warning(Scope::model, "mlx-biases-type",
                               fmt::format("scales are {} but biases are {}; MLX gives both the same type",
                                           type_name(*scales.type), type_name(*biases.type)),
                               at_module(module.path));
    }
    if (!std::ranges::equal(scales.shape, biases.shape)) {
      result_.findings.error(
          Scope::model, "mlx-biases-shape",
          fmt::format("scales have shape [{}], but biases have shape [{}]", joined(scales.shape), joined(biases.shape)),
          at_module(module.path));
      good = false;
    }
    return good;
  }

  static std::string scale_type_message(std::string_view what, std::string_view found, Mode mode) {
    return fmt::format("{} {}, but mode {} uses {}", what, found, mode_name(mode),
                       mode == Mode::affine ? "F16, BF16 or F32" : "U8");
  }

  // Reports config entries for modules that do not exist, for example in a multimodal model without its vision part.
  void check_overrides() {
    if (quantization_.overrides.empty()) return;
    std::map<std::string, bool, std::less<>> seen;
    for (const Module& module : result_.list) seen.emplace(hf::canonical_name(module.path), true);
    for (const auto& [path, entry] : quantization_.overrides) {
      if (!seen.contains(path)) {
        result_.findings.note(Scope::model, "mlx-override-unused",
                              "config.json has a quantization entry for this module, but the model has no such weight",
                              at_module(path));
      }
    }
  }

  std::span<const TensorRef> tensors_;
  const Quantization& quantization_;
  bool has_parts_ = false;
  NameIndex names_;
  std::vector<std::size_t> places_;  // index into tensors_ by name number
  std::string scratch_;
  std::map<std::string_view, std::size_t> counts_;
  Modules result_;
};

}  // namespace

Modules find_modules(std::span<const TensorRef> tensors, const Quantization& quantization) {
  return Finder(tensors, quantization).run();
}

u64 bf16_to_f16_in_place(MutableBytes values) {
  u64 inexact = 0;
  for (std::size_t i = 0; i + 2 <= values.size(); i += 2) {
    const float value = bf16_to_f32(load<u16>(values.data() + i));
    const u16 half = f32_to_f16(value);
    std::memcpy(values.data() + i, &half, 2);
    const float back = f16_to_f32(half);
    if (back != value && !(back != back && value != value)) ++inexact;
  }
  return inexact;
}

Status check_matrix(const MatrixSizes& matrix) {
  const Params& params = matrix.params;
  if (const auto problem = params_problem(params.mode, params.bits, params.group_size)) {
    return input_error("mlx-pack-size", *problem);
  }
  if (!is_scale_type(params.mode, matrix.scale_type)) {
    return input_error("mlx-pack-size", fmt::format("mode {1} does not use scales of type {0}",
                                                    type_name(matrix.scale_type), mode_name(params.mode)));
  }
  const u64 groups_of_row = matrix.columns / params.group_size;
  const auto groups = checked_mul(matrix.rows, groups_of_row);
  const auto weight_bytes = groups ? checked_mul(*groups, params.group_bytes()) : std::nullopt;
  const auto scale_bytes = groups ? checked_mul(*groups, type_info(matrix.scale_type).block_bytes) : std::nullopt;
  const bool has_biases = mode_info(params.mode).has_biases;
  if (matrix.columns % params.group_size != 0 || weight_bytes != matrix.weight_bytes ||
      scale_bytes != matrix.scales_bytes || (has_biases ? *scale_bytes : 0) != matrix.biases_bytes) {
    return input_error("mlx-pack-size", fmt::format("{} × {} elements of {} bits in groups of {} do not match {} bytes "
                                                    "of weights, {} of scales and {} of biases",
                                                    matrix.rows, matrix.columns, params.bits, params.group_size,
                                                    matrix.weight_bytes, matrix.scales_bytes, matrix.biases_bytes));
  }
  return {};
}

Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, bool bf16_to_f16) {
  if (modules.empty()) return input_error("mlx-pack-empty", "there are no modules to pack");
  const MatrixSizes& first = modules.front();
  PackedLayout layout;
  layout.scale_type = bf16_to_f16 && first.scale_type == TensorType::BF16 ? TensorType::F16 : first.scale_type;
  u64 total = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const MatrixSizes& module = modules[i];
    MU_TRY(check_matrix(module));
    if (module.params != first.params || module.columns != first.columns || module.scale_type != first.scale_type) {
      return input_error(
          "mlx-pack-mismatch",
          fmt::format("module {} has {} columns, {} {} bits, group size {}, scales {}; the first has {} columns, {} {} "
                      "bits, group size {}, scales {}",
                      i, module.columns, mode_name(module.params.mode), module.params.bits, module.params.group_size,
                      type_name(module.scale_type), first.columns, mode_name(first.params.mode), first.params.bits,
                      first.params.group_size, type_name(first.scale_type)));
    }
    layout.weight_bytes += module.weight_bytes;
    layout.scales_bytes += module.scales_bytes;
    layout.biases_bytes += module.biases_bytes;
    // Can overflow because the same module may be listed any number of times.
    std::optional<u64> sum = total;
    for (const u64 bytes : {module.weight_bytes, module.scales_bytes, module.biases_bytes}) {
      if (sum) sum = checked_add(*sum, bytes);
    }
    if (!sum) return input_error("mlx-pack-size", "the size of the fused matrix does not fit in 64 bits");
    total = *sum;
  }
  return layout;
}

}  // namespace modelutils::mlx
