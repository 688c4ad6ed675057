#include "model/listing/tensor_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/hash.h"

namespace modelutils {

namespace {

// Returns the number of bytes per stored word: the element size, or 1 for blocks of several elements and unknown types.
u64 stored_word_bytes(const Tensor& tensor) {
  if (!tensor.type) return 1;
  const TypeInfo& type = type_info(*tensor.type);
  return type.block_elements == 1 && type.block_bytes <= 8 ? type.block_bytes : 1;
}

}  // namespace

ValueReader::ValueReader(const Model& model, const Tensor& tensor, bool raw)
    : model_(model),
      tensor_(tensor),
      values_of_tensor_(model.values_of(tensor)),
      form_(form_of(model, tensor, raw)),
      width_(stored_word_bytes(tensor)) {
  available_ = form_ == Form::decoded ? model.elements_of(tensor) : tensor.bytes / width_;
}

Status ValueReader::read_bytes(u64 offset, MutableBytes out) const {
  if (model_.catalog().big_endian) {
    return input_error("tensor-no-decoder", "values of a big-endian file cannot be decoded", at_tensor(tensor_.name));
  }
  return model_.catalog().read(tensor_, offset, out);
}

ValueReader::Form ValueReader::form_of(const Model& model, const Tensor& tensor, bool raw) {
  if (raw) return Form::unsigned_word;
  if (model.weight_of(tensor) != nullptr || !tensor.type) return Form::decoded;
  switch (*tensor.type) {
    case TensorType::U8:
    case TensorType::U16:
    case TensorType::U32:
    case TensorType::U64:
    case TensorType::BOOL: return Form::unsigned_word;
    case TensorType::I8:
    case TensorType::I16:
    case TensorType::I32:
    case TensorType::I64: return Form::signed_word;
    case TensorType::F64: return Form::f64;
    default: return Form::decoded;
  }
}

u64 ValueReader::unsigned_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<u8>(at);
    case 2: return load<u16>(at);
    case 4: return load<u32>(at);
    default: return load<u64>(at);
  }
}

i64 ValueReader::signed_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<i8>(at);
    case 2: return load<i16>(at);
    case 4: return load<i32>(at);
    default: return load<i64>(at);
  }
}

namespace {

// Calls `read_values` of one tensor and counts the bytes that it reads.
class CountedValues {
 public:
  CountedValues(const TensorValues& values, const Tensor& tensor, Progress& progress)
      : values_(values),
        progress_(progress),
        bytes_per_value_(static_cast<double>(tensor.bytes) / static_cast<double>(std::max<u64>(values.elements(), 1))) {
  }

  u64 elements() const { return values_.elements(); }
  Status read_values(u64 first, std::span<float> out) const {
    progress_.advance(static_cast<u64>(static_cast<double>(out.size()) * bytes_per_value_));
    return values_.read_values(first, out);
  }

 private:
  const TensorValues& values_;
  Progress& progress_;
  double bytes_per_value_;
};

Result<std::vector<u64>> histogram_of(const CountedValues& tensor, const Statistics& statistics) {
  std::vector<u64> bins;
  const double range = statistics.max - statistics.min;
  if (statistics.finite() == 0 || !(range > 0)) return bins;
  bins.resize(histogram_bins);
  const double scale = static_cast<double>(histogram_bins) / range;
  constexpr u64 piece = 16 * 1024;
  std::vector<float> values;
  for (u64 first = 0; first < tensor.elements(); first += values.size()) {
    values.resize(std::min(piece, tensor.elements() - first));
    MU_TRY(tensor.read_values(first, values));
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      const auto bin = static_cast<std::size_t>(std::max(0.0, (static_cast<double>(value) - statistics.min) * scale));
      ++bins[std::min(bin, histogram_bins - 1)];
    }
  }
  return bins;
}

