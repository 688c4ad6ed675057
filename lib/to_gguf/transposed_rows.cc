#include "to_gguf/transposed_rows.h"

#include <algorithm>
#include <cstring>

namespace modelutils {

namespace {

// Reads runs of consecutive elements from the rows of one matrix.
class StripReader {
 public:
  StripReader(const HfModel& model, const SourceMatrix& matrix)
      : matrix_(model.stored(matrix)), size_(type_info(values_type(matrix)).block_bytes) {}

  u64 element_bytes() const { return size_; }

  /// Reads elements [first, first + count) of the matrix.
  Status read(u64 first, u64 count, MutableBytes out) {
    if (matrix_.form.is_plain()) {
      return matrix_.planes[0].file->read_exact(matrix_.planes[0].offset + first * size_, out);
    }
    while (count > 0) {
      const u64 column = first % matrix_.columns;
      const u64 here = std::min(count, matrix_.columns - column);
      MU_TRY(read_row(first / matrix_.columns));
      std::memcpy(out.data(), values_.data() + column, here * size_);
      out = out.subspan(here * size_);
      first += here;
      count -= here;
    }
    return {};
  }

 private:
  Status read_row(u64 row) {
    if (row == row_) return {};
    row_ = row;
    MU_TRY(read_rows(matrix_, row, 1, stored_));
    values_.resize(matrix_.columns);
    form_info(matrix_.form).decode(matrix_.form, matrix_.columns, planes_of(stored_), values_);
    return {};
  }

  const StoredMatrix matrix_;
  u64 size_;
  StoredRows stored_;
  std::vector<float> values_;  // of the row read last
  u64 row_ = ~u64{0};
};

// Returns how many output rows can be filled from strips of consecutive source elements. They can if the axis before
// those that form a row has stride 1; otherwise returns 1.
u64 rows_of_strips(const arch::RowView& view, u64 columns) {
  u64 product = 1;
  std::size_t axis = view.axes.size();
  while (axis > 0 && product < columns) product *= view.axes[--axis].count;
  const bool has_strips = product == columns && axis > 0 && view.axes[axis - 1].stride == 1;
  return has_strips ? view.axes[axis - 1].count : 1;
}

// Reads rows [first, first + count) of one part.
Status read_part(const HfModel& model, const RecipePart& part, u64 columns, u64 first, u64 count, MutableBytes out) {
  StripReader reader(model, model.matrices[part.source]);
  const u64 size = reader.element_bytes();
  const u64 most = rows_of_strips(part.from, columns);
  std::vector<std::byte> strip;
  for (u64 row = first; row < first + count;) {
    const u64 length = std::min(most - row % most, first + count - row);
    strip.resize(length * size);
    for (u64 column = 0; column < columns; ++column) {
      MU_TRY(reader.read(part.from.source_row(row * columns + column), length, strip));
      for (u64 i = 0; i < length; ++i) {
        std::memcpy(out.data() + ((row - first + i) * columns + column) * size, strip.data() + i * size, size);
      }
    }
    row += length;
  }
  return {};
}

}  // namespace

TensorType values_type(const SourceMatrix& matrix) {
  return matrix.is_quantized() ? TensorType::F32 : matrix.form.type();
}

Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  const u64 row_bytes =
      tensor.columns() * type_info(values_type(model.matrices[tensor.parts.front().source])).block_bytes;
  out.values().resize(count * row_bytes);
  for (const RecipePart& part : tensor.parts) {
    const u64 begin = part.to.base / tensor.columns();
    const u64 from = std::max(first, begin);
    const u64 to = std::min(first + count, begin + part.units() / tensor.columns());
    if (from >= to) continue;
    MU_TRY(read_part(model, part, tensor.columns(), from - begin, to - from,
                     MutableBytes(out.values()).subspan((from - first) * row_bytes, (to - from) * row_bytes)));
  }
  return {};
}

}  // namespace modelutils
