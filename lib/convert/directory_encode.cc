#include "convert/directory_encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "convert/measure_error.h"
#include "mlx/block_form.h"
#include "mlx/dequantize.h"
#include "mlx/quantize.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils::convert {

namespace {

constexpr u64 batch_elements = 4096;

void store(TensorType type, float value, std::byte* out) {
  if (type == TensorType::F32) {
    std::memcpy(out, &value, 4);
    return;
  }
  const u16 bits = type == TensorType::F16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(out, &bits, 2);
}

void store_all(TensorType type, std::span<const float> values, std::byte* out) {
  const u32 size = type_info(type).block_bytes;
  for (std::size_t i = 0; i < values.size(); ++i) store(type, values[i], out + i * size);
}

}  // namespace

EncodedSizes encoded_sizes(const DirectoryTensor& tensor, const StoredForm& form) {
  const u64 columns = tensor.row_elements();
  if (!form.is_packed()) return {columns * type_info(form.type).block_bytes, 0, 0};
  const u64 scales = columns / form.params.group_size * type_info(form.type).block_bytes;
  return {columns / 8 * form.params.bits, scales, form.params.mode == mlx::Mode::affine ? scales : 0};
}

Status DirectoryEncoder::encode(u64 first, u64 count, EncodedRows& out, MeasuredError* error) {
  const EncodedSizes sizes = encoded_sizes(tensor_, form_);
  out.weight.resize(count * sizes.weight);
  out.scales.resize(count * sizes.scales);
  out.biases.resize(count * sizes.biases);
  if (form_.way == FormWay::blocks) return encode_blocks(first, count, out);
  if (form_.way == FormWay::plain) return encode_plain(first, count, out, error);
  const u64 units = tensor_.units_of_row();
  MU_TRY(reader_.read_values(first * units, count * units, values_));
  encode_groups(out, error);
  return {};
}

Status DirectoryEncoder::encode_blocks(u64 first, u64 count, EncodedRows& out) {
  MU_TRY(reader_.read_rows(first, count, rows_));
  const TensorType type = *reader_.type();
  const TypeInfo& info = type_info(type);
  const u64 batch = std::max<u64>(batch_elements / info.block_elements, 1);
  const u64 blocks = rows_.size() / info.block_bytes;
  const u64 group = mlx::exact_params(type)->group_size;
  const bool is_affine = form_.params.mode == mlx::Mode::affine;
  const u32 scale_size = type_info(form_.type).block_bytes;
  std::array<u8, batch_elements> codes;
  std::array<float, batch_elements / 16> scales;
  std::array<float, batch_elements / 16> biases;
  for (u64 block = 0; block < blocks; block += batch) {
    const u64 here = std::min(batch, blocks - block);
    const Bytes bytes = Bytes(rows_).subspan(block * info.block_bytes, here * info.block_bytes);
    const u64 element = block * info.block_elements;
    const u64 elements = here * info.block_elements;
    const auto some = std::span(codes).first(elements);
    mlx::take_codes(type, bytes, some);
    mlx::pack_codes(
        form_.params.bits, some,
        MutableBytes(out.weight).subspan(element / 8 * form_.params.bits, elements / 8 * form_.params.bits));
    const u64 first_group = element / group;
    const u64 groups = elements / group;
    if (!is_affine) {
      mlx::take_scale_bytes(type, bytes, {reinterpret_cast<u8*>(out.scales.data()) + first_group, groups});
      continue;
    }
    mlx::take_scales(type, bytes, std::span(scales).first(groups), std::span(biases).first(groups));
    // Of merged groups the first one speaks.
    for (u64 g = (form_.merged - first_group % form_.merged) % form_.merged; g < groups; g += form_.merged) {
      const u64 at = (first_group + g) / form_.merged * scale_size;
      store(form_.type, scales[g], out.scales.data() + at);
      store(form_.type, biases[g], out.biases.data() + at);
    }
  }
  return {};
}

Status DirectoryEncoder::encode_plain(u64 first, u64 count, EncodedRows& out, MeasuredError* error) {
  const bool is_copy =
      !tensor_.by_element && reader_.type() == form_.type && tensor_.operation == arch::Operation::none;
  if (is_copy) return reader_.read_rows(first, count, out.weight);
  const u64 units = tensor_.units_of_row();
  MU_TRY(reader_.read_values(first * units, count * units, values_));
  store_all(form_.type, values_, out.weight.data());
  if (error == nullptr) return {};
  std::vector<float> carried(values_.size());
  dequantize(form_.type, out.weight, carried);
  measure(values_, carried, *error);
  return {};
}

void DirectoryEncoder::encode_groups(EncodedRows& out, MeasuredError* error) {
  const mlx::Params& params = form_.params;
  const u32 scale_size = type_info(form_.type).block_bytes;
  std::array<u8, 128> codes;
  std::array<float, 128> carried;
  const auto some = std::span(codes).first(params.group_size);
  for (u64 g = 0; g * params.group_size < values_.size(); ++g) {
    const std::span<const float> values = std::span(values_).subspan(g * params.group_size, params.group_size);
    if (params.mode == mlx::Mode::affine) {
      const mlx::ScaleAndBias lattice =
          form_.way == FormWay::search
              ? mlx::search_two_scales(values.first<32>(), form_.type, std::span(codes).first<32>())
              : mlx::quantize_affine(params.bits, values, form_.type, some);
      store(form_.type, lattice.scale, out.scales.data() + g * scale_size);
      store(form_.type, lattice.bias, out.biases.data() + g * scale_size);
    } else {
      out.scales[g] = static_cast<std::byte>(mlx::quantize_fp(params.mode, values, some));
    }
    const MutableBytes packed = MutableBytes(out.weight).subspan(g * params.group_bytes(), params.group_bytes());
    mlx::pack_codes(params.bits, some, packed);
    if (error == nullptr) continue;
    const auto parts = [&](const std::vector<std::byte>& all) {
      return all.empty() ? Bytes() : Bytes(all).subspan(g * scale_size, scale_size);
    };
    const std::span<float> found = std::span(carried).first(params.group_size);
    mlx::dequantize(params, {packed, form_.type, parts(out.scales), form_.type, parts(out.biases)}, found);
    measure(values, found, *error);
  }
}

}  // namespace modelutils::convert
