// Integer forms: GPTQ, AWQ, compressed-tensors' pack-quantized and int-quantized.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"
#include "model/forms/foreign_forms.h"
#include "tensor/types.h"

namespace modelutils::foreign {

namespace {

// Returns the number of columns per scale, given `groups` per row: the method's group size if it matches; 0 for a whole
// row; nullopt if no size matches.
std::optional<u64> group_of(const ForeignMethod& method, u64 columns, u64 groups) {
  if (groups == 1) return 0;
  if (method.group_size > 0 && ceil_div(columns, method.group_size) == groups) return method.group_size;
  if (groups > 0 && columns % groups == 0) return columns / groups;
  return std::nullopt;
}

// Returns the number of words for `codes` codes. The older packing puts only whole codes into a word; otherwise codes
// run on into the next word.
u64 words_of(u64 codes, u64 bits, bool is_older) {
  return is_older ? ceil_div(codes, 32 / bits) : ceil_div(codes * bits, 32);
}

// True if products of two sides and a few bits cannot overflow.
bool is_small(std::span<const u64> sides) {
  return std::ranges::all_of(sides, [](u64 side) { return side > 0 && side < (u64{1} << 30); });
}

Gather values_of_columns(TensorType type, u64 rows, u64 columns) {
  const u64 width = type_info(type).block_bytes;
  return {Gather::Kind::values_of_columns, static_cast<u8>(8 * width), 0, false, rows * width, columns};
}

bool finish(Recognition& of, const IntegerParams& params, u64 rows, u64 columns) {
  of.module.shape = {rows, columns};
  of.module.form = integer_form(params, *of.tensors[of.module.planes[1]].type);
  of.module.decodable = element_count(of.module.shape).value_or(0) > 0;
  return true;
}

// AWQ's gemv layout: qweight [out, in / 8], qzeros [out, w], scales [out, 8 w].
bool recognise_gemv(Recognition& of, std::size_t zeros) {
  const std::span<const u64> codes = of.tensors[of.module.weight()].shape;
  const std::span<const u64> scales = of.tensors[of.module.planes[1]].shape;
  const std::span<const u64> zero_words = of.tensors[zeros].shape;
  const u64 rows = codes[0], columns = codes[1] * 8;
  const u64 group = of.method.group_size == 0 ? columns : of.method.group_size;
  const u64 groups = ceil_div(columns, group);
  if (zero_words[0] != rows || scales[1] != zero_words[1] * 8 || groups > scales[1]) return of.misfit(".qzeros", zeros);
  // Scales are padded to whole words of zero points; for small groups, to two or four words. More padding means that
  // the groups are smaller than stated.
  const u64 multiple = group >= 128 ? 1 : group >= 64 ? 2 : 4;
  if (ceil_div(ceil_div(groups, 8), multiple) * multiple != zero_words[1]) {
    return of.contradict(fmt::format("has room for {} scales in a row of {} columns, but config.json says groups of {}",
                                     scales[1], columns, group));
  }
  const u64 width = type_info(*of.tensors[of.module.planes[1]].type).block_bytes;
  IntegerParams params;
  params.has_zeros = true;
  params.group = group == columns ? 0 : group;
  params.codes = {Gather::Kind::codes_in_rows, 4, 0, false, codes[1] * 4, columns};
  params.zeros = {Gather::Kind::codes_in_rows, 4, 0, false, zero_words[1] * 4, groups};
  params.scales = {Gather::Kind::values_in_rows, static_cast<u8>(8 * width), 0, false, scales[1] * width, groups};
  return finish(of, params, rows, columns);
}

bool recognise_awq(Recognition& of, std::size_t zeros) {
  const std::span<const u64> codes = of.tensors[of.module.weight()].shape;
  const std::span<const u64> scales = of.tensors[of.module.planes[1]].shape;
  const std::span<const u64> zero_words = of.tensors[zeros].shape;
  const u64 columns = codes[0], rows = scales[1], groups = scales[0];
  const auto group = group_of(of.method, columns, groups);
  if (!group) return of.misfit(".scales", of.module.planes[1]);
  if (zero_words[0] != groups || zero_words[1] != codes[1]) return of.misfit(".qzeros", zeros);
  if (!of.has_stated_groups(4, columns, groups)) return true;
  IntegerParams params;
  params.has_zeros = true;
  params.group = *group;
  params.codes = {Gather::Kind::codes_of_columns, 4, 0, true, codes[1] * 4, columns};
  params.zeros = {Gather::Kind::codes_of_columns, 4, 0, true, codes[1] * 4, groups};
  params.scales = values_of_columns(*of.tensors[of.module.planes[1]].type, rows, groups);
  return finish(of, params, rows, columns);
}

bool is_stated_width(const ForeignMethod& method, u64 bits) {
  return method.stated.empty() || std::ranges::any_of(method.stated, [&](const StatedWeights& stated) {
           return stated.bits.value_or(bits) == bits;
         });
}

// Returns the code widths that match the words of zero points and g_idx, which has one entry per column. With few rows,
// several may match.
std::vector<u64> gptq_widths(const Recognition& of, u64 zero_words, std::size_t places) {
  const std::span<const u64> codes = of.tensors[of.module.weight()].shape;
  std::vector<u64> widths;
  for (const u64 bits : {4, 8, 3, 2}) {
    if (ceil_div(codes[1] * bits, 32) == zero_words) widths.push_back(bits);
  }
  if (places == no_tensor || of.tensors[places].shape.size() != 1) return widths;
  std::vector<u64> exact;
  for (const u64 bits : widths) {
    if (codes[0] * 32 == of.tensors[places].shape[0] * bits) exact.push_back(bits);
  }
  return exact.empty() ? widths : exact;  // a wrong shape of g_idx is reported elsewhere
}

bool recognise_gptq(Recognition& of, std::size_t zeros) {
  const std::span<const u64> codes = of.tensors[of.module.weight()].shape;
  const std::span<const u64> scales = of.tensors[of.module.planes[1]].shape;
  const std::span<const u64> zero_words = of.tensors[zeros].shape;
  const u64 rows = codes[1], groups = scales[0];
  const std::size_t places = of.finder.find(of.module.path, ".g_idx");
  const std::vector<u64> widths = gptq_widths(of, zero_words[1], places);
  if (widths.empty() || zero_words[0] != groups) return of.misfit(".qzeros", zeros);
  const auto stated = std::ranges::find_if(widths, [&](u64 each) { return is_stated_width(of.method, each); });
  if (stated == widths.end()) {
    return of.contradict(
        fmt::format("has codes of {} bits according to the shapes of qweight and qzeros, but config.json says {}",
                    widths.front(), joined(of.method.bits)));
  }
  const u64 bits = *stated;
  const u64 columns = codes[0] * 32 / bits;
  const auto group = group_of(of.method, columns, groups);
  if (!group || codes[0] * 32 % bits != 0) return of.misfit(".scales", of.module.planes[1]);
  if (places != no_tensor && (of.tensors[places].type != TensorType::I32 ||
                              !std::ranges::equal(of.tensors[places].shape, std::array{columns}))) {
    return of.misfit(".g_idx", places);
  }
  if (places == no_tensor && of.method.orders_columns && groups > 1) {
    of.findings.error(Scope::model, "hf-scale-missing", "has columns ordered by activation (desc_act), but no g_idx",
                      at_module(of.module.path));
    return true;
  }
  if (!of.has_stated_groups(bits, columns, groups)) return true;
  of.module.planes[3] = places;
  const u8 width = static_cast<u8>(bits);
  IntegerParams params;
  params.bits = width;
  params.has_zeros = true;
  params.zeros_plus_one = !of.method.is_gptq_v2;
  params.group = *group;
  params.codes = {Gather::Kind::words_of_columns, width, 0, false, rows * 4, columns};
  params.zeros = {Gather::Kind::codes_of_columns, width, 0, false, zero_words[1] * 4, groups};
  params.scales = values_of_columns(*of.tensors[of.module.planes[1]].type, rows, groups);
  return finish(of, params, rows, columns);
}

// auto-round does not always name the layout that it wraps.
bool may_have_layout(const ForeignMethod& method, WordLayout layout) {
  if (method.name == "gptq") return layout == WordLayout::gptq;
  if (method.name != "awq") return true;
  return method.states_version ? layout == method.layout : layout != WordLayout::gptq;
}

std::string_view layout_name(WordLayout layout) {
  switch (layout) {
    case WordLayout::gptq: return "GPTQ";
    case WordLayout::awq_gemm: return "AWQ gemm";
    case WordLayout::awq_gemv: break;
  }
  return "AWQ gemv";
}

}  // namespace

bool recognise_gptq_or_awq(Recognition& of) {
  const mlx::TensorRef& codes = of.tensors[of.module.weight()];
  if (!codes.name.ends_with(".qweight")) return false;
  of.module.quantized = true;
  const std::size_t scales = of.finder.find(of.module.path, ".scales");
  const std::size_t zeros = of.finder.find(of.module.path, ".qzeros");
  if (scales == no_tensor || zeros == no_tensor) {
    of.findings.error(Scope::model, "hf-scale-missing",
                      fmt::format("has packed codes, but no {}", scales == no_tensor ? "scales" : "qzeros"),
                      at_module(of.module.path));
    return true;
  }
  of.module.planes[2] = zeros;
  if (!of.take_scale(scales, ".scales")) return true;
  const std::span<const u64> shape = of.tensors[scales].shape;
  const bool are_words = codes.type == TensorType::I32 && of.tensors[zeros].type == TensorType::I32;
  const bool are_matrices = codes.shape.size() == 2 && shape.size() == 2 && of.tensors[zeros].shape.size() == 2;
  if (!are_words || !are_matrices || !is_small(codes.shape) || !is_small(shape) || !is_small(of.tensors[zeros].shape)) {
    return of.misfit(".qzeros", zeros);
  }
  const auto fits = [&](WordLayout layout) {
    switch (layout) {
      case WordLayout::gptq: return shape[1] == codes.shape[1];
      case WordLayout::awq_gemm: return shape[1] == codes.shape[1] * 8;
      case WordLayout::awq_gemv: return shape[0] == codes.shape[0];
    }
    return false;
  };
  // Small gemv matrices also match the shapes of GPTQ, so the configuration takes precedence.
  const bool is_awq = of.method.layout != WordLayout::gptq;
  constexpr std::array layouts = {WordLayout::gptq, WordLayout::awq_gemm, WordLayout::awq_gemv};
  const auto is_stated = [&](WordLayout layout) { return fits(layout) && may_have_layout(of.method, layout); };
  if (std::ranges::any_of(layouts, fits) && std::ranges::none_of(layouts, is_stated)) {
    return of.contradict(fmt::format(
        "has scales of shape [{}] for codes of shape [{}], which is not the layout stated in config.json ({})",
        joined(shape), joined(codes.shape), layout_name(of.method.layout)));
  }
  if (is_awq && fits(of.method.layout) && !is_stated_width(of.method, 4)) {
    return of.contradict(
        fmt::format("has codes of 4 bits according to the shapes of qweight and scales, but config.json says {}",
                    joined(of.method.bits)));
  }
  for (const WordLayout layout :
       {of.method.layout, is_awq ? WordLayout::awq_gemm : WordLayout::gptq,
        is_awq ? WordLayout::awq_gemv : WordLayout::awq_gemm, is_awq ? WordLayout::gptq : WordLayout::awq_gemv}) {
    if (!fits(layout)) continue;
    if (layout == WordLayout::gptq) return recognise_gptq(of, zeros);
    return layout == WordLayout::awq_gemm ? recognise_awq(of, zeros) : recognise_gemv(of, zeros);
  }
  return of.misfit(".scales", scales);
}

bool recognise_packed(Recognition& of) {
  const mlx::TensorRef& codes = of.tensors[of.module.weight()];
  if (!codes.name.ends_with(".weight_packed") || codes.type != TensorType::I32) return false;
  of.module.quantized = true;
  const std::size_t scale = of.finder.find(of.module.path, ".weight_scale");
  if (scale == no_tensor) {
    of.findings.error(Scope::model, "hf-scale-missing", "has packed codes, but no weight_scale",
                      at_module(of.module.path));
    return true;
  }
  const std::size_t zeros = of.finder.find(of.module.path, ".weight_zero_point");
  of.module.planes[2] = zeros;
  of.module.planes[3] = of.finder.find(of.module.path, ".weight_g_idx");
  of.module.planes[4] = of.finder.find(of.module.path, ".weight_shape");
  if (!of.take_scale(scale, ".weight_scale")) return true;
  const std::span<const u64> shape = of.tensors[scale].shape;
  if (codes.shape.size() != 2 || shape.size() != 2 || !is_small(codes.shape) || !is_small(shape) ||
      shape[0] != codes.shape[0]) {
    return of.misfit(".weight_scale", scale);
  }
  // Assume the stated number of bits; settle_shape() corrects it if there is a weight_shape.
  const u64 rows = codes.shape[0], groups = shape[1];
  const u64 bits = of.method.bits.empty() ? 4 : of.method.bits.front();
  if (bits < 2 || bits > 8) return of.misfit(".weight_packed", of.module.weight());
  const u64 columns = codes.shape[1] * 32 / bits;
  IntegerParams params;
  params.bits = static_cast<u8>(bits);
  params.has_zeros = zeros != no_tensor;
  params.codes = {Gather::Kind::codes_in_rows, params.bits, 0, false, codes.shape[1] * 4, columns};
  params.scales.columns = groups;
  if (params.has_zeros) {
    const mlx::TensorRef& packed = of.tensors[zeros];
    // The older packing can be recognised by the columns in weight_shape.
    const bool may_be_older = of.module.planes[4] != no_tensor;
    const bool fits = packed.shape.size() == 2 && packed.shape[1] == groups &&
                      (packed.shape[0] == words_of(rows, bits, false) ||
                       (may_be_older && packed.shape[0] == words_of(rows, bits, true)));
    if (packed.type != TensorType::I32 || !fits) return of.misfit(".weight_zero_point", zeros);
    params.zeros = {Gather::Kind::words_of_rows, params.bits, 0, false, groups * 4, groups};
  }
  if (!params.has_zeros && !of.may_lack_zeros(bits)) return true;
  // With a weight_shape, settle_shape() determines the columns and the group size.
  if (of.module.planes[4] == no_tensor) {
    const auto group = group_of(of.method, columns, groups);
    if (!group) return of.misfit(".weight_scale", scale);
    if (!of.has_stated_groups(bits, columns, groups)) return true;
    params.group = *group;
  }
  return finish(of, params, rows, columns);
}

bool recognise_int8(Recognition& of) {
  const mlx::TensorRef& weight = of.tensors[of.module.weight()];
  if (weight.type != TensorType::I8 || weight.shape.size() != 2) return false;
  const std::size_t scale = of.finder.find(of.module.path, ".weight_scale");
  if (scale == no_tensor) {
    of.module.quantized = true;
    of.findings.error(Scope::model, "hf-scale-missing", "has an I8 weight, but no weight_scale",
                      at_module(of.module.path));
    return true;
  }
  if (!of.take_scale(scale, ".weight_scale")) return true;
  const std::span<const u64> shape = of.tensors[scale].shape;
  const u64 rows = weight.shape[0], columns = weight.shape[1];
  const bool has_zeros = of.finder.find(of.module.path, ".weight_zero_point") != no_tensor;
  const u64 groups = shape.size() == 2 ? shape[1] : 1;
  const auto group = group_of(of.method, columns, groups);
  const bool has_scales_of_rows = !shape.empty() && shape.size() <= 2 && shape[0] == rows && group;
  const bool has_one_scale = !has_scales_of_rows && element_count(shape) == u64{1};
  if ((!has_one_scale && !has_scales_of_rows) || has_zeros) {
    return of.misfit(has_zeros ? ".weight_zero_point" : ".weight_scale",
                     has_zeros ? of.finder.find(of.module.path, ".weight_zero_point") : scale);
  }
  if (!of.may_lack_zeros(8)) return true;
  IntegerParams params;
  params.bits = 8;
  params.is_signed = true;
  params.has_one_scale = has_one_scale;
  params.group = has_one_scale ? 0 : *group;
  params.scales.columns = groups;
  return finish(of, params, rows, columns);
}

}  // namespace modelutils::foreign

