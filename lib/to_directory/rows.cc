#include "to_directory/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "mlx/quantize.h"
#include "tensor/dequantize.h"
#include "transfer/gather_units.h"
#include "transfer/recipe.h"

namespace modelutils {

u64 rows_at_once(const DirectoryTensor& tensor) {
  constexpr u64 elements = u64{1} << 20;
  constexpr u64 least_rows = 256;
  const u64 row = std::max<u64>(tensor.units_of_row(), 1);
  return std::max(elements / row, std::min(least_rows, 16 * elements / row + 1));
}

DirectoryReader::DirectoryReader(const Catalog& catalog, const DirectoryTensor& tensor)
    : catalog_(catalog), tensor_(tensor) {
  for (const RecipePart& part : tensor.parts) {
    const Tensor& from = catalog.tensors[part.source];
    sources_.push_back({PartUnits(part), &from});
    if (sources_.size() == 1) type_ = from.type;
    if (type_ != from.type || !part.factors.empty()) type_.reset();
  }
}

Status DirectoryReader::read_rows(u64 first, u64 count, MutableBytes out) {
  for (const Source& source : sources_) MU_TRY(read_part_rows(source, first, count, out));
  return {};
}

Status DirectoryReader::read_part_rows(const Source& source, u64 first, u64 count, MutableBytes out) {
  const u64 bytes = *row_bytes(*source.tensor->type, tensor_.unit);
  return gather_units(source.units, first, count, bytes, out,
                      [&](u64 unit, u64, MutableBytes to) { return catalog_.read(*source.tensor, unit * bytes, to); });
}

void DirectoryReader::decode(TensorType type, Bytes bytes, std::span<float> out) {
  dequantize(type, bytes, out);
  if (type != TensorType::F64) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = load<double>(bytes.data() + i * sizeof(double));
    const double difference = std::isfinite(value) ? value - double{out[i]} : 0;
    rounding_.squared_error += difference * difference;
    rounding_.max_abs = std::max(rounding_.max_abs, std::abs(difference));
  }
}

Status DirectoryReader::read_values(u64 first, u64 count, std::vector<float>& out) {
  out.resize(count * tensor_.unit);
  rounding_ = {};
  if (!tensor_.values.empty()) {
    std::copy_n(tensor_.values.begin() + static_cast<std::ptrdiff_t>(first), count, out.begin());
    return {};
  }
  for (const Source& source : sources_) {
    if (!has_decoder(*source.tensor->type)) {
      return input_error("tensor-no-decoder", "has a type without values", at_tensor(source.tensor->name));
    }
    if (tensor_.by_element) {
      MU_TRY(read_elements(source, first, count, out));
      multiply(source, first, count, out);
      continue;
    }
    // Decode per source: the parts may differ in type.
    const u64 columns = tensor_.unit;
    const u64 row_size = *row_bytes(*source.tensor->type, columns);
    bytes_.resize(count * row_size);
    MU_TRY(read_part_rows(source, first, count, bytes_));
    if (sources_.size() == 1) {
      decode(*source.tensor->type, bytes_, out);
    } else {
      for (u64 i = 0; i < count; ++i) {
        if (!source.units.source_of(first + i)) continue;
        decode(*source.tensor->type, Bytes(bytes_).subspan(i * row_size, row_size),
               std::span(out).subspan(i * columns, columns));
      }
    }
    multiply(source, first, count, out);
  }
  if (tensor_.operation == arch::Operation::none) return {};
  for (float& value : out) value = undo_operation(tensor_.operation, tensor_.operand, value);
  return {};
}

// Multiplies the units that come from `source` by their factors.
void DirectoryReader::multiply(const Source& source, u64 first, u64 count, std::span<float> out) const {
  const RecipePart& part = source.units.part();
  if (part.factors.empty()) return;
  for (u64 i = 0; i < count; ++i) {
    const std::optional<u64> unit = source.units.source_of(first + i);
    if (!unit) continue;
    const float factor = part.factor_of(*unit);
    for (float& value : out.subspan(i * tensor_.unit, tensor_.unit)) value *= factor;
  }
}

// Reads the source rows that contain the elements, restricted to the blocks that hold them.
Status DirectoryReader::read_elements(const Source& source, u64 first, u64 count, std::span<float> out) {
  const u64 columns = source.tensor->ne.front();
  u64 low_row = no_unit;
  u64 high_row = 0;
  u64 low = columns;
  u64 high = 0;
  elements_.resize(count);
  for (u64 i = 0; i < count; ++i) {
    elements_[i] = source.units.source_of(first + i).value_or(no_unit);
    if (elements_[i] == no_unit) continue;
    low_row = std::min(low_row, elements_[i] / columns);
    high_row = std::max(high_row, elements_[i] / columns);
    low = std::min(low, elements_[i] % columns);
    high = std::max(high, elements_[i] % columns);
  }
  if (low_row == no_unit) return {};
  const TypeInfo& info = type_info(*source.tensor->type);
  const u64 row_size = *row_bytes(info.type, columns);
  const u64 begin = low / info.block_elements;
  const u64 blocks = high / info.block_elements + 1 - begin;
  const u64 width = high + 1 - low;
  std::vector<float> decoded(blocks * info.block_elements);
  strip_.resize((high_row + 1 - low_row) * width);
  bytes_.resize(blocks * info.block_bytes);
  for (u64 row = low_row; row <= high_row; ++row) {
    MU_TRY(catalog_.read(*source.tensor, row * row_size + begin * info.block_bytes, bytes_));
    decode(info.type, bytes_, decoded);
    std::copy_n(decoded.begin() + static_cast<std::ptrdiff_t>(low - begin * info.block_elements), width,
                strip_.begin() + static_cast<std::ptrdiff_t>((row - low_row) * width));
  }
  for (u64 i = 0; i < count; ++i) {
    if (elements_[i] != no_unit)
      out[i] = strip_[(elements_[i] / columns - low_row) * width + elements_[i] % columns - low];
  }
  return {};
}

}  // namespace modelutils
