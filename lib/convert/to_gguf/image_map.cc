#include "convert/to_gguf/image_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/log.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/image_refusals.h"
#include "model/forms/stored_form.h"
#include "tensor/dequantize.h"

namespace modelutils::to_gguf {

namespace {

// A scale of FP8, in ComfyUI's older and newer files.
constexpr std::array<std::string_view, 2> scale_endings = {".scale_weight", ".weight_scale"};
// Tensors of ComfyUI's FP8 files that the values do not depend on.
constexpr std::array<std::string_view, 4> marker_endings = {".scale_input", ".input_scale", ".comfy_quant",
                                                            "scaled_fp8"};
// A pipe's bytes up to the last scale are kept in memory. Files sorted by dtype have F32 scales in front.
constexpr u64 most_before_scales = u64{16} << 20;

// A family without rows: the forms of tensors ask for one.
const arch::Family& image_family() {
  static constexpr arch::Family family = {
      .name = "image model", .gguf = "image model", .classes = {}, .model_types = {}};
  return family;
}

constexpr double greatest_of(TensorType type) {
  return type == TensorType::F8_E5M2 ? 57344 : 448;
}

// True if every FP8 number times the scale is exact in BF16: a power of two, within the exponents of normal numbers.
bool is_exact_in_bf16(float scale) {
  int exponent = 0;
  return std::frexp(std::abs(scale), &exponent) == 0.5f && exponent >= -100 && exponent <= 100;
}

class ImageMapper {
 public:
  ImageMapper(std::shared_ptr<const Model> from, const ImageSource& source, const ImageOptions& options)
      : source_(source), options_(options) {
    result_.model = std::make_unique<HfModel>(std::move(from), image_family());
    result_.model->directory = source.path;
    const std::optional<SafetensorsModel>& opened = result_.model->model->safetensors;
    if (!opened || opened->set.is_directory || opened->set.files.size() != 1) return;
    const pytorch::Document* checkpoint = checkpoint_of(opened->set.files.front());
    if (checkpoint != nullptr && !checkpoint->wrapper.empty()) wrapper_ = checkpoint->wrapper + ".";
  }

  Result<std::optional<ImageMap>> map() {
    std::vector<std::string_view> names;
    for (const Tensor& tensor : catalog().tensors) {
      if (tensor.name.starts_with(wrapper_)) names.push_back(tensor.name.substr(wrapper_.size()));
    }
    MU_ASSIGN(layout_, recognise_image(source_, names, options_.architecture));
    if (!layout_) return std::nullopt;
    result_.architecture = layout_.model;
    if (!options_.architecture.empty()) {
      warn_of_other_rules(arch::image_layout(names).model, *layout_.model, result_.map.remarks);
    }
    MU_TRY(sort_tensors());
    MU_TRY(place_weights());
    MU_TRY(make_tensors());
    make_keys();
    list_inputs();
    remark();
    MU_TRY(order_pipe());
    return std::optional(std::move(result_));
  }

 private:
  // A tensor of the target, before it is made: the weights that it consists of.
  struct Parts {
    std::vector<std::size_t> weights;  // indexes into `matrices`; `none` for one that is missing
    bool swaps = false, only_last = false;
    u64 block = 0;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  const Catalog& catalog() const { return result_.model->model->catalog(); }

  tl::unexpected<Error> fail(std::string_view code, std::string message, std::string where = {}) const {
    return input_error(std::string(code), std::move(message), std::move(where), {}, source_.path);
  }

  // Decides for each tensor of the source: a weight of the model, a scale, or not part of it.
  Status sort_tensors() {
    // First of all, because such files have integers as weights, too.
    MU_TRY(refuse_foreign_weights(catalog(), wrapper_ + std::string(layout_.prefix), source_.path));
    for (const Tensor& tensor : catalog().tensors) {
      if (!tensor.name.starts_with(wrapper_)) {
        leave_out(tensor, std::string(arch::image_part_of(tensor.name)), LeftOutReason::beside_weights);
        continue;
      }
      std::string_view name = tensor.name.substr(wrapper_.size());
      if (!layout_.has(name)) {
        leave_out(tensor, std::string(arch::image_part_of(name)), LeftOutReason::beside_model);
        continue;
      }
      name.remove_prefix(layout_.prefix.size());
      if (!layout_.prefix.empty() && name.starts_with(layout_.prefix)) {
        return fail("convert-image-model", fmt::format("has the prefix '{}' twice", layout_.prefix),
                    at_tensor(tensor.name));
      }
      if (leaves_out(name, tensor)) continue;
      const auto scale = std::ranges::find_if(scale_endings, [&](std::string_view end) { return name.ends_with(end); });
      if (scale != scale_endings.end()) {
        const std::string weight = std::string(name.substr(0, name.size() - scale->size())) + ".weight";
        if (!scales_.emplace(weight, &tensor).second) {
          return fail("convert-image-model", "is a second scale of the same weight", at_tensor(tensor.name));
        }
        continue;
      }
      MU_TRY(add_weight(name, tensor));
    }
    return {};
  }