namespace modelutils {

namespace {

constexpr u64 settled_at_once = u64{1} << 18;  // numbers in memory at a time

tl::unexpected<Error> contradiction(const Module& module, std::string message) {
  return input_error("hf-module-values", std::move(message), at_module(module.path));
}

// Reads weight_shape (I64 [2]: rows and columns).
Status settle_shape(std::span<const mlx::TensorRef> tensors, const ForeignMethod& method, const StoredPlane& plane,
                    Module& module) {
  const mlx::TensorRef& stated = tensors[module.planes[4]];
  if (stated.type != TensorType::I64 || !std::ranges::equal(stated.shape, std::array<u64, 1>{2})) {
    return contradiction(module, "has a weight_shape that is not two I64 numbers");
  }
  std::array<std::byte, 16> bytes{};
  MU_TRY(plane.file->read_exact(plane.offset, bytes));
  const u64 rows = load<u64>(bytes.data()), columns = load<u64>(bytes.data() + 8);
  const std::span<const u64> codes = tensors[module.weight()].shape;
  IntegerParams& params = module.form->integers;
  const u64 words = codes[1];
  const std::size_t zeros = module.planes[2];
  const auto fits = [&](u64 bits) {
    if (bits < 2 || bits > 8 || columns == 0 || columns > words * 32) return false;
    params.bits = static_cast<u8>(bits);
    params.codes.bits = params.zeros.bits = params.bits;
    // Codes and zero points are packed alike; either alone may match both packings.
    for (const bool is_older : {false, true}) {
      if (foreign::words_of(columns, bits, is_older) != words) continue;
      if (zeros != no_tensor && foreign::words_of(codes[0], bits, is_older) != tensors[zeros].shape[0]) continue;
      params.codes.codes_in_word = params.zeros.codes_in_word = is_older ? static_cast<u8>(32 / bits) : u8{0};
      return true;
    }
    return false;
  };
  if (rows != codes[0] || (!std::ranges::any_of(method.bits, fits) && !fits(params.bits))) {
    return contradiction(
        module, fmt::format("has a weight_shape of [{}, {}], which its packed codes of shape [{}, {}] contradict", rows,
                            columns, codes[0], codes[1]));
  }
  const u64 groups = params.scales.columns;
  if (!foreign::has_stated_groups(method, params.bits, columns, groups)) {
    return input_error("hf-quant-contradiction",
                       fmt::format("has {} for rows of {} columns, which contradicts the group size in config.json",
                                   counted(groups, "scale"), columns),
                       at_module(module.path));
  }
  const bool is_stated = method.group_size > 0 && foreign::ceil_div(columns, method.group_size) == groups;
  if (groups > 1 && !is_stated && columns % groups != 0) {
    return contradiction(module, fmt::format("has {} scales for rows of {} columns", groups, columns));
  }
  params.group = groups == 1 ? 0 : is_stated ? method.group_size : columns / groups;
  params.codes.columns = columns;
  module.shape = {rows, columns};
  return {};
}

// Reads the group of each column (0 … G − 1), which is often in order.
Status settle_order(std::span<const mlx::TensorRef> tensors, const StoredPlane& plane, Module& module) {
  IntegerParams& params = module.form->integers;
  const u64 columns = module.shape[1], groups = params.scales.columns;
  const mlx::TensorRef& order = tensors[module.planes[3]];
  if (order.type != TensorType::I32 || !std::ranges::equal(order.shape, std::array{columns})) {
    return contradiction(module, fmt::format("has a g_idx of shape [{}] for {} columns", joined(order.shape), columns));
  }
  const bool may_be_unused = order.name.ends_with(".weight_g_idx");  // in compressed-tensors, any −1 marks it as unused
  params.is_scattered = false;
  std::vector<std::byte> bytes;
  for (u64 first = 0; first < columns; first += settled_at_once) {
    bytes.resize(static_cast<std::size_t>(std::min(settled_at_once, columns - first) * sizeof(u32)));
    MU_TRY(plane.file->read_exact(plane.offset + first * sizeof(u32), bytes));
    for (u64 i = first; i < std::min(first + settled_at_once, columns); ++i) {
      const i32 group = load<i32>(bytes.data() + (i - first) * sizeof(u32));
      if (group == -1 && may_be_unused) {
        params.is_scattered = false;
        return {};
      }
      if (group < 0 || static_cast<u64>(group) >= groups) {
        return contradiction(module, fmt::format("assigns column {} to group {}, but has {} groups", i, group, groups));
      }
      if (static_cast<u64>(group) != (params.group == 0 ? 0 : i / params.group)) params.is_scattered = true;
    }
  }
  return {};
}

// True if all stored zero points equal `number`.
Result<bool> has_one_zero_point(const StoredPlane& plane, const IntegerParams& params, u64 rows, unsigned number) {
  const u64 most = std::max<u64>(settled_at_once / params.zeros.columns, 1);
  std::vector<std::byte> zeros;
  for (u64 row = 0; row < rows; row += most) {
    const u64 count = std::min(most, rows - row);
    zeros.resize(static_cast<std::size_t>(count * params.zeros.columns));
    MU_TRY(read_gathered(*plane.file, plane.offset, params.zeros, row, count, zeros));
    if (std::ranges::any_of(zeros, [&](std::byte zero) { return zero != std::byte(number); })) return false;
  }
  return true;
}

// Runtimes ignore zero points if the settings call the weights symmetric, so they must be the middle of the code range.
Status settle_symmetry(const ForeignMethod& method, const std::function<StoredPlane(std::size_t tensor)>& plane,
                       const Module& module) {
  const IntegerParams& params = module.form->integers;
  const bool is_symmetric =
      !method.stated.empty() && std::ranges::all_of(method.stated, [&](const StatedWeights& each) {
        return each.bits.value_or(params.bits) != params.bits || each.is_symmetric.value_or(false);
      });
  if (!params.has_zeros || !is_symmetric) return {};
  const unsigned middle = 1u << (params.bits - 1);
  MU_ASSIGN(const bool is_middle, has_one_zero_point(plane(module.planes[2]), params, module.shape[0], middle));
  if (is_middle) return {};
  if (params.zeros_plus_one) {
    MU_ASSIGN(const bool is_middle_of_v1,
              has_one_zero_point(plane(module.planes[2]), params, module.shape[0], middle - 1));
    if (is_middle_of_v1) return {};
  }
  return input_error("hf-quant-contradiction",
                     "has zero points that are not the middle of its codes, but config.json says that its weights are "
                     "symmetric",
                     at_module(module.path));
}

}  // namespace

Status settle_foreign_form(std::span<const mlx::TensorRef> tensors, const ForeignMethod& method,
                           const std::function<StoredPlane(std::size_t tensor)>& plane, Module& module) {
  if (!module.decodable || !module.form) return {};
  if (module.form->kind == FormKind::nvfp4) {
    std::array<std::byte, sizeof(float)> bytes{};
    const StoredPlane factor = plane(module.planes[2]);
    MU_TRY(factor.file->read_exact(factor.offset, bytes));
    const float value = nvfp4_factor(*module.form, bytes.data());
    if (value > 0 && value <= std::numeric_limits<float>::max()) return {};
    return contradiction(module, "has a per-tensor factor that is not a positive number");
  }
  if (module.form->kind != FormKind::integers) return {};
  if (module.planes[4] != no_tensor) MU_TRY(settle_shape(tensors, method, plane(module.planes[4]), module));
  if (module.planes[3] != no_tensor) MU_TRY(settle_order(tensors, plane(module.planes[3]), module));
  MU_TRY(settle_symmetry(method, plane, module));
  // Files marked as GPTQ version 1 may have zero points by the convention of version 2. For symmetric weights, these
  // are all the middle of the code range.
  IntegerParams& params = module.form->integers;
  if (!params.zeros_plus_one || !method.is_symmetric) return {};
  MU_ASSIGN(const bool is_v2,
            has_one_zero_point(plane(module.planes[2]), params, module.shape[0], 1u << (params.bits - 1)));
  params.zeros_plus_one = !is_v2;
  return {};
}

Result<bool> is_symmetric(const StoredForm& form, u64 rows, const StoredPlane& zeros) {
  if (form.kind == FormKind::mlx) return !mlx::mode_info(form.params.mode).has_biases;
  const IntegerParams& params = form.integers;
  if (form.kind != FormKind::integers || !params.has_zeros) return true;
  return has_one_zero_point(zeros, params, rows, (1u << (params.bits - 1)) - (params.zeros_plus_one ? 1 : 0));
}

}  // namespace modelutils
