// How the values of a tensor lie in its file: the one table of stored forms. Whoever wants values (statistics,
// comparison, conversion, listing) asks the form.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/types.h"
#include "forms/gathered_plane.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

/// The kinds of forms: the rows of the table (stored_form.cc).
enum class FormKind : u8 {
  opaque,    ///< bytes of a type that nobody knows
  plain,     ///< elements or blocks of one type of tensor/types.h
  mlx,       ///< packed by MLX: codes, and for each group a scale and, in affine mode, a bias
  fp8,       ///< F8_E4M3 elements times scales of rectangles, as Hugging Face directories have them
  integers,  ///< scale × (code − zero point): GPTQ, AWQ, compressed-tensors
  nvfp4,     ///< E2M1 × E4M3 of 16 elements × one F32 for the tensor: modelopt, compressed-tensors
};

/// A form is made of up to so many stored tensors, its planes. Plane 0 holds the values or codes.
inline constexpr std::size_t max_planes = 5;

/// FormKind::integers. Planes: 0 codes, 1 scales, 2 zero points, 3 the group of each column, 4 the shape
/// ("weight_shape").
struct IntegerParams {
  u8 bits = 4;
  bool is_signed = false;         ///< codes are signed bytes
  bool has_zeros = false;         ///< plane 2; otherwise the zero point is 2^(bits - 1), or 0 of signed codes
  bool zeros_plus_one = false;    ///< the stored zero points are one too small (GPTQ's first version)
  bool is_scattered = false;      ///< plane 3 counts: the columns of a group are not neighbours
  bool has_one_scale = false;     ///< all rows share it
  bool scale_is_inverse = false;  ///< FormKind::nvfp4: the tensor's factor is the reciprocal of plane 2
  u64 group = 0;                  ///< columns with one scale; 0: all
  Gather codes, zeros, scales;
  bool operator==(const IntegerParams&) const = default;
};

/// How the values of one matrix are stored. A vector is one row.
struct StoredForm {
  FormKind kind = FormKind::plain;
  std::array<TensorType, max_planes> types{};  ///< of the planes; F32 where there is none
  mlx::Params params;                          ///< of FormKind::mlx
  u64 scale_rows = 0;                          ///< FormKind::fp8: rows that share a scale; 0: all
  u64 scale_columns = 0;                       ///< the same of columns
  IntegerParams integers;                      ///< of FormKind::integers, and in part of FormKind::nvfp4
  bool big_endian = false;                     ///< of a GGUF, whose values are not decoded

  TensorType type() const { return types[0]; }
  bool is_plain() const { return kind == FormKind::plain; }
  bool operator==(const StoredForm&) const = default;
};

/// Bytes that nobody can decode; as many elements.
StoredForm opaque_form();
/// The form of a tensor that is all there is of it.
StoredForm plain_form(TensorType type);
/// What MLX packed. `biases` counts in affine mode alone.
StoredForm mlx_form(const mlx::Params& params, TensorType codes, TensorType scales, TensorType biases);
/// scale × (code − zero point), as `params` say, with scales of a type.
StoredForm integer_form(const IntegerParams& params, TensorType scale);
/// Codes, E4M3 scales of 16 elements, one F32 for all (or its reciprocal).
StoredForm nvfp4_form(bool scale_is_inverse);
/// F8_E4M3 with a scale for each rectangle of so many rows and columns; 0: of all.
StoredForm fp8_form(TensorType scale, u64 scale_rows = 0, u64 scale_columns = 0);

/// How a plane follows the rows of the matrix: a line of so many bytes for every row, or one that several share.
struct PlaneLayout {
  static constexpr u64 all_rows = ~u64{0};
  u64 line_bytes = 0;  ///< 0: the form has no such plane
  u64 rows = 1;        ///< that share a line
  Gather gather = {};  ///< where a line is not a stretch of the file
};

/// Some rows (or units of rows) as they are stored: of every plane as many lines, one after another. Where rows share a
/// line, each has it.
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

/// A scale of type F32, F16 or BF16, at any address.
float scale_at(TensorType type, const std::byte* at);

/// FormKind::integers: what the elements of a group share; of unsigned codes without zero points the middle one is
/// zero.
struct IntegerGroup {
  i32 zero = 0;
  float scale = 0;
};
/// Of row `row` of the planes.
IntegerGroup integer_group(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, u64 group);

/// FormKind::integers: code − zero point and scale of every element of row `row` of the planes.
void integers_of_row(const StoredForm& form, u64 columns, const StoredPlanes& planes, u64 row, std::span<i32> numbers,
                     std::span<float> scales);
/// FormKind::nvfp4: the factor of the tensor, out of plane 2.
float nvfp4_factor(const StoredForm& form, const std::byte* at);

/// What there is to know of a kind of form.
struct FormInfo {
  FormKind kind;
  std::string_view name;  ///< in listings: "mlx", "fp8"
  /// For people: "affine 4-bit, group 64".
  std::string (*text)(const StoredForm& form);
  /// The same in a few characters, for tables: "4-bit/64".
  std::string (*short_text)(const StoredForm& form);
  /// Bits of a value without its scales.
  double (*bits)(const StoredForm& form);
  /// Elements of a unit, the least that can be decoded alone: a block, a group, or a row where its scales are those of
  /// more than a unit. Divides a row.
  u64 (*unit)(const StoredForm& form, u64 columns);
  /// Of one plane, for rows of `columns` elements.
  PlaneLayout (*plane)(const StoredForm& form, std::size_t plane, u64 columns);
  /// Can its values be decoded?
  bool (*has_decoder)(const StoredForm& form);
  /// The exact values of whole units as float32, rounded once where float32 does not hold them. The planes have what
  /// `out.size()` elements of rows of `columns` elements take.
  void (*decode)(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::span<float> out);
};

/// The row of a kind.
const FormInfo& form_info(FormKind kind);
inline const FormInfo& form_info(const StoredForm& form) {
  return form_info(form.kind);
}

/// "affine 4-bit, group 64, BF16 scales"; a plain type's name.
std::string text_with_scales(const StoredForm& form);

}  // namespace modelutils
