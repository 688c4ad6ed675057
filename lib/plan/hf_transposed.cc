#include "plan/hf_transposed.h"

#include <algorithm>
#include <cstring>

#include "mlx/dequantize.h"

namespace modelutils {

namespace {

// Reads elements of one matrix that follow one another in a row.
class StripReader {
 public:
  StripReader(const HfModel& model, const SourceMatrix& matrix)
      : model_(model), matrix_(matrix), size_(type_info(values_type(matrix)).block_bytes) {}

  u64 element_bytes() const { return size_; }

  /// Elements [first, first + count) of the matrix.
  Status read(u64 first, u64 count, MutableBytes out) {
    if (!matrix_.quantized) {
      return model_.source(matrix_.values).read_exact(matrix_.values.offset + first * size_, out);
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
    MU_TRY(read_part(matrix_.values, row, codes_));
    MU_TRY(read_part(matrix_.scales, row, scales_));
    if (matrix_.biases.bytes > 0) MU_TRY(read_part(matrix_.biases, row, biases_));
    values_.resize(matrix_.columns);
    mlx::dequantize(*matrix_.quantized, {codes_, matrix_.scales.type, scales_, matrix_.biases.type, biases_}, values_);
    return {};
  }

  Status read_part(const StoredTensor& stored, u64 row, std::vector<std::byte>& bytes) const {
    bytes.resize(stored.bytes / matrix_.rows);
    return model_.source(stored).read_exact(stored.offset + row * bytes.size(), bytes);
  }

  const HfModel& model_;
  const SourceMatrix& matrix_;
  u64 size_;
  std::vector<std::byte> codes_, scales_, biases_;
  std::vector<float> values_;
  u64 row_ = ~u64{0};  // whose values these are
};

// The same where a row is put together of runs: columns in another order.
Status read_runs(StripReader& reader, const arch::RowView& view, u64 columns, u64 first, u64 count, MutableBytes out) {
  const u64 run = view.axes.back().count;
  for (u64 element = first * columns; element < (first + count) * columns; element += run) {
    MU_TRY(reader.read(view.source_row(element), run, out));
    out = out.subspan(run * reader.element_bytes());
  }
  return {};
}

// Rows [first, first + count) of one part. The last axis of its view is the row; where the axis before it runs along
// the rows of the source, output rows that follow one another come from the same strips.
Status read_part(const HfModel& model, const MappedPart& part, u64 columns, u64 first, u64 count, MutableBytes out) {
  StripReader reader(model, model.matrices[part.matrix]);
  const u64 size = reader.element_bytes();
  const std::vector<arch::RowView::Axis>& axes = part.view.axes;
  const arch::RowView::Axis& row_axis = axes.back();
  if (row_axis.count != columns) return read_runs(reader, part.view, columns, first, count, out);
  const bool has_strips = axes.size() > 1 && axes[axes.size() - 2].stride == 1;
  const u64 most = has_strips ? axes[axes.size() - 2].count : 1;
  std::vector<std::byte> strip;
  for (u64 row = first; row < first + count;) {
    const u64 length = std::min(most - row % most, first + count - row);
    const u64 start = part.view.source_row(row * row_axis.count);
    strip.resize(length * size);
    for (u64 column = 0; column < row_axis.count; ++column) {
      MU_TRY(reader.read(start + column * row_axis.stride, length, strip));
      for (u64 i = 0; i < length; ++i) {
        std::memcpy(out.data() + ((row - first + i) * row_axis.count + column) * size, strip.data() + i * size, size);
      }
    }
    row += length;
  }
  return {};
}

}  // namespace

TensorType values_type(const SourceMatrix& matrix) {
  return matrix.quantized ? TensorType::F32 : matrix.values.type;
}

Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  const u64 row_bytes =
      tensor.columns() * type_info(values_type(model.matrices[tensor.parts.front().matrix])).block_bytes;
  out.values.resize(count * row_bytes);
  u64 part_start = 0;  // in rows of the tensor
  for (const MappedPart& part : tensor.parts) {
    const u64 rows = part.view.rows() / tensor.columns();
    const u64 from = std::max(first, part_start);
    const u64 to = std::min(first + count, part_start + rows);
    if (from < to) {
      MU_TRY(read_part(model, part, tensor.columns(), from - part_start, to - from,
                       MutableBytes(out.values).subspan((from - first) * row_bytes, (to - from) * row_bytes)));
    }
    part_start += rows;
  }
  return {};
}

}  // namespace modelutils
