#include "model/forms/stored_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "model/mlx/quantization.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

u64 bytes_of_elements(TensorType type, u64 elements) {
  return elements / type_info(type).block_elements * type_info(type).block_bytes;
}

// Unknown types.

std::string opaque_text(const StoredForm& /*form*/) {
  return "unknown";
}

double opaque_bits(const StoredForm& /*form*/) {
  return 0;
}

u64 opaque_unit(const StoredForm& /*form*/, u64 /*columns*/) {
  return 1;
}

PlaneLayout opaque_plane(const StoredForm& /*form*/, std::size_t plane, u64 columns) {
  return {plane == 0 ? columns : 0};
}

bool opaque_has_decoder(const StoredForm& /*form*/) {
  return false;
}

void decode_opaque(const StoredForm& /*form*/, u64 /*columns*/, const StoredPlanes& /*planes*/,
                   std::span<float> /*out*/) {}

// Plain: elements or blocks of one type.

std::string plain_text(const StoredForm& form) {
  return std::string(type_name(form.type()));
}

double plain_bits(const StoredForm& form) {
  return 8.0 * type_info(form.type()).block_bytes / type_info(form.type()).block_elements;
}

u64 plain_unit(const StoredForm& form, u64 /*columns*/) {
  return type_info(form.type()).block_elements;
}

PlaneLayout plain_plane(const StoredForm& form, std::size_t plane, u64 columns) {
  return {plane == 0 ? bytes_of_elements(form.type(), columns) : 0};
}

bool plain_has_decoder(const StoredForm& form) {
  return has_decoder(form.type()) && !form.big_endian;
}

void decode_plain(const StoredForm& form, u64 /*columns*/, const StoredPlanes& planes, std::span<float> out) {
  dequantize(form.type(), planes[0], out);
}

// Groups quantised by MLX.

std::string mlx_text(const StoredForm& form) {
  return fmt::format("{} {}-bit, group {}", mlx::mode_name(form.params.mode), form.params.bits, form.params.group_size);
}

std::string mlx_short_text(const StoredForm& form) {
  const bool has_one_form = mlx::mode_info(form.params.mode).fixed_parameters;
  return has_one_form ? std::string(mlx::mode_name(form.params.mode))
                      : fmt::format("{}-bit/{}", form.params.bits, form.params.group_size);
}

double mlx_bits(const StoredForm& form) {
  return form.params.bits;
}

u64 mlx_unit(const StoredForm& form, u64 /*columns*/) {
  return form.params.group_size;
}

PlaneLayout mlx_plane(const StoredForm& form, std::size_t plane, u64 columns) {
  const u64 groups = columns / form.params.group_size;
  switch (plane) {
    case 0: return {groups * form.params.group_bytes()};
    case 1: return {groups * type_info(form.types[1]).block_bytes};
    case 2: return {mlx::mode_info(form.params.mode).has_biases ? groups * type_info(form.types[2]).block_bytes : 0};
    default: return {};
  }
}

bool mlx_has_decoder(const StoredForm& /*form*/) {
  return true;
}

void decode_mlx(const StoredForm& form, u64 /*columns*/, const StoredPlanes& planes, std::span<float> out) {
  mlx::dequantize(form.params, {planes[0], form.types[1], planes[1], form.types[2], planes[2]}, out);
}

// FP8 elements with a scale per rectangle: one product in float32. Only image models have F8_E5M2.

std::string fp8_text(const StoredForm& form) {
  if (form.scale_rows == 0 && form.scale_columns == 0) {
    return form.types[0] == TensorType::F8_E5M2 ? "FP8 E5M2 per tensor" : "FP8 E4M3 per tensor";
  }
  if (form.scale_columns == 0) {
    return form.scale_rows == 1 ? "FP8 E4M3 per row" : fmt::format("FP8 E4M3 per {} rows", form.scale_rows);
  }
  if (form.scale_rows == 1) return fmt::format("FP8 E4M3, group {}", form.scale_columns);
  return fmt::format("FP8 E4M3 in blocks of {} × {}", form.scale_rows, form.scale_columns);
}

std::string fp8_short_text(const StoredForm& /*form*/) {
  return "fp8";
}