// Collects a checksum and the all-zero rows while values are read in order.
class Passing {
 public:
  Passing(std::span<const u64> shape, u64 row) : row_(shape.size() > 1 ? row : 0) {
    for (const u64 size : shape) hash_.update(std::as_bytes(std::span(&size, 1)));
  }

  void take(std::span<const float> values) {
    hash_.update(std::as_bytes(values));
    if (row_ == 0) return;
    while (!values.empty()) {
      const std::size_t count = static_cast<std::size_t>(std::min<u64>(row_ - in_row_, values.size()));
      const auto part = values.first(count);
      is_dead_ = is_dead_ && std::ranges::all_of(part, [](float value) { return value == 0; });
      in_row_ += count;
      values = values.subspan(count);
      if (in_row_ < row_) continue;
      if (is_dead_) ++dead_rows_;
      in_row_ = 0;
      is_dead_ = true;
    }
  }

  u64 dead_rows() const { return dead_rows_; }
  std::string digest() { return hash_.digest(); }

 private:
  Hasher hash_{HashAlgorithm::xxh3};
  u64 row_;  // row length; 0: the tensor has no rows
  u64 in_row_ = 0, dead_rows_ = 0;
  bool is_dead_ = true;
};

void find_duplicates(std::vector<TensorStatistics>& rows) {
  std::map<std::string_view, const TensorStatistics*> known;
  for (TensorStatistics& row : rows) {
    if (row.digest.empty()) continue;
    const auto [first, is_new] = known.try_emplace(row.digest, &row);
    if (!is_new) row.duplicate_of = first->second;
  }
}

}  // namespace

std::string no_decoder_text(std::string_view type) {
  return fmt::format("values of type {} cannot be decoded", type);
}

Result<std::vector<TensorStatistics>> statistics_of(const Model& model, std::span<const ListedTensor> tensors,
                                                    Progress* progress, unsigned threads) {
  std::vector<TensorStatistics> rows(tensors.size());
  u64 bytes = 0;
  for (const ListedTensor& tensor : tensors) bytes += tensor.stored->is_readable() ? 2 * tensor.stored->bytes : 0;
  if (progress != nullptr) progress->restart("reading", bytes);
  Progress counted(progress);
  const Status done = parallel_for(tensors.size(), threads, [&](u64 item, unsigned) -> Status {
    TensorStatistics& row = rows[item];
    const Tensor& tensor = *tensors[item].stored;
    row.name = tensor.name;
    row.stored_type = tensor.type;
    if (!tensor.is_readable()) {
      row.type = tensors[item].type_name;
      row.shape.assign(tensors[item].shape().begin(), tensors[item].shape().end());
      row.problem = problem_text(tensor.unreadable);
      return {};
    }
    row.type = model.type_text(tensor);
    row.shape = model.in_file_order(model.ne_of(tensor));
    const MatrixValues stored = model.values_of(tensor);
    const CountedValues values(stored, tensor, counted);
    Passing passing(row.shape, tensor.ne.empty() ? 0 : model.ne_of(tensor).front());
    auto statistics = statistics_of(model.elements_of(tensor), [&](u64 first, std::span<float> out) -> Status {
      Status read = values.read_values(first, out);
      if (read) passing.take(out);
      return read;
    });
    if (statistics) {
      row.statistics = *statistics;
      row.dead_rows = passing.dead_rows();
      // Tensors often start as all ones or all zeros, so equal constants are not reported as duplicates.
      if (row.statistics.max > row.statistics.min) row.digest = passing.digest();
      MU_ASSIGN(row.histogram, histogram_of(values, row.statistics));
    } else if (statistics.error().code == "tensor-no-decoder") {
      row.problem = tensor.type ? std::move(statistics.error().message) : no_decoder_text(row.type);
    } else {
      return tl::make_unexpected(std::move(statistics.error()));
    }
    return {};
  });
  if (progress != nullptr) progress->finish();
  MU_TRY(done);
  find_duplicates(rows);
  return rows;
}

}  // namespace modelutils
