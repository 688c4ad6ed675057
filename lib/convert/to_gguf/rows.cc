#include "convert/to_gguf/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "convert/to_gguf/forms.h"
#include "convert/transfer/recipe.h"
#include "model/forms/gathered_plane.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

// Rows of all parts, read at once because they are packed across the lines of their files.
struct Windows {
  std::vector<std::array<GatheredPieces, max_planes>> parts;

  const GatheredPieces* of(std::size_t part, std::size_t plane) const {
    return part < parts.size() ? &parts[part][plane] : nullptr;
  }
};

void decode(const Weight& matrix, const StoredRows& rows, std::span<float> out) {
  form_info(matrix.form).decode(matrix.form, matrix.columns(), planes_of(rows), out);
}

// Some rows of one part of a tensor that is read whole, as float32 in source order.
struct Elements {
  u64 first = 0;  ///< number of the first row
  std::vector<float> values;
};

// Reads the rows from the lowest element of a view to the highest.
Result<Elements> read_elements(const HfModel& model, const Weight& matrix, const arch::RowView& view) {
  u64 highest = view.base;
  for (const arch::RowView::Axis& axis : view.axes) highest += (axis.count - 1) * axis.stride;
  const u64 columns = std::max<u64>(matrix.columns(), 1);
  const u64 first = view.base / columns;
  const u64 count = highest / columns + 1 - first;
  StoredRows rows;
  MU_TRY(read_rows(model.model->stored(matrix), first, count, rows));
  Elements elements{first * columns, std::vector<float>(static_cast<std::size_t>(count * columns))};
  decode(matrix, rows, elements.values);
  return elements;
}

}  // namespace

PlaneLayout layout_of(const Weight& matrix, std::size_t plane, u64 source_rows) {
  const PlaneLayout layout = form_info(matrix.form).plane(matrix.form, plane, matrix.columns());
  const bool follows_rows = layout.rows == 1 && layout.gather.kind == Gather::Kind::none;
  return follows_rows ? PlaneLayout{matrix.planes[plane]->bytes / source_rows} : layout;
}

u64 row_granule(const MappedTensor& tensor) {
  u64 granule = 1;
  if (tensor.is_whole || tensor.is_transposed) return granule;
  for (const RecipePart& part : tensor.parts) granule = std::max(granule, part.from.dense_rows());
  return granule / std::gcd(granule, tensor.pieces());
}

namespace {

// Integer codes converted at a time, if stored row by row, so that they and their output fit the L2 cache.
constexpr u64 cached_codes = u64{256} << 10;

const IntegerParams* integers_of(const HfModel& model, const MappedTensor& tensor) {
  if (tensor.parts.empty() || tensor.is_whole || tensor.is_transposed || tensor.pieces() != 1) return nullptr;
  const StoredForm& form = model.matrices[tensor.parts.front().source].form;
  return form.kind == FormKind::integers ? &form.integers : nullptr;
}

u64 code_granule(const MappedTensor& tensor) {
  return std::lcm(row_granule(tensor), u64{8});  // a word holds eight codes
}

u64 cached_rows(const MappedTensor& tensor) {
  const u64 granule = code_granule(tensor);
  return std::max<u64>(cached_codes / std::max<u64>(tensor.columns(), 1) / granule, 1) * granule;
}

}  // namespace

u64 rows_at_once(const HfModel& model, const MappedTensor& tensor, u64 out_row_bytes, unsigned threads) {
  const IntegerParams* const integers = integers_of(model, tensor);
  if (integers == nullptr) return 0;
  if (!lies_across(integers->codes)) return cached_rows(tensor);
  constexpr u64 most_bytes = u64{64} << 20;
  const u64 columns = std::max<u64>(tensor.columns(), 1);
  u64 row_bytes = columns * integers->bits / 8 + out_row_bytes;
  if (tensor.merge != nullptr || tensor.is_scaled) row_bytes += columns * (1 + 2 * sizeof(float));
  const u64 granule = code_granule(tensor);
  const u64 most = std::max<u64>(most_bytes / std::max(threads, 1u) / row_bytes / granule, 1) * granule;
  // Equal chunks, instead of a small one at the end.
  const u64 chunks = tensor.rows() / most + (tensor.rows() % most != 0 ? 1 : 0);
  const u64 rows = tensor.rows() / std::max<u64>(chunks, 1);
  return std::min(most, rows / granule * granule + (rows % granule != 0 || chunks > 1 ? granule : 0));
}