// A unit is a row, because the next row may have another scale.
u64 fp8_unit(const StoredForm& /*form*/, u64 columns) {
  return columns;
}

u64 fp8_scale_columns(const StoredForm& form, u64 columns) {
  return form.scale_columns == 0 ? std::max<u64>(columns, 1) : form.scale_columns;
}

PlaneLayout fp8_plane(const StoredForm& form, std::size_t plane, u64 columns) {
  if (plane == 0) return {columns};
  if (plane > 1) return {};
  const u64 width = fp8_scale_columns(form, columns);
  return {(columns / width + (columns % width != 0 ? 1 : 0)) * type_info(form.types[1]).block_bytes,
          form.scale_rows == 0 ? PlaneLayout::all_rows : form.scale_rows};
}

void decode_fp8(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::span<float> out) {
  dequantize(form.types[0], planes[0], out);
  const u64 width = fp8_scale_columns(form, columns);
  const u64 scale_bytes = type_info(form.types[1]).block_bytes;
  Bytes scales = planes[1];
  for (u64 row = 0; row < out.size(); row += columns) {
    for (u64 column = 0; column < columns; column += width) {
      const float scale = scale_at(form.types[1], scales.data());
      scales = scales.subspan(scale_bytes);
      for (float& value : out.subspan(row + column, std::min(width, columns - column))) value *= scale;
    }
  }
}

// Integers: scale × (code − zero point), one product in float32.

std::string integer_text(const StoredForm& form) {
  const IntegerParams& of = form.integers;
  const std::string group = of.has_one_scale ? std::string("per tensor")
                            : of.group == 0  ? std::string("per row")
                                             : fmt::format("group {}", of.group);
  return fmt::format("{}-bit integers, {}, {}{}", of.bits, group, of.has_zeros ? "with zero points" : "symmetric",
                     of.is_scattered ? ", columns in another order" : "");
}

std::string integer_short_text(const StoredForm& form) {
  const IntegerParams& of = form.integers;
  const std::string shared = of.has_one_scale ? "tensor" : of.group == 0 ? "row" : fmt::format("{}", of.group);
  return fmt::format("int{}/{}", of.bits, shared);
}

double integer_bits(const StoredForm& form) {
  return form.integers.bits;
}

u64 integer_groups(const IntegerParams& of, u64 columns) {
  if (of.is_scattered) return of.scales.columns;
  return of.group == 0 ? 1 : columns / of.group + (columns % of.group != 0 ? 1 : 0);
}

PlaneLayout integer_plane(const StoredForm& form, std::size_t plane, u64 columns) {
  const IntegerParams& of = form.integers;
  switch (plane) {
    case 0: return {columns, 1, of.codes};
    case 1:
      return {integer_groups(of, columns) * type_info(form.types[1]).block_bytes,
              of.has_one_scale ? PlaneLayout::all_rows : 1, of.scales};
    case 2: return {of.has_zeros ? integer_groups(of, columns) : 0, 1, of.zeros};
    case 3: return {of.is_scattered ? columns * sizeof(u32) : 0, PlaneLayout::all_rows};
    default: return {};
  }
}

bool integer_has_decoder(const StoredForm& /*form*/) {
  return true;
}

void decode_integers(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::span<float> out) {
  std::vector<i32> numbers(static_cast<std::size_t>(columns));
  std::vector<float> scales(static_cast<std::size_t>(columns));
  for (u64 row = 0; row * columns < out.size(); ++row) {
    integers_of_row(form, columns, planes, row, numbers, scales);
    for (u64 i = 0; i < columns; ++i) out[row * columns + i] = scales[i] * static_cast<float>(numbers[i]);
  }
}

// NVFP4: E2M1 × E4M3, which is exact in float32, times the tensor's factor.

std::string nvfp4_text(const StoredForm& /*form*/) {
  return "NVFP4 with a scale for the tensor";
}

std::string nvfp4_short_text(const StoredForm& /*form*/) {
  return "nvfp4";
}

double nvfp4_bits(const StoredForm& /*form*/) {
  return 4;
}