  void leave_out(const Tensor& tensor, std::string part, LeftOutReason reason) {
    ++left_out_[std::move(part)];
    result_.model->left_out.push_back({std::string(tensor.name), reason});
  }

  // True if the tensor says nothing about the values.
  bool leaves_out(std::string_view name, const Tensor& tensor) {
    std::string_view left = layout_.model->left_out;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(' '), left.size());
      const std::string_view part = left.substr(0, end);
      if (name.find(part) != std::string_view::npos) {
        leave_out(tensor, std::string(part), LeftOutReason::beside_weights);
        return true;
      }
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    const auto marker = std::ranges::find_if(marker_endings, [&](std::string_view end) { return name.ends_with(end); });
    if (marker == marker_endings.end()) return false;
    const bool is_scale = marker->ends_with("scale") || marker->ends_with("input");
    leave_out(tensor, std::string(*marker),
              is_scale ? LeftOutReason::activation_scales : LeftOutReason::beside_weights);
    return true;
  }

  Status add_weight(std::string_view name, const Tensor& tensor) {
    const auto refuse = [&](std::string message) {
      return fail("convert-module", std::move(message), at_tensor(tensor.name));
    };
    if (!tensor.is_readable()) return refuse("cannot be read: " + std::string(problem_text(tensor.unreadable)));
    const bool is_gguf = result_.model->model->format == Format::gguf;
    const bool has_rules = (is_gguf && tensor.type && has_decoder(*tensor.type)) || tensor.type == TensorType::F32 ||
                           tensor.type == TensorType::F16 || tensor.type == TensorType::BF16 ||
                           tensor.type == TensorType::F8_E4M3 || tensor.type == TensorType::F8_E5M2;
    if (!has_rules) {
      return refuse(fmt::format("is {}; only F32, F16, BF16 and F8 can be converted",
                                tensor.type ? type_name(*tensor.type) : "of an unknown type"));
    }
    const std::size_t most = layout_.model->is_video ? arch::most_image_dimensions : 4;
    if (tensor.ne.size() > most) {
      return fail("convert-shape",
                  fmt::format("has {} dimensions, {} may have at most {}", tensor.ne.size(), layout_.model->name, most),
                  at_tensor(tensor.name));
    }
    Weight weight;
    weight.name = std::string(name);
    weight.ne = tensor.ne.empty() ? std::vector<u64>{1} : std::vector<u64>(tensor.ne.begin(), tensor.ne.end());
    weight.planes[0] = &tensor;
    weight.form = plain_form(*tensor.type);
    if (std::ranges::find(weight.ne, u64{0}) != weight.ne.end()) {
      return fail("convert-shape", "has no elements", at_tensor(tensor.name));
    }
    result_.model->matrices.push_back(std::move(weight));
    return {};
  }

  Status place_weights() {
    std::vector<std::string> homeless;
    std::vector<Weight>& weights = result_.model->matrices;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      MU_TRY(take_scale(weights[i]));
      const auto place = layout_.names != nullptr ? arch::image_place(*layout_.names, weights[i].name)
                                                  : std::optional(arch::ImagePlace{.name = weights[i].name});
      if (!place) {
        homeless.emplace_back(weights[i].planes[0]->name);
        continue;
      }
      Parts& parts = parts_[place->name];
      parts.weights.resize(place->parts, none);
      parts.swaps = place->swaps;
      parts.only_last = place->only_last;
      parts.block = place->block;
      if (place->only_last) last_block_ = std::max(last_block_, place->block);
      if (parts.weights[place->part] != none) {
        return fail("convert-image-model", fmt::format("is '{}', as another tensor is", place->name),
                    at_tensor(weights[i].planes[0]->name));
      }
      parts.weights[place->part] = i;
    }
    if (!scales_.empty()) {
      return fail("convert-unmapped", "is a scale without a weight", at_tensor(scales_.begin()->second->name));
    }
    if (homeless.empty()) return {};
    return fail("convert-unmapped", fmt::format("{} {} no place in a {} ({}): {}", counted(homeless.size(), "tensor"),
                                                verb(homeless.size(), "has", "have"), layout_.model->title,
                                                layout_.names->name, joined_first(homeless)));
  }

