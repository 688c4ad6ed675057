#include "to_directory/encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "mlx/block_form.h"
#include "mlx/dequantize.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "transfer/value_sums.h"

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