PlaneLayout nvfp4_plane(const StoredForm& /*form*/, std::size_t plane, u64 columns) {
  switch (plane) {
    case 0: return {columns / 2};
    case 1: return {columns / 16};
    case 2: return {sizeof(float), PlaneLayout::all_rows};
    default: return {};
  }
}

void decode_nvfp4(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::span<float> out) {
  mlx::dequantize(mlx::default_params(mlx::Mode::nvfp4), {planes[0], TensorType::U8, planes[1], TensorType::F32, {}},
                  out);
  for (u64 row = 0; row * columns < out.size(); ++row) {
    const float factor = nvfp4_factor(form, planes[2].data() + row * sizeof(float));
    for (float& value : out.subspan(row * columns, columns)) value *= factor;
  }
}

// clang-format off
constexpr std::array table = {
    FormInfo{FormKind::opaque, "unknown", opaque_text, opaque_text, opaque_bits, opaque_unit, opaque_plane, opaque_has_decoder, decode_opaque},
    FormInfo{FormKind::plain, "plain", plain_text, plain_text, plain_bits, plain_unit, plain_plane, plain_has_decoder, decode_plain},
    FormInfo{FormKind::mlx, "mlx", mlx_text, mlx_short_text, mlx_bits, mlx_unit, mlx_plane, mlx_has_decoder, decode_mlx},
    FormInfo{FormKind::fp8, "fp8", fp8_text, fp8_short_text, plain_bits, fp8_unit, fp8_plane, plain_has_decoder, decode_fp8},
    FormInfo{FormKind::integers, "integers", integer_text, integer_short_text, integer_bits, fp8_unit, integer_plane, integer_has_decoder, decode_integers},
    FormInfo{FormKind::nvfp4, "nvfp4", nvfp4_text, nvfp4_short_text, nvfp4_bits, fp8_unit, nvfp4_plane, integer_has_decoder, decode_nvfp4},
};
// clang-format on

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].kind) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

float scale_at(TensorType type, const std::byte* at) {
  switch (type) {
    case TensorType::F16: return f16_to_f32(load<u16>(at));
    case TensorType::BF16: return bf16_to_f32(load<u16>(at));
    case TensorType::F8_E8M0: return f8_e8m0_to_f32(static_cast<u8>(*at));
    default: return load<float>(at);
  }
}

float nvfp4_factor(const StoredForm& form, const std::byte* at) {
  const float stored = load<float>(at);
  return form.integers.scale_is_inverse ? 1 / stored : stored;
}

IntegerGroup integer_group(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, u64 group) {
  const IntegerParams& of = form.integers;
  const u64 at = row * integer_groups(of, columns) + group;
  IntegerGroup found;
  found.zero = of.is_signed ? 0 : 1 << (of.bits - 1);
  if (of.has_zeros) found.zero = static_cast<i32>(static_cast<u8>(planes[2][at])) + (of.zeros_plus_one ? 1 : 0);
  const u64 scale_bytes = form.types[1] == TensorType::F32 ? sizeof(float) : sizeof(u16);
  // A shared scale is present once or repeated for every row, so the first one is right.
  found.scale = scale_at(form.types[1], planes[1].data() + (of.has_one_scale ? 0 : at) * scale_bytes);
  return found;
}

void integers_of_row(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, std::span<i32> numbers,
                     std::span<float> scales) {
  const IntegerParams& of = form.integers;
  const u64 groups = integer_groups(of, columns);
  const std::byte* codes = planes[0].data() + row * columns;
  const auto put = [&](u64 begin, u64 end, const IntegerGroup& group) {
    for (u64 i = begin; i < end; ++i) {
      const i32 code = of.is_signed ? static_cast<i8>(codes[i]) : static_cast<i32>(static_cast<u8>(codes[i]));
      numbers[i] = code - group.zero;
    }
    std::fill(scales.begin() + static_cast<std::ptrdiff_t>(begin), scales.begin() + static_cast<std::ptrdiff_t>(end),
              group.scale);
  };
  if (!of.is_scattered) {
    const u64 width = of.group == 0 ? columns : of.group;
    for (u64 group = 0; group < groups; ++group) {
      put(group * width, std::min((group + 1) * width, columns), integer_group(form, columns, planes, row, group));
    }
    return;
  }
  std::vector<IntegerGroup> all(static_cast<std::size_t>(groups));
  for (u64 group = 0; group < groups; ++group) all[group] = integer_group(form, columns, planes, row, group);
  // All rows share one line; callers that only analyse pass it once.
  const u64 line = columns * sizeof(u32);
  const std::byte* places = planes[3].data() + (planes[3].size() > line ? row * line : 0);
  for (u64 i = 0; i < columns; ++i) put(i, i + 1, all[std::min<u64>(load<u32>(places + i * sizeof(u32)), groups - 1)]);
}

