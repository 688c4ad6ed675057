#include "model/forms/modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/name_index.h"
#include "base/types.h"
#include "json/reader.h"
#include "model/forms/foreign_forms.h"

namespace modelutils {

namespace {

constexpr std::array<std::string_view, 10> known_methods = {
    "fp8", "fbgemm_fp8", "modelopt",   "modelopt_fp4", "compressed-tensors",
    "awq", "gptq",       "auto-round", "auto_round",   "intel/auto-round"};

// Reads [rows, columns].
void read_block(const std::optional<json::Array>& block, ForeignMethod& method) {
  uint64_t rows = 0, columns = 0;
  if (!block || block->size() != 2 || !block->at(0)->get(rows) || !block->at(1)->get(columns)) return;
  if (rows == 0 || columns == 0) return;
  method.block_rows = rows;
  method.block_columns = columns;
}

// Reads "64x64", as written by some versions of compressed-tensors.
void read_block(std::string_view text, ForeignMethod& method) {
  const std::size_t by = text.find('x');
  if (by == text.npos) return;
  const auto number = [](std::string_view digits) {
    u64 value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return end.ec == std::errc() && end.ptr == digits.data() + digits.size() ? value : 0;
  };
  const u64 rows = number(text.substr(0, by)), columns = number(text.substr(by + 1));
  if (rows == 0 || columns == 0) return;
  method.block_rows = rows;
  method.block_columns = columns;
}

// Returns 0 for −1 (one group per row); nullopt if the member is missing or not a number.
std::optional<u64> stated_group_size(json::Element settings, std::string_view name) {
  const auto found = json::member(settings, name);
  int64_t size = 0;
  if (!found || !found->get(size)) return std::nullopt;
  return size > 0 ? static_cast<u64>(size) : 0;
}

std::optional<u64> either(std::optional<u64> first, std::optional<u64> second) {
  return first ? first : second;
}

StatedWeights stated_of(json::Element settings) {
  StatedWeights stated;
  stated.bits = either(json::u64_member(settings, "bits"), json::u64_member(settings, "w_bit"));
  stated.group_size = either(stated_group_size(settings, "group_size"), stated_group_size(settings, "q_group_size"));
  stated.is_symmetric = json::bool_member(settings, "sym");
  return stated;
}

// Reads the exceptions for single modules in GPTQModel and auto-round. Omitted members default to the general settings.
void read_exceptions(json::Element settings, ForeignMethod& method) {
  const StatedWeights all = method.stated.front();
  for (const std::string_view name : {"dynamic", "extra_config"}) {
    const auto modules = json::object_member(settings, name);
    if (!modules) continue;
    for (const auto& [pattern, exception] : *modules) {
      if (!exception.is_object()) continue;
      StatedWeights stated = stated_of(exception);
      if (!stated.bits) stated.bits = all.bits;
      if (!stated.group_size) stated.group_size = all.group_size;
      if (!stated.is_symmetric) stated.is_symmetric = all.is_symmetric;
      method.stated.push_back(stated);
    }
  }
}

// compressed-tensors: reads config_groups.NAME.weights.
void read_groups(json::Element settings, ForeignMethod& method) {
  const auto groups = json::object_member(settings, "config_groups");
  if (!groups) return;
  for (const auto& [name, group] : *groups) {
    const auto weights = json::member(group, "weights");
    if (!weights) continue;
    if (const auto bits = json::u64_member(*weights, "num_bits")) method.bits.push_back(*bits);
    if (method.group_size == 0) method.group_size = json::u64_member(*weights, "group_size").value_or(0);
    StatedWeights stated;
    stated.bits = json::u64_member(*weights, "num_bits");
    stated.group_size = stated_group_size(*weights, "group_size");
    if (json::string_member(*weights, "strategy") == "channel") stated.group_size = 0;
    stated.is_symmetric = json::bool_member(*weights, "symmetric");
    method.stated.push_back(stated);
    read_block(json::array_member(*weights, "block_structure"), method);
    read_block(json::string_member(*weights, "block_structure").value_or(""), method);
  }
}

// Layouts with the tensors described in docs/formats/hf-quantized.md. exllama and ipex are AWQ's gemm layout for other
// kernels.
constexpr std::array<std::string_view, 8> known_formats = {
    "float-quantized", "naive-quantized",      "int-quantized",        "pack-quantized",
    "mixed-precision", "nvfp4-pack-quantized", "mxfp4-pack-quantized", "dense"};
constexpr std::array<std::string_view, 4> known_awq_versions = {"gemm", "gemv", "exllama", "ipex"};
constexpr std::array<std::string_view, 2> known_gptq_formats = {"gptq", "gptq_v2"};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char c) { return std::tolower(static_cast<u8>(c)); },
      [](char c) { return std::tolower(static_cast<u8>(c)); });
}