namespace {

// Divides the values by their length, as torch's normalize() does.
void make_unit(std::span<float> values) {
  constexpr double at_least = 1e-12;
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  const double length = std::max(std::sqrt(sum), at_least);
  for (float& value : values) value = static_cast<float>(value / length);
}

// Applies factors and lengths to `rows`, which become elements of values_type().
Status scale_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& rows) {
  const Weight& matrix = model.matrices[tensor.parts.front().source];
  std::vector<float> values(static_cast<std::size_t>(count * tensor.columns()));
  decode(matrix, rows, values);
  // A scaled tensor has few parts, with one factor each.
  const u64 first_element = first * tensor.columns();
  for (const RecipePart& part : tensor.parts) {
    const float factor = part.factor_of(0);
    const u64 from = std::max(first_element, part.to.base * tensor.unit);
    const u64 to = std::min(first_element + values.size(), (part.to.base + part.units()) * tensor.unit);
    for (u64 i = from; i < to; ++i) values[static_cast<std::size_t>(i - first_element)] *= factor;
  }
  for (std::size_t i = 0; !tensor.column_lengths.empty() && i < values.size(); ++i) {
    values[i] /= tensor.column_lengths[i % tensor.column_lengths.size()];
  }
  for (u64 row = 0; tensor.has_unit_rows && row < count; ++row) {
    make_unit(std::span(values).subspan(static_cast<std::size_t>(row * tensor.columns()),
                                        static_cast<std::size_t>(tensor.columns())));
  }
  const TensorType type = values_type(matrix);
  rows.values().resize(values.size() * type_info(type).block_bytes);
  if (type == TensorType::F32) {
    std::memcpy(rows.values().data(), values.data(), rows.values().size());
    return {};
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const u16 half = type == TensorType::F16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
    std::memcpy(rows.values().data() + 2 * i, &half, 2);
  }
  return {};
}

// `first` and `count` are in units: rows, or pieces of rows.
Status read_raw_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out,
                     const Windows* windows = nullptr) {
  const Weight& kind = model.matrices[tensor.parts.front().source];
  std::array<PlaneLayout, max_planes> layouts;
  for (std::size_t i = 0; i < max_planes; ++i) {
    layouts[i] = layout_of(kind, i, tensor.parts.front().from.source_rows);
    out.planes[i].resize(count * layouts[i].line_bytes);
  }
  for (std::size_t number = 0; number < tensor.parts.size(); ++number) {
    const RecipePart& part = tensor.parts[number];
    if (part.to.base >= first + count || part.to.base + part.units() <= first) continue;
    const PartUnits units(part);
    const Weight& matrix = model.matrices[part.source];
    for (std::size_t i = 0; i < max_planes; ++i) {
      const StoredPlane plane = model.plane(*matrix.planes[i]);
      const GatheredPieces* const window = windows == nullptr ? nullptr : windows->of(number, i);
      MU_TRY(gather_units(units, first, count, layouts[i].line_bytes, out.planes[i],
                          [&](u64 unit, u64 some, MutableBytes to) -> Status {
                            if (window == nullptr || window->count == 0) {
                              return read_lines(plane, layouts[i], unit, some, to);
                            }
                            gather_rows(layouts[i].gather, *window, unit, some, to);
                            return {};
                          }));
    }
  }
  return {};
}

// Reads the planes that are packed across rows [first, first + count) of a tensor. Skips parts whose rows are scattered
// over the source.
Status read_windows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, Windows& out) {
  out.parts.resize(tensor.parts.size());
  for (std::size_t number = 0; number < tensor.parts.size(); ++number) {
    const RecipePart& part = tensor.parts[number];
    const Weight& matrix = model.matrices[part.source];
    const u64 from = std::max(first, part.to.base);
    const u64 to = std::min(first + count, part.to.base + part.units());
    u64 lowest = ~u64{0};
    u64 highest = 0;
    for (u64 row = from; row < to; ++row) {
      const u64 source = part.from.source_row(row - part.to.base);
      lowest = std::min(lowest, source);
      highest = std::max(highest, source);
    }
    const bool is_together = from < to && highest - lowest < 2 * (to - from);
    for (std::size_t i = 0; i < max_planes; ++i) {
      GatheredPieces& window = out.parts[number][i];
      window.count = 0;
      const PlaneLayout layout = layout_of(matrix, i, part.from.source_rows);
      if (!is_together || layout.line_bytes == 0 || !lies_across(layout.gather)) continue;
      const StoredPlane plane = model.plane(*matrix.planes[i]);
      MU_TRY(read_pieces(*plane.file, plane.offset, layout.gather, lowest, highest - lowest + 1, window));
    }
  }
  return {};
}

}  // namespace