StoredForm integer_form(const IntegerParams& params, TensorType scale) {
  StoredForm form;
  form.kind = FormKind::integers;
  form.types = {TensorType::I32, scale};
  form.integers = params;
  return form;
}

StoredForm nvfp4_form(bool scale_is_inverse) {
  StoredForm form;
  form.kind = FormKind::nvfp4;
  form.types = {TensorType::U8, TensorType::F8_E4M3};
  form.integers = {};
  form.integers.scale_is_inverse = scale_is_inverse;
  return form;
}

StoredForm opaque_form() {
  StoredForm form;
  form.kind = FormKind::opaque;
  form.types[0] = TensorType::I8;
  return form;
}

StoredForm plain_form(TensorType type) {
  StoredForm form;
  form.types[0] = type;
  return form;
}

StoredForm mlx_form(const mlx::Params& params, TensorType codes, TensorType scales, TensorType biases) {
  const bool has_biases = mlx::mode_info(params.mode).has_biases;
  StoredForm form;
  form.kind = FormKind::mlx;
  form.types = {codes, scales, has_biases ? biases : TensorType::F32};
  form.params = params;
  return form;
}

StoredForm fp8_form(TensorType scale, u64 scale_rows, u64 scale_columns) {
  StoredForm form;
  form.kind = FormKind::fp8;
  form.types = {TensorType::F8_E4M3, scale};
  form.scale_rows = scale_rows;
  form.scale_columns = scale_columns;
  return form;
}

u64 StoredRows::bytes() const {
  u64 total = 0;
  for (const std::vector<std::byte>& plane : planes) total += plane.size();
  return total;
}

StoredPlanes planes_of(const StoredRows& rows) {
  StoredPlanes planes;
  for (std::size_t i = 0; i < max_planes; ++i) planes[i] = rows.planes[i];
  return planes;
}

const FormInfo& form_info(FormKind kind) {
  return table[static_cast<std::size_t>(kind)];
}

std::string text_with_scales(const StoredForm& form) {
  const std::string text = form_info(form).text(form);
  return form.is_plain() ? text : fmt::format("{}, {} scales", text, type_name(form.types[1]));
}

Status read_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count, MutableBytes out) {
  const u64 bytes = layout.line_bytes;
  if (bytes == 0 || count == 0) return {};
  if (layout.gather.kind != Gather::Kind::none) {
    return read_gathered(*plane.file, plane.offset, layout.gather, first, count, out);
  }
  if (layout.rows == 1) return plane.file->read_exact(plane.offset + first * bytes, out.first(count * bytes));
  // Read each line once, to the end of the output, and copy it to its rows front to back.
  const u64 first_line = first / layout.rows;
  const u64 lines = (first + count - 1) / layout.rows - first_line + 1;
  const MutableBytes read = out.subspan((count - lines) * bytes, lines * bytes);
  MU_TRY(plane.file->read_exact(plane.offset + first_line * bytes, read));
  for (u64 row = 0; row < count; ++row) {
    const u64 line = (first + row) / layout.rows - first_line;
    std::memmove(out.data() + row * bytes, read.data() + line * bytes, bytes);
  }
  return {};
}

Status read_rows(const StoredMatrix& matrix, u64 first, u64 count, StoredRows& out) {
  const FormInfo& info = form_info(matrix.form);
  for (std::size_t i = 0; i < max_planes; ++i) {
    const PlaneLayout layout = info.plane(matrix.form, i, matrix.columns);
    out.planes[i].resize(count * layout.line_bytes);
    MU_TRY(read_lines(matrix.planes[i], layout, first, count, out.planes[i]));
  }
  return {};
}

}  // namespace modelutils