// Returns the member's value if it is not in the list, else empty.
std::string_view unknown_text(json::Element settings, std::string_view name, std::span<const std::string_view> known) {
  const std::string_view text = json::string_member(settings, name).value_or("");
  const bool is_known =
      std::ranges::any_of(known, [&](std::string_view each) { return equal_ignoring_case(each, text); });
  return is_known ? std::string_view() : text;
}

// auto-round names the wrapped layout in packing_format; its AWQ layout is gemm.
WordLayout layout_of(json::Element settings, std::string_view method) {
  const std::string_view packing = json::string_member(settings, "packing_format").value_or("");
  if (method != "awq") return packing.find("awq") == packing.npos ? WordLayout::gptq : WordLayout::awq_gemm;
  const std::string_view version = json::string_member(settings, "version").value_or("");
  return equal_ignoring_case(version, "gemv") ? WordLayout::awq_gemv : WordLayout::awq_gemm;
}

std::string refusal_of(json::Element settings, std::string_view method) {
  if (method == "compressed-tensors") {
    const std::string_view format = unknown_text(settings, "format", known_formats);
    if (!format.empty()) return fmt::format("weights in the format '{}'", format);
  }
  if (const auto transform = json::object_member(settings, "transform_config"); transform && transform->size() > 0) {
    return "weights changed by a transform (transform_config)";
  }
  if (method == "awq") {
    const std::string_view version = unknown_text(settings, "version", known_awq_versions);
    if (!version.empty()) return fmt::format("AWQ weights in the layout '{}'", version);
  }
  if (method == "gptq") {
    const std::string_view version = unknown_text(settings, "checkpoint_format", known_gptq_formats);
    if (!version.empty()) return fmt::format("GPTQ weights in the layout '{}'", version);
  }
  const std::string_view algorithm = json::string_member(settings, "quant_algo").value_or("");
  if (algorithm.find("AWQ") != algorithm.npos) return fmt::format("weights of '{}'", algorithm);
  return {};
}

}  // namespace

ForeignMethod read_foreign_method(const hf::Config& config, std::string name) {
  ForeignMethod method;
  method.name = std::move(name);
  method.is_known = std::ranges::find(known_methods, method.name) != known_methods.end();
  if (!method.is_known || !config.quantization_config) return method;
  const json::Element settings = *config.quantization_config;
  const bool has_groups = json::object_member(settings, "config_groups").has_value();
  if (!has_groups) {
    method.stated.push_back(stated_of(settings));
    read_exceptions(settings, method);
  }
  method.group_size = json::u64_member(settings, "group_size").value_or(0);  // 0 also for −1, one group
  if (const auto bits = json::u64_member(settings, "bits")) method.bits.push_back(*bits);
  method.layout = layout_of(settings, method.name);
  method.states_version = json::string_member(settings, "version").has_value();
  method.is_gptq_v2 = json::string_member(settings, "checkpoint_format") == "gptq_v2";
  method.is_symmetric = json::bool_member(settings, "sym").value_or(false);
  method.orders_columns = json::bool_member(settings, "desc_act").value_or(false);
  const auto block = json::array_member(settings, "weight_block_size");
  read_block(block, method);
  method.states_block = block.has_value() && method.name == "fp8";
  read_groups(settings, method);
  method.refusal = refusal_of(settings, method.name);
  return method;
}

namespace {

class NamedTensors : public TensorFinder {
 public:
  explicit NamedTensors(std::span<const mlx::TensorRef> tensors) {
    names_.reserve(tensors.size());
    places_.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (names_.insert(tensors[i].name).is_new) places_.push_back(i);
    }
  }

  std::size_t find(std::string_view module, std::string_view suffix) override {
    scratch_.assign(module);
    scratch_ += suffix;
    const std::optional<u32> number = names_.find(scratch_);
    return number ? places_[*number] : no_tensor;
  }

 private:
  NameIndex names_;
  std::vector<std::size_t> places_;
  std::string scratch_;
};

Module module_of(const mlx::Module& found, std::span<const mlx::TensorRef> tensors) {
  Module module;
  module.path = found.path;
  module.planes[0] = found.weight;
  module.shape = found.shape;
  module.quantized = found.quantized;
  module.decodable = found.decodable;
  if (!found.quantized) return module;
  module.planes[1] = found.scales;
  module.planes[2] = found.biases;
  if (!found.params) return module;
  const auto type_of = [&](std::size_t place) {
    return place == no_tensor ? TensorType::F32 : tensors[place].type.value_or(TensorType::U8);
  };
  module.form = mlx_form(*found.params, type_of(found.weight), type_of(found.scales), type_of(found.biases));
  return module;
}

}  // namespace

