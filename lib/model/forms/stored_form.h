// The table of stored forms: how a tensor's values are stored in its file, and how to decode them. Statistics,
// comparisons, conversions and listings use it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "model/forms/gathered_plane.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

/// Kinds of forms, one per row of the table in stored_form.cc.
enum class FormKind : u8 {
  opaque,    ///< bytes of an unknown type
  plain,     ///< elements or blocks of one type in tensor/types.h
  mlx,       ///< packed by MLX: codes, with a scale and, in affine mode, a bias per group
  fp8,       ///< F8_E4M3 elements with a scale per rectangle, as in Hugging Face directories
  integers,  ///< scale × (code − zero point): GPTQ, AWQ, compressed-tensors
  nvfp4,     ///< E2M1 × E4M3 per 16 elements × one F32 factor: modelopt, compressed-tensors
};

/// Maximum number of stored tensors (planes) of a form. Plane 0 holds the values or codes.
inline constexpr std::size_t max_planes = 5;

/// Parameters of FormKind::integers. Planes: 0 codes, 1 scales, 2 zero points, 3 each column's group, 4 the shape
/// ("weight_shape").
struct IntegerParams {
  u8 bits = 4;
  bool is_signed = false;         ///< codes are signed bytes
  bool has_zeros = false;         ///< plane 2 exists; otherwise the zero point is 2^(bits − 1), or 0 for signed codes
  bool zeros_plus_one = false;    ///< stored zero points are one too small (GPTQ version 1)
  bool is_scattered = false;      ///< plane 3 applies: the columns of a group are not adjacent
  bool has_one_scale = false;     ///< one scale for all rows
  bool scale_is_inverse = false;  ///< FormKind::nvfp4: plane 2 is the reciprocal of the tensor's factor
  u64 group = 0;                  ///< columns per scale; 0: all
  Gather codes, zeros, scales;
  bool operator==(const IntegerParams&) const = default;
};

/// The storage form of a matrix. A vector is a matrix of one row.
struct StoredForm {
  FormKind kind = FormKind::plain;
  std::array<TensorType, max_planes> types{};  ///< of each plane; F32 for absent planes
  mlx::Params params;                          ///< for FormKind::mlx
  u64 scale_rows = 0;                          ///< FormKind::fp8: rows per scale; 0: all
  u64 scale_columns = 0;                       ///< FormKind::fp8: columns per scale; 0: all
  IntegerParams integers;                      ///< for FormKind::integers, and partly for FormKind::nvfp4
  bool big_endian = false;                     ///< in a big-endian GGUF; such values are not decoded

  TensorType type() const { return types[0]; }
  bool is_plain() const { return kind == FormKind::plain; }
  bool operator==(const StoredForm&) const = default;
};

/// Returns the form of bytes of an unknown type, each counted as one element.
StoredForm opaque_form();
/// Returns the form of a tensor with a single plane.
StoredForm plain_form(TensorType type);
/// Returns the form of a matrix quantised by MLX. `biases` is only used in affine mode.
StoredForm mlx_form(const mlx::Params& params, TensorType codes, TensorType scales, TensorType biases);
/// Returns the form scale × (code − zero point) with the given parameters and type of scales.
StoredForm integer_form(const IntegerParams& params, TensorType scale);
/// Returns the form with codes, an E4M3 scale per 16 elements, and one F32 factor or its reciprocal.
StoredForm nvfp4_form(bool scale_is_inverse);
/// Returns the form with F8_E4M3 elements and a scale per rectangle of `scale_rows` × `scale_columns`; 0 means all.
StoredForm fp8_form(TensorType scale, u64 scale_rows = 0, u64 scale_columns = 0);

/// The layout of a plane: one line of bytes per row, or per several rows.
struct PlaneLayout {
  static constexpr u64 all_rows = ~u64{0};
  u64 line_bytes = 0;  ///< 0: the form has no such plane
  u64 rows = 1;        ///< rows per line
  Gather gather = {};  ///< for lines that are not contiguous in the file
};

/// The stored bytes of some rows, or units of rows: one line per row in each plane, consecutively. A line shared by
/// several rows is repeated.
struct StoredRows {
  std::array<std::vector<std::byte>, max_planes> planes;

  std::vector<std::byte>& values() { return planes[0]; }
  const std::vector<std::byte>& values() const { return planes[0]; }
  const std::vector<std::byte>& scales() const { return planes[1]; }
  const std::vector<std::byte>& biases() const { return planes[2]; }
  u64 bytes() const;
};
using StoredPlanes = std::array<Bytes, max_planes>;
StoredPlanes planes_of(const StoredRows& rows);

/// Reads a scale of type F32, F16, BF16 or F8_E8M0, at any alignment.
float scale_at(TensorType type, const std::byte* at);

/// FormKind::integers: the zero point and scale of a group. Unsigned codes without stored zero points have the middle
/// of the code range as zero point.
struct IntegerGroup {
  i32 zero = 0;
  float scale = 0;
};
/// `row` is an index into the rows in `planes`.
IntegerGroup integer_group(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, u64 group);

/// FormKind::integers: fills in code − zero point and scale for every element of row `row` in `planes`.
void integers_of_row(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, std::span<i32> numbers,
                     std::span<float> scales);
/// FormKind::nvfp4: reads the tensor's factor from plane 2.
float nvfp4_factor(const StoredForm& form, const std::byte* at);

/// The properties and functions of a kind of form.
struct FormInfo {
  FormKind kind;
  std::string_view name;  ///< in listings: "mlx", "fp8"
  /// For display: "affine 4-bit, group 64".
  std::string (*text)(const StoredForm& form);
  /// A short version for tables: "4-bit/64".
  std::string (*short_text)(const StoredForm& form);
  /// Bits per value, without scales.
  double (*bits)(const StoredForm& form);
  /// Elements per unit, the smallest number that can be decoded alone: a block, a group, or a whole row if scales span
  /// more than a unit. Divides the row length.
  u64 (*unit)(const StoredForm& form, u64 columns);
  /// The layout of a plane, for rows of `columns` elements.
  PlaneLayout (*plane)(const StoredForm& form, std::size_t plane, u64 columns);
  /// True if the values can be decoded.
  bool (*has_decoder)(const StoredForm& form);
  /// Decodes whole units to float32; values that float32 cannot hold exactly are rounded once. The planes must have the
  /// bytes for `out.size()` elements in rows of `columns` elements.
  void (*decode)(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::span<float> out);
};

/// Returns the row of the table for a kind.
const FormInfo& form_info(FormKind kind);
inline const FormInfo& form_info(const StoredForm& form) {
  return form_info(form.kind);
}

/// Returns "affine 4-bit, group 64, BF16 scales"; for plain forms, the type's name.
std::string text_with_scales(const StoredForm& form);

/// The location of a stored tensor that is a plane of a matrix.
struct StoredPlane {
  const ByteSource* file = nullptr;
  u64 offset = 0;  ///< absolute
};

struct StoredMatrix {
  StoredForm form;
  u64 elements = 0;
  u64 columns = 1;  ///< elements per row
  std::array<StoredPlane, max_planes> planes;
};

/// Reads the lines of a plane for rows [first, first + count), `layout.line_bytes` for each row even if rows share a
/// line. Fails only if reading fails.
Status read_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count, MutableBytes out);

/// Reads rows [first, first + count), reusing the buffers of `out`. Fails only if reading fails.
Status read_rows(const StoredMatrix& matrix, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils
