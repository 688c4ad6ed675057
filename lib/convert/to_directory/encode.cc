#include "convert/to_directory/encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "convert/transfer/recipe.h"
#include "model/mlx/block_form.h"
#include "model/mlx/quantization.h"
#include "model/mlx/quantize.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "tensor/value_sums.h"

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

namespace modelutils::to_directory {

namespace {

constexpr u64 batch_elements = 4096;
// Values processed at a time, so that they stay in the L2 cache.
constexpr u64 value_elements = u64{32} << 10;

}  // namespace

EncodedSizes encoded_sizes(const DirectoryTensor& tensor, const DirectoryForm& form) {
  const u64 columns = tensor.row_elements();
  if (!form.is_packed()) return {columns * type_info(form.type).block_bytes, 0, 0};
  const u64 scales = columns / form.params.group_size * type_info(form.type).block_bytes;
  return {columns / 8 * form.params.bits, scales, form.params.mode == mlx::Mode::affine ? scales : 0};
}

Status DirectoryEncoder::encode(u64 first, u64 count, const EncodedPiece& out, ValueSums* error) {
  const EncodedSizes sizes = encoded_sizes(tensor_, form_);
  if (form_.way == FormWay::blocks) return encode_blocks(first, count, out);
  const bool is_copy = form_.way == FormWay::plain && !tensor_.by_element && reader_.type() == form_.type &&
                       tensor_.operation == arch::Operation::none;
  if (is_copy) return reader_.read_rows(first, count, out.weight);
  const u64 units = tensor_.units_of_row();
  // With `by_element`, reads all requested rows at once, since each source block serves many of them.
  const u64 step = tensor_.by_element ? count : std::max<u64>(value_elements / tensor_.row_elements(), 1);
  for (u64 done = 0; done < count; done += step) {
    const u64 here = std::min(step, count - done);
    MU_TRY(reader_.read_values((first + done) * units, here * units, values_));
    if (error != nullptr) {
      error->dd += reader_.rounding().squared_error;
      error->max_abs = std::max(error->max_abs, reader_.rounding().max_abs);
    }
    const EncodedPiece piece = {out.weight.subspan(done * sizes.weight, here * sizes.weight),
                                out.scales.subspan(done * sizes.scales, here * sizes.scales),
                                out.biases.subspan(done * sizes.biases, here * sizes.biases)};
    if (form_.way == FormWay::plain) {
      encode_plain(piece, error);
    } else {
      encode_groups(piece, error);
    }
  }
  return {};
}

Status DirectoryEncoder::encode_blocks(u64 first, u64 count, const EncodedPiece& out) {
  const TensorType type = *reader_.type();
  rows_.resize(count * *row_bytes(type, tensor_.unit));
  MU_TRY(reader_.read_rows(first, count, rows_));
  const TypeInfo& info = type_info(type);
  const u64 batch = std::max<u64>(batch_elements / info.block_elements, 1);
  const u64 blocks = rows_.size() / info.block_bytes;
  const u64 group = mlx::exact_params(type)->group_size;
  const bool is_affine = form_.params.mode == mlx::Mode::affine;
  const u32 scale_size = type_info(form_.type).block_bytes;
  std::array<float, batch_elements / 16> scales;
  std::array<float, batch_elements / 16> biases;
  for (u64 block = 0; block < blocks; block += batch) {
    const u64 here = std::min(batch, blocks - block);
    const Bytes bytes = Bytes(rows_).subspan(block * info.block_bytes, here * info.block_bytes);
    const u64 element = block * info.block_elements;
    const u64 elements = here * info.block_elements;
    mlx::take_packed(type, form_.params.bits, bytes,
                     out.weight.subspan(element / 8 * form_.params.bits, elements / 8 * form_.params.bits));
    const u64 first_group = element / group;
    const u64 groups = elements / group;
    if (!is_affine) {
      mlx::take_scale_bytes(type, bytes, {reinterpret_cast<u8*>(out.scales.data()) + first_group, groups});
      continue;
    }
    mlx::take_scales(type, bytes, std::span(scales).first(groups), std::span(biases).first(groups));
    // A merged group takes the scale and bias of the first group in it.
    const u64 skipped = (form_.merged - first_group % form_.merged) % form_.merged;
    const u64 at = (first_group + skipped) / form_.merged * scale_size;
    u64 kept = 0;
    for (u64 g = skipped; g < groups; g += form_.merged, ++kept) {
      scales[kept] = scales[g];
      biases[kept] = biases[g];
    }
    narrow(form_.type, std::span(scales).first(kept), out.scales.data() + at);
    narrow(form_.type, std::span(biases).first(kept), out.biases.data() + at);
  }
  return {};
}

void DirectoryEncoder::encode_plain(const EncodedPiece& out, ValueSums* error) {
  if (form_.type == TensorType::I64) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto number = static_cast<i64>(values_[i]);
      std::memcpy(out.weight.data() + i * sizeof number, &number, sizeof number);
    }
    return;
  }
  narrow(form_.type, values_, out.weight.data());
  if (error == nullptr) return;
  carried_.resize(values_.size());
  dequantize(form_.type, out.weight, carried_);
  measure(values_, carried_, *error);
}

