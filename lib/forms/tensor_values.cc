#include "forms/tensor_values.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/place.h"

namespace modelutils {

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