Status for_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                       const TakeRowsOf& take) {
  const IntegerParams* const integers = integers_of(model, tensor);
  const u64 some = integers == nullptr || !lies_across(integers->codes) ? count : cached_rows(tensor);
  if (some >= count || tensor.has_computed_rows()) {
    MU_TRY(read_stored_rows(model, tensor, first, count, scratch));
    take(0, count);
    return {};
  }
  static thread_local Windows windows;  // reused by the next call
  MU_TRY(read_windows(model, tensor, first, count, windows));
  for (u64 done = 0; done < count; done += some) {
    const u64 now = std::min(some, count - done);
    MU_TRY(read_raw_rows(model, tensor, first + done, now, scratch, &windows));
    take(done, now);
  }
  return {};
}

namespace {

Status read_unmerged_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  if (tensor.is_transposed) return read_transposed_rows(model, tensor, first, count, out);
  MU_TRY(read_raw_rows(model, tensor, first * tensor.pieces(), count * tensor.pieces(), out));
  return tensor.is_scaled ? scale_rows(model, tensor, first, count, out) : Status{};
}

}  // namespace

TensorType computed_type(const HfModel& model, const MappedTensor& tensor) {
  return tensor.merge != nullptr ? TensorType::F32 : values_type(model.matrices[tensor.parts.front().source]);
}

Status read_merged_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                        const TakeValues& take) {
  MU_TRY(read_unmerged_rows(model, tensor, first, count, scratch));
  const Weight& matrix = model.matrices[tensor.parts.front().source];
  const bool is_computed = tensor.is_transposed || tensor.is_scaled;
  const bool is_plain = is_computed || matrix.form.is_plain();
  const TensorType type = is_computed ? values_type(matrix) : matrix.form.type();
  // Plain values are handled in steps small enough that they and the results stay in the cache.
  const u64 columns = std::max<u64>(tensor.columns(), 1);
  const u64 step = is_plain ? std::clamp<u64>((u64{1} << 17) / columns, 1, std::max<u64>(count, 1)) : count;
  const std::size_t row_bytes = count == 0 ? 0 : scratch.values().size() / count;
  // Kept for the next call, because the system would reclaim freed memory of this size and clear it again.
  static thread_local std::vector<float> values;
  for (u64 done = 0; done < count; done += step) {
    const u64 now = std::min(step, count - done);
    values.resize(static_cast<std::size_t>(now * columns));
    if (is_plain) {
      dequantize(type, Bytes(scratch.values()).subspan(done * row_bytes, now * row_bytes), values);
    } else {
      decode(matrix, scratch, values);
    }
    MU_TRY(tensor.merge->apply(first + done, now, values));
    take(done, values);
  }
  return {};
}

Status read_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  if (tensor.merge == nullptr) return read_unmerged_rows(model, tensor, first, count, out);
  StoredRows rows;
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.columns()) * sizeof(float);
  out.values().resize(static_cast<std::size_t>(count) * row_bytes);
  return read_merged_rows(model, tensor, first, count, rows, [&](u64 row, std::span<const float> values) {
    std::memcpy(out.values().data() + row * row_bytes, values.data(), values.size_bytes());
  });
}

void decode_rows(const HfModel& model, const MappedTensor& tensor, const StoredRows& rows, std::span<float> out) {
  if (tensor.has_computed_rows()) return dequantize(computed_type(model, tensor), rows.values(), out);
  decode(model.matrices[tensor.parts.front().source], rows, out);
}

Result<std::vector<float>> read_whole(const HfModel& model, const MappedTensor& tensor) {
  if (tensor.parts.empty()) return tensor.values;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(tensor.columns() * tensor.rows()));
  for (const RecipePart& part : tensor.parts) {
    // An adapter changes whole vectors.
    const arch::RowView view = tensor.merge != nullptr ? arch::whole_view(part.from.source_rows) : part.from;
    MU_ASSIGN(Elements source, read_elements(model, model.matrices[part.source], view));
    if (tensor.is_product && !values.empty()) {
      for (u64 i = 0; i < part.units(); ++i) {
        values[static_cast<std::size_t>(part.to.base + i)] *=
            source.values[static_cast<std::size_t>(part.from.source_row(i) - source.first)];
      }
      continue;
    }
    if (tensor.merge != nullptr) MU_TRY(tensor.merge->apply_vector(source.values));
    for (u64 i = 0; i < part.units(); ++i) {
      const u64 element = part.from.source_row(i);
      const float value = source.values[static_cast<std::size_t>(element - source.first)];
      values.push_back(apply_operation(tensor.operation, tensor.operand, value) * part.factor_of(element));
    }
  }
  return values;
}

