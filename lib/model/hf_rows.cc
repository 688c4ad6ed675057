#include "model/hf_rows.h"

#include <algorithm>
#include <cstring>

#include "mlx/dequantize.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// Neighbouring rows of one stored tensor, appended to `out` at `place` (in rows).
Status read_piece(const HfModel& model, const StoredTensor& tensor, u64 row_bytes, u64 first, u64 count, u64 place,
                  std::vector<std::byte>& out) {
  if (row_bytes == 0) return {};
  return model.source(tensor).read_exact(tensor.offset + first * row_bytes,
                                         MutableBytes(out).subspan(place * row_bytes, count * row_bytes));
}

u64 bytes_per_row(const SourceMatrix& matrix, const StoredTensor& tensor) {
  return tensor.bytes / matrix.rows;
}

// Whole heads, row after row: out[2j + t] = in[t × d/2 + j].
void permute_rows(std::vector<std::byte>& bytes, u64 row_bytes, u64 head_rows) {
  if (bytes.empty()) return;
  const u64 head_bytes = head_rows * row_bytes;
  std::vector<std::byte> head(head_bytes);
  for (u64 start = 0; start < bytes.size(); start += head_bytes) {
    std::memcpy(head.data(), bytes.data() + start, head_bytes);
    for (u64 row = 0; row < head_rows; ++row) {
      std::memcpy(bytes.data() + start + row * row_bytes, head.data() + permuted_row(row, head_rows) * row_bytes,
                  row_bytes);
    }
  }
}

}  // namespace

u64 row_granule(const MappedTensor& tensor) {
  return tensor.permuted_heads == 0 || tensor.ne.size() < 2 ? 1 : tensor.rows() / tensor.permuted_heads;
}

Status read_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  const SourceMatrix& kind = model.matrices[tensor.parts.front().matrix];
  const u64 value_bytes = bytes_per_row(kind, kind.values);
  const u64 scale_bytes = kind.quantized ? bytes_per_row(kind, kind.scales) : 0;
  const u64 bias_bytes = kind.quantized ? bytes_per_row(kind, kind.biases) : 0;
  out.values.resize(count * value_bytes);
  out.scales.resize(count * scale_bytes);
  out.biases.resize(count * bias_bytes);
  u64 part_start = 0;  // in rows of the tensor
  for (const RowRange& part : tensor.parts) {
    const u64 from = std::max(first, part_start);
    const u64 to = std::min(first + count, part_start + part.count);
    if (from < to) {
      const SourceMatrix& matrix = model.matrices[part.matrix];
      const u64 row = part.first + (from - part_start);
      const u64 place = from - first;
      MU_TRY(read_piece(model, matrix.values, value_bytes, row, to - from, place, out.values));
      MU_TRY(read_piece(model, matrix.scales, scale_bytes, row, to - from, place, out.scales));
      MU_TRY(read_piece(model, matrix.biases, bias_bytes, row, to - from, place, out.biases));
    }
    part_start += part.count;
  }
  if (const u64 head_rows = row_granule(tensor); head_rows > 1) {
    permute_rows(out.values, value_bytes, head_rows);
    permute_rows(out.scales, scale_bytes, head_rows);
    permute_rows(out.biases, bias_bytes, head_rows);
  }
  return {};
}

void decode_rows(const SourceMatrix& matrix, const StoredRows& rows, std::span<float> out) {
  if (matrix.quantized) {
    mlx::dequantize(*matrix.quantized, {rows.values, matrix.scales.type, rows.scales, matrix.biases.type, rows.biases},
                    out);
  } else {
    dequantize(matrix.values.type, rows.values, out);
  }
}

Result<std::vector<float>> read_vector(const HfModel& model, const MappedTensor& tensor) {
  if (tensor.parts.empty()) return tensor.generated;
  StoredRows rows;
  MU_TRY(read_stored_rows(model, tensor, 0, 1, rows));
  std::vector<float> values(static_cast<std::size_t>(tensor.columns()));
  decode_rows(model.matrices[tensor.parts.front().matrix], rows, values);
  if (tensor.permuted_heads > 0) {
    const u64 head_size = values.size() / tensor.permuted_heads;
    const std::vector<float> source = values;
    for (u64 i = 0; i < values.size(); ++i) values[i] = source[permuted_row(i, head_size)];
  }
  if (tensor.add_one) {
    for (float& value : values) value += 1.0f;
  }
  return values;
}

}  // namespace modelutils
