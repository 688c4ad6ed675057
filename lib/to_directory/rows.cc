#include "to_directory/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "mlx/quantize.h"
#include "tensor/dequantize.h"
#include "tensor/shape.h"
#include "transfer/operation.h"

namespace modelutils {

namespace {

constexpr u64 no_row = ~u64{0};

const ByteSource& source_of(const Catalog& catalog, const CatalogTensor& tensor) {
  return *catalog.files[tensor.file].source;
}

}  // namespace

InverseView::InverseView(const arch::RowView& view) : base_(view.base) {
  u64 weight = 1;
  for (std::size_t i = view.axes.size(); i-- > 0;) {
    axes_.push_back({view.axes[i].count, view.axes[i].stride, weight});
    weight *= view.axes[i].count;
  }
  std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  is_identity_ = base_ == 0;
  u64 stride = 1;
  for (std::size_t i = view.axes.size(); i-- > 0;) {
    is_identity_ = is_identity_ && view.axes[i].stride == stride;
    stride *= view.axes[i].count;
  }
}

std::optional<u64> InverseView::row_of(u64 unit) const {
  if (unit < base_) return std::nullopt;
  unit -= base_;
  u64 row = 0;
  for (const Axis& axis : axes_) {
    const u64 place = unit / axis.stride;
    if (place >= axis.count) return std::nullopt;
    row += place * axis.weight;
    unit -= place * axis.stride;
  }
  return unit == 0 ? std::optional(row) : std::nullopt;
}

u64 rows_at_once(const DirectoryTensor& tensor) {
  constexpr u64 elements = u64{1} << 20;
  constexpr u64 least_rows = 256;
  const u64 row = std::max<u64>(tensor.units_of_row(), 1);
  return std::max(elements / row, std::min(least_rows, 16 * elements / row + 1));
}

DirectoryReader::DirectoryReader(const Catalog& catalog, const DirectoryTensor& tensor)
    : catalog_(catalog), tensor_(tensor) {
  for (const DirectoryPart& part : tensor.parts) {
    const CatalogTensor& from = catalog.tensors[part.tensor];
    sources_.push_back({&part, &from, InverseView(part.view)});
    if (sources_.size() == 1) type_ = from.type;
    if (type_ != from.type || !part.factors.empty()) type_.reset();
  }
}

Status DirectoryReader::read_rows(u64 first, u64 count, MutableBytes out) {
  for (const Source& source : sources_) MU_TRY(read_part_rows(source, first, count, out));
  return {};
}

// Runs of rows that lie close together are read at once, whatever their order.
Status DirectoryReader::read_part_rows(const Source& source, u64 first, u64 count, MutableBytes out) {
  const u64 bytes = *row_bytes(*source.tensor->type, tensor_.unit);
  const ByteSource& file = source_of(catalog_, *source.tensor);
  const u64 start = source.tensor->offset + source.part->first * bytes;
  if (source.inverse.is_identity()) {
    const u64 rows = source.part->view.rows();
    if (first >= rows) return {};
    return file.read_exact(start + first * bytes, out.first(std::min(count, rows - first) * bytes));
  }
  rows_.resize(count);
  for (u64 i = 0; i < count; ++i) rows_[i] = source.inverse.row_of(first + i).value_or(no_row);
  for (u64 i = 0; i < count;) {
    if (rows_[i] == no_row) {
      ++i;
      continue;
    }
    // As long as the window that holds all rows so far is at most about twice as large as they are.
    u64 low = rows_[i];
    u64 high = rows_[i];
    u64 end = i + 1;
    u64 good = i + 1;
    u64 good_low = low;
    u64 good_high = high;
    for (; end < count && rows_[end] != no_row; ++end) {
      low = std::min(low, rows_[end]);
      high = std::max(high, rows_[end]);
      if (high - low + 1 > 2 * (end + 1 - i) && end - good > 64) break;
      if (high - low + 1 <= 2 * (end + 1 - i)) {
        good = end + 1;
        good_low = low;
        good_high = high;
      }
    }
    window_.resize((good_high - good_low + 1) * bytes);
    MU_TRY(file.read_exact(start + good_low * bytes, window_));
    for (u64 k = i; k < good; ++k) {
      std::memcpy(out.data() + k * bytes, window_.data() + (rows_[k] - good_low) * bytes, bytes);
    }
    i = good;
  }
  return {};
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
    // One part at a time: they may differ in type.
    const u64 columns = tensor_.unit;
    const u64 row_size = *row_bytes(*source.tensor->type, columns);
    bytes_.resize(count * row_size);
    MU_TRY(read_part_rows(source, first, count, bytes_));
    if (sources_.size() == 1) {
      decode(*source.tensor->type, bytes_, out);
    } else {
      for (u64 i = 0; i < count; ++i) {
        if (!source.inverse.row_of(first + i)) continue;
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

// The units that come from this source, by their factors.
void DirectoryReader::multiply(const Source& source, u64 first, u64 count, std::span<float> out) const {
  const std::vector<float>& factors = source.part->factors;
  if (factors.empty()) return;
  const u64 of_factor = std::max<u64>(element_count(source.tensor->ne).value_or(0) / factors.size(), 1);
  for (u64 i = 0; i < count; ++i) {
    const auto row = source.inverse.row_of(first + i);
    if (!row) continue;
    const u64 factor = std::min<u64>((*row + source.part->first) * tensor_.unit / of_factor, factors.size() - 1);
    for (float& value : out.subspan(i * tensor_.unit, tensor_.unit)) value *= factors[factor];
  }
}

// The rows of the source that the elements are in, cut down to the blocks that hold them.
Status DirectoryReader::read_elements(const Source& source, u64 first, u64 count, std::span<float> out) {
  const u64 columns = source.tensor->ne.front();
  u64 low_row = no_row;
  u64 high_row = 0;
  u64 low = columns;
  u64 high = 0;
  rows_.resize(count);
  for (u64 i = 0; i < count; ++i) {
    const auto row = source.inverse.row_of(first + i);
    rows_[i] = row ? *row + source.part->first : no_row;
    if (!row) continue;
    low_row = std::min(low_row, rows_[i] / columns);
    high_row = std::max(high_row, rows_[i] / columns);
    low = std::min(low, rows_[i] % columns);
    high = std::max(high, rows_[i] % columns);
  }
  if (low_row == no_row) return {};
  const TypeInfo& info = type_info(*source.tensor->type);
  const u64 row_size = *row_bytes(info.type, columns);
  const u64 begin = low / info.block_elements;
  const u64 blocks = high / info.block_elements + 1 - begin;
  const u64 width = high + 1 - low;
  std::vector<float> decoded(blocks * info.block_elements);
  strip_.resize((high_row + 1 - low_row) * width);
  window_.resize(blocks * info.block_bytes);
  for (u64 row = low_row; row <= high_row; ++row) {
    MU_TRY(source_of(catalog_, *source.tensor)
               .read_exact(source.tensor->offset + row * row_size + begin * info.block_bytes, window_));
    decode(info.type, window_, decoded);
    std::copy_n(decoded.begin() + static_cast<std::ptrdiff_t>(low - begin * info.block_elements), width,
                strip_.begin() + static_cast<std::ptrdiff_t>((row - low_row) * width));
  }
  for (u64 i = 0; i < count; ++i) {
    if (rows_[i] != no_row) out[i] = strip_[(rows_[i] / columns - low_row) * width + rows_[i] % columns - low];
  }
  return {};
}

}  // namespace modelutils