  // FP8 with a scale: the value is the product.
  Status take_scale(Weight& weight) {
    const auto found = scales_.find(weight.name);
    if (found == scales_.end()) return {};
    const Tensor& scale = *found->second;
    scales_.erase(found);
    const TensorType type = weight.form.type();
    const auto refuse = [&](std::string message) {
      return fail("convert-image-model", std::move(message), at_tensor(scale.name));
    };
    if (type != TensorType::F8_E4M3 && type != TensorType::F8_E5M2) {
      return refuse(
          fmt::format("is a scale of weights that are {}; only FP8 with one scale can be converted", type_name(type)));
    }
    const bool has_type =
        scale.type == TensorType::F32 || scale.type == TensorType::BF16 || scale.type == TensorType::F16;
    if (!scale.is_readable() || !has_type || checked_product(scale.ne) != u64{1}) {
      return refuse("is not one number: only FP8 with one scale per tensor can be converted");
    }
    scales_end_ = std::max(scales_end_, scale.offset + scale.bytes);
    if (is_pipe() && scales_end_ > most_before_scales) {
      return fail("io-pipe", "delivers scales behind many of the weights that need them; save it to a file first",
                  at_tensor(scale.name));
    }
    std::array<std::byte, sizeof(float)> bytes{};
    MU_TRY(catalog().read(scale, 0, MutableBytes(bytes).first(static_cast<std::size_t>(scale.bytes))));
    const float factor = scale_at(*scale.type, bytes.data());
    if (!std::isfinite(factor)) return refuse("is NaN or infinite");
    weight.form = fp8_form(*scale.type);
    weight.form.types[0] = type;
    weight.planes[1] = &scale;
    factors_.emplace(weight.planes[0], factor);
    return {};
  }

  Status make_tensors() {
    // Sorted by the bytes of their names.
    for (const auto& [name, parts] : parts_) {
      MU_ASSIGN(MappedTensor made, make_tensor(name, parts));
      MU_TRY(choose_type(made));
      result_.map.tensors.push_back(std::move(made));
    }
    return {};
  }

  Result<MappedTensor> make_tensor(const std::string& name, const Parts& parts) {
    std::vector<Weight>& weights = result_.model->matrices;
    const auto missing = std::ranges::find(parts.weights, none);
    if (missing != parts.weights.end()) {
      const auto there = std::ranges::find_if(parts.weights, [](std::size_t i) { return i != none; });
      return fail("convert-missing",
                  fmt::format("is part of {}, whose part {} of {} is missing", name,
                              missing - parts.weights.begin() + 1, parts.weights.size()),
                  at_tensor(weights[*there].planes[0]->name));
    }
    Weight& first = weights[parts.weights.front()];
    MappedTensor made;
    made.name = name;
    const bool swaps = parts.swaps && (!parts.only_last || parts.block == last_block_);
    if (parts.weights.size() > 1 || swaps) {
      MU_TRY(join(parts, swaps, made));
      return made;
    }
    made.ne = arch::stored_image_ne(*layout_.model, first.ne);
    if (made.ne != first.ne) {
      MU_TRY(keep_shape(name, first.ne));
      first.ne = made.ne;  // the elements stay in order
    }
    made.unit = made.ne.front();
    if (made.ne.size() > options_.max_dimensions) {
      MU_TRY(keep_shape(name, made.ne));
      made.ne[3] *= made.ne[4];
      made.ne.pop_back();
    }
    const u64 rows = first.rows();
    made.parts.push_back({parts.weights.front(), arch::whole_view(rows), arch::whole_view(rows)});
    return made;
  }

  // Remembers the shape of a tensor that is stored with another one.
  Status keep_shape(const std::string& name, std::span<const u64> ne) {
    const bool fits = std::ranges::all_of(ne, [](u64 size) { return size <= std::numeric_limits<i32>::max(); });
    if (!fits)
      return fail("convert-shape", "has a dimension above 2^31 - 1, which its key cannot hold", at_tensor(name));
    orig_shapes_.emplace_back(name, reversed(ne));
    return {};
  }