Modules find_stored_modules(std::span<const mlx::TensorRef> tensors, const mlx::Quantization& quantization,
                            const ForeignMethod& foreign) {
  mlx::Modules found = mlx::find_modules(tensors, quantization);
  Modules modules;
  modules.findings = std::move(found.findings);
  modules.list.reserve(found.list.size());
  for (const mlx::Module& module : found.list) modules.list.push_back(module_of(module, tensors));
  const bool has_exponents =
      std::ranges::any_of(tensors, [](const mlx::TensorRef& tensor) { return tensor.type == TensorType::F8_E8M0; });
  if (!foreign.is_known && !has_exponents) return modules;
  NamedTensors names(tensors);
  const auto has_own_form = [&](Module& module) {
    return has_exponents && !module.quantized && recognise_fp4_with_exponents(tensors, names, module, modules.findings);
  };
  if (!foreign.is_known) {
    for (Module& module : modules.list) has_own_form(module);
    return modules;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].name;
    const bool is_stack = is_fp8_stack(tensors[i]);
    if (!is_stack && !name.ends_with(".qweight") && !name.ends_with(".weight_packed")) continue;
    Module& module = modules.list.emplace_back();
    module.path = is_stack ? name : module_of_codes(name);
    module.planes[0] = i;
    module.shape.assign(tensors[i].shape.begin(), tensors[i].shape.end());
  }
  std::ranges::stable_sort(modules.list, {}, [](const Module& module) { return module.weight(); });
  for (Module& module : modules.list) {
    if (!has_own_form(module)) recognise_foreign_form(tensors, names, foreign, module, modules.findings);
  }
  return modules;
}

namespace {

// Elements decoded at a time, so that the stored bytes and the values stay in the first cache levels.
constexpr u64 piece_elements = 16 * 1024;

}  // namespace

Status TensorValues::read_values(u64 first, std::span<float> out) const {
  if (!can_decode()) return tl::make_unexpected(no_decoder());
  if (!fits(first, out.size(), elements_)) return internal_error("the requested values lie outside the tensor");
  StoredRows rows;
  std::vector<float> piece;
  const u64 most = std::max<u64>(piece_elements / unit_, 1);
  while (!out.empty()) {
    const u64 begin = first / unit_;
    const auto skip = static_cast<std::size_t>(first % unit_);
    const u64 left = skip + out.size();
    const u64 units = std::min(most, left / unit_ + (left % unit_ != 0 ? 1 : 0));
    MU_TRY(read(begin, units, rows));
    const auto use = static_cast<std::size_t>(std::min<u64>(out.size(), units * unit_ - skip));
    if (use == units * unit_) {
      decode(rows, out.first(use));
    } else {
      piece.resize(static_cast<std::size_t>(units * unit_));
      decode(rows, piece);
      std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(skip), use, out.begin());
    }
    out = out.subspan(use);
    first += use;
  }
  return {};
}

Error TensorValues::no_decoder() const {
  return internal_error("the values cannot be decoded").value();
}

MatrixValues::MatrixValues(StoredMatrix matrix, std::string_view name, std::string_view path)
    : TensorValues(matrix.form, matrix.elements, form_info(matrix.form).unit(matrix.form, matrix.columns)),
      matrix_(std::move(matrix)),
      name_(name),
      path_(path) {
  for (std::size_t i = 0; i < max_planes; ++i) layouts_[i] = form_info(form()).plane(form(), i, unit());
}

bool MatrixValues::can_decode() const {
  return form_info(form()).has_decoder(form());
}

Status MatrixValues::read(u64 first, u64 count, StoredRows& out) const {
  for (std::size_t i = 0; i < max_planes; ++i) {
    out.planes[i].resize(static_cast<std::size_t>(count * layouts_[i].line_bytes));
    MU_TRY(read_lines(matrix_.planes[i], layouts_[i], first, count, out.planes[i]));
  }
  return {};
}

void MatrixValues::decode(const StoredRows& rows, std::span<float> out) const {
  form_info(form()).decode(form(), unit(), planes_of(rows), out);
}

void MatrixValues::decode_some(const StoredRows& rows, u64 first, std::span<float> out) const {
  StoredPlanes planes;
  const u64 count = out.size() / unit();
  for (std::size_t i = 0; i < max_planes; ++i) {
    planes[i] = Bytes(rows.planes[i]).subspan(first * layouts_[i].line_bytes, count * layouts_[i].line_bytes);
  }
  form_info(form()).decode(form(), unit(), planes, out);
}

Error MatrixValues::no_decoder() const {
  return input_error("tensor-no-decoder",
                     form().big_endian
                         ? std::string("values of a big-endian file cannot be decoded")
                         : fmt::format("values of type {} cannot be decoded", form_info(form()).text(form())),
                     at_tensor(name_), {}, path_)
      .value();
}

}  // namespace modelutils