void DirectoryEncoder::quantize_groups(std::span<const float> values, std::span<u8> codes,
                                       std::span<mlx::ScaleAndBias> lattices) const {
  if (form_.way == FormWay::search) return mlx::search_two_scales(values, form_.type, lattices, codes);
  const mlx::Params& params = form_.params;
  for (std::size_t g = 0; g < lattices.size(); ++g) {
    const u64 first = g * params.group_size;
    lattices[g] = mlx::quantize_affine(params.bits, values.subspan(first, params.group_size), form_.type,
                                       codes.subspan(first, params.group_size));
  }
}

void DirectoryEncoder::encode_groups(const EncodedPiece& out, ValueSums* error) {
  const mlx::Params& params = form_.params;
  const u32 scale_size = type_info(form_.type).block_bytes;
  std::array<u8, batch_elements> codes;
  std::array<mlx::ScaleAndBias, batch_elements / 16> lattices;
  std::array<float, batch_elements / 16> parts;
  for (u64 element = 0; element < values_.size(); element += batch_elements) {
    const u64 elements = std::min<u64>(batch_elements, values_.size() - element);
    const u64 first_group = element / params.group_size;
    const u64 groups = elements / params.group_size;
    const std::span<const float> values = std::span(values_).subspan(element, elements);
    const auto some = std::span(codes).first(elements);
    if (params.mode == mlx::Mode::affine) {
      const auto found = std::span(lattices).first(groups);
      quantize_groups(values, some, found);
      const auto store = [&](float mlx::ScaleAndBias::*part, MutableBytes to) {
        for (std::size_t g = 0; g < groups; ++g) parts[g] = found[g].*part;
        narrow(form_.type, std::span(parts).first(groups), to.data() + first_group * scale_size);
      };
      store(&mlx::ScaleAndBias::scale, out.scales);
      store(&mlx::ScaleAndBias::bias, out.biases);
    } else {
      for (std::size_t g = 0; g < groups; ++g) {
        const u64 at = g * params.group_size;
        out.scales[first_group + g] = static_cast<std::byte>(
            mlx::quantize_fp(params.mode, values.subspan(at, params.group_size), some.subspan(at, params.group_size)));
      }
    }
    mlx::pack_codes(params.bits, some, out.weight.subspan(element / 8 * params.bits, elements / 8 * params.bits));
  }
  if (error == nullptr) return;
  carried_.resize(values_.size());
  mlx::dequantize(params, {out.weight, form_.type, out.scales, form_.type, out.biases}, carried_);
  measure(values_, carried_, *error);
}

}  // namespace modelutils::to_directory