  // Puts the rows of parts one after another, or the second half of the rows before the first.
  Status join(const Parts& parts, bool swaps, MappedTensor& made) const {
    const std::vector<Weight>& weights = result_.model->matrices;
    const Weight& first = weights[parts.weights.front()];
    const std::size_t last = first.ne.size() - 1;
    made.ne = first.ne;
    made.ne[last] = 0;
    u64 unit = first.ne.size() > 1 ? first.ne.front() : 0;  // for a vector: a common divisor of all parts
    for (const std::size_t i : parts.weights) {
      const Weight& weight = weights[i];
      const bool fits =
          weight.ne.size() == first.ne.size() && std::equal(weight.ne.begin(), weight.ne.end() - 1, first.ne.begin());
      if (!fits || weight.form.kind != first.form.kind || weight.form.types[0] != first.form.types[0]) {
        return fail("convert-shape",
                    fmt::format("is part of {}, but differs from '{}' in its {}", made.name, first.planes[0]->name,
                                fits ? "type" : "shape"),
                    at_tensor(weight.planes[0]->name));
      }
      const auto sum = checked_add(made.ne[last], weight.ne[last]);
      if (!sum) return fail("convert-shape", "is too large", at_tensor(weight.planes[0]->name));
      made.ne[last] = *sum;
      if (last == 0) unit = std::gcd(unit, weight.ne[0]);
    }
    if (swaps) {
      if (made.ne[last] % 2 != 0) {
        return fail("convert-shape", "has an odd number of rows, but two halves change places",
                    at_tensor(first.planes[0]->name));
      }
      if (last == 0) unit = std::gcd(unit, made.ne[0] / 2);
    }
    if (unit % type_info(first.form.types[0]).block_elements != 0) {
      return fail("convert-shape",
                  fmt::format("has blocks of {} that do not fit its parts", type_name(first.form.types[0])),
                  at_tensor(first.planes[0]->name));
    }
    made.unit = unit;
    const u64 all = checked_product(made.ne).value_or(0) / unit;
    if (swaps) {
      const u64 half = all / 2;
      made.parts.push_back(
          {parts.weights.front(), arch::run_of_rows(half, half, all), arch::run_of_rows(0, half, all)});
      made.parts.push_back(
          {parts.weights.front(), arch::run_of_rows(0, half, all), arch::run_of_rows(half, half, all)});
      return {};
    }
    u64 at = 0;
    for (const std::size_t i : parts.weights) {
      const u64 units = checked_product(weights[i].ne).value_or(0) / unit;
      made.parts.push_back({i, arch::whole_view(units), arch::run_of_rows(at, units, all)});
      at += units;
    }
    return {};
  }

  // The types of an unquantised file. Products of FP8 and a scale have no type of their own.
  Status choose_type(MappedTensor& made) {
    const Weight& weight = result_.model->matrices[made.parts.front().source];
    // Folding does not change the type.
    const bool has_five = weight.ne.size() > 4;
    const TensorType type = weight.form.types[0];
    made.type = has_five ? TensorType::F32 : arch::plain_image_type(*layout_.model, made.name, made.ne, type);
    result_.kept.push_back(*made.type);
    ++dtypes_[type];
    if (!weight.is_quantized()) return {};
    double largest = 0, smallest = std::numeric_limits<double>::max();  // the latter of the code for 1
    bool is_exact = true;
    for (const RecipePart& part : made.parts) {
      const Tensor* codes = result_.model->matrices[part.source].planes[0];
      const float factor = factors_.at(codes);
      largest = std::max(largest, std::abs(double{factor}) * greatest_of(type));
      smallest = std::min(smallest, std::abs(double{factor}));
      is_exact = is_exact && is_exact_in_bf16(factor);
    }
    if (largest > std::numeric_limits<float>::max()) {
      return fail("convert-inexact", "times its scale is out of the range of F32", at_tensor(made.name));
    }
    constexpr double greatest_half = 65504, smallest_half = 1.0 / (1 << 14);
    const bool is_half = largest <= greatest_half && (smallest == 0 || smallest >= smallest_half);
    TensorType product = is_half ? TensorType::F16 : TensorType::BF16;
    result_.kept.back() = product;
    if (options_.fallback) {
      product = *options_.fallback;
      if (product == TensorType::F16 && !is_half) product = TensorType::BF16;
      if (product == TensorType::Q8_0 && made.ne.front() % type_info(product).block_elements != 0) {
        product = TensorType::F16;
      }
    }
    if (options_.exact && product != TensorType::F32) {
      if (!is_exact) {
        return fail("convert-inexact",
                    fmt::format("{} times its scale would be rounded to {}; --fallback f32 carries it exactly",
                                type_name(type), type_name(product)),
                    at_tensor(made.name));
      }
      product = TensorType::BF16;
    }
    made.type = product;
    return {};
  }