Result<std::vector<float>> column_lengths(const HfModel& model, const MappedTensor& tensor) {
  constexpr float at_least = 1e-7f;  // the epsilon that mlx-lm adds
  constexpr u64 values_at_once = u64{1} << 16;
  const u64 columns = tensor.columns();
  const u64 step =
      std::max<u64>(values_at_once / std::max<u64>(columns, 1) / row_granule(tensor), 1) * row_granule(tensor);
  std::vector<double> sums(static_cast<std::size_t>(columns));
  std::vector<float> values;
  StoredRows rows;
  for (u64 first = 0; first < tensor.rows(); first += step) {
    const u64 count = std::min(step, tensor.rows() - first);
    MU_TRY(read_stored_rows(model, tensor, first, count, rows));
    values.resize(static_cast<std::size_t>(count * columns));
    decode_rows(model, tensor, rows, values);
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += static_cast<double>(values[i]) * values[i];
  }
  std::vector<float> lengths;
  for (const double sum : sums) lengths.push_back(static_cast<float>(std::sqrt(sum)) + at_least);
  return lengths;
}

Result<MappedTensor> scale_tensor(const HfModel& model, const MappedTensor& tensor) {
  MappedTensor scale;
  scale.name = tensor.name.substr(0, tensor.name.rfind('.')) + ".scale";
  scale.ne = {tensor.parts.size()};
  scale.must_be_f32 = scale.is_whole = true;
  for (const RecipePart& part : tensor.parts) {
    const Weight& matrix = model.matrices[part.source];
    const bool is_nvfp4 = matrix.form.kind == FormKind::nvfp4;
    const Tensor& factor = *matrix.planes[is_nvfp4 ? 2 : 1];
    std::array<std::byte, sizeof(float)> bytes{};
    MU_TRY(
        model.model->catalog().read(factor, 0, MutableBytes(bytes).first(std::min<u64>(factor.bytes, bytes.size()))));
    scale.values.push_back(is_nvfp4 ? nvfp4_factor(matrix.form, bytes.data())
                                    : scale_at(matrix.form.types[1], bytes.data()));
  }
  return scale;
}

Result<std::vector<float>> read_numbers(const HfModel& model, const LayerNumbers& numbers) {
  std::vector<float> values;
  for (const std::size_t matrix : numbers.matrices) {
    MU_ASSIGN(const Elements one, read_elements(model, model.matrices[matrix], arch::whole_view(1)));
    values.push_back(one.values.front());
  }
  return values;
}

namespace {

class MappedValues : public TensorValues {
 public:
  MappedValues(const HfModel& model, const MappedTensor& tensor)
      : TensorValues(form_of_rows(model, tensor), tensor.columns() * tensor.rows(),
                     tensor.columns() * (tensor.is_whole ? tensor.rows() : row_granule(tensor))),
        model_(model),
        tensor_(tensor) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    if (!tensor_.is_whole) {
      const u64 granule = row_granule(tensor_);
      return read_stored_rows(model_, tensor_, first * granule, count * granule, out);
    }
    MU_ASSIGN(const std::vector<float> values, read_whole(model_, tensor_));
    out.values().resize(values.size() * sizeof(float));
    std::memcpy(out.values().data(), values.data(), out.values().size());
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    if (tensor_.is_whole) {
      std::memcpy(out.data(), rows.values().data(), out.size_bytes());
    } else {
      decode_rows(model_, tensor_, rows, out);
    }
  }

 private:
  static StoredForm form_of_rows(const HfModel& model, const MappedTensor& tensor) {
    if (tensor.is_whole) return plain_form(TensorType::F32);
    const Weight& matrix = model.matrices[tensor.parts.front().source];
    return tensor.has_computed_rows() ? plain_form(computed_type(model, tensor)) : matrix.form;
  }

  const HfModel& model_;
  const MappedTensor& tensor_;
};

}  // namespace

std::unique_ptr<TensorValues> values_of(const HfModel& model, const MappedTensor& tensor) {
  return std::make_unique<MappedValues>(model, tensor);
}

}  // namespace modelutils