  void make_keys() {
    constexpr u32 all_f32 = 0, mostly_f16 = 1, mostly_bf16 = 32;
    constexpr u32 quantization_version = 2;
    const auto most = std::ranges::max_element(dtypes_, {}, [](const auto& each) { return each.second; });
    const TensorType type = most == dtypes_.end() ? TensorType::F16 : most->first;
    std::vector<gguf::OutKey>& keys = result_.keys;
    keys.push_back(gguf::make_key_string("general.architecture", layout_.model->name));
    keys.push_back(gguf::make_key("general.quantization_version", quantization_version));
    keys.push_back(gguf::make_key("general.file_type", type == TensorType::BF16  ? mostly_bf16
                                                       : type == TensorType::F32 ? all_f32
                                                                                 : mostly_f16));
    for (const auto& [name, shape] : orig_shapes_) {
      const std::vector<i32> numbers(shape.begin(), shape.end());
      keys.push_back(gguf::make_key_i32s(std::string(arch::image_shape_key) + name, numbers));
    }
  }

  bool is_pipe() const { return catalog().files.front().source->is_pipe(); }

  // A pipe delivers each tensor once, so it fixes the order of reading. Scales are kept.
  Status order_pipe() {
    if (!is_pipe()) return {};
    const std::vector<MappedTensor>& tensors = result_.map.tensors;
    const auto joined = std::ranges::find_if(tensors, [](const MappedTensor& each) { return each.parts.size() > 1; });
    if (joined != tensors.end()) {
      return fail("io-pipe", "delivers the names of diffusers: several tensors become one; save it to a file first",
                  at_tensor(joined->name));
    }
    result_.only_order.resize(tensors.size());
    std::iota(result_.only_order.begin(), result_.only_order.end(), std::size_t{0});
    std::ranges::stable_sort(result_.only_order, {}, [&](std::size_t i) {
      return result_.model->matrices[tensors[i].parts.front().source].planes[0]->offset;
    });
    catalog().files.front().source->go_forward(scales_end_);
    return {};
  }

  void list_inputs() {
    if (is_pipe()) return;
    for (const CatalogFile& file : catalog().files) result_.inputs.push_back(file.path);
    const std::optional<SafetensorsModel>& set = result_.model->model->safetensors;
    for (const std::string& path : {set ? set->set.index_path : std::string(), source_.config}) {
      if (!path.empty()) result_.inputs.push_back(path);
    }
  }

  void remark() {
    FindingLog& remarks = result_.map.remarks;
    for (const auto& [part, count] : left_out_) {
      remarks.note(Scope::model, "convert-left-out",
                   fmt::format("'{}': {} {} not part of the diffusion model and left out", part,
                               counted(count, "tensor"), verb(count, "is", "are")));
    }
    for (const std::string& component : source_.components) {
      remarks.note(
          Scope::model, "convert-left-out",
          fmt::format("the pipeline has another diffusion model, '{}': convert that folder by itself", component));
    }
    constexpr u64 columns_of_mage_flow = 128;
    const auto img_in = parts_.find("img_in.weight");
    if (layout_.model->name == "qwen_image" && img_in != parts_.end() &&
        result_.model->matrices[img_in->second.weights.front()].columns() == columns_of_mage_flow) {
      remarks.note(Scope::model, "convert-image-model",
                   "has the names of Qwen-Image and the input of Mage-Flow; it is converted as qwen_image",
                   at_tensor("img_in.weight"));
    }
  }

  const ImageSource& source_;
  const ImageOptions& options_;
  ImageMap result_;
  std::string wrapper_;  // before all names of a checkpoint's weights: "state_dict."
  arch::ImageLayout layout_;
  std::map<std::string, const Tensor*> scales_;  // by the name of their weight
  std::map<const Tensor*, float> factors_;       // by the codes
  std::map<std::string, Parts> parts_;           // by the name in the target
  std::map<std::string, u64> left_out_;          // by the beginning or end of names
  std::map<TensorType, u64> dtypes_;             // of the tensors
  std::vector<std::pair<std::string, std::vector<u64>>> orig_shapes_;
  u64 last_block_ = 0;
  u64 scales_end_ = 0;
};

}  // namespace

Result<std::optional<ImageMap>> map_image_model(std::shared_ptr<const Model> from, const ImageSource& source,
                                                const ImageOptions& options) {
  return ImageMapper(std::move(from), source, options).map();
}

}  // namespace modelutils::to_gguf
