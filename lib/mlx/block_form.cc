#include "mlx/block_form.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "mlx/block_codes.h"
#include "tensor/block_fields.h"
#include "tensor/half.h"
#include "tensor/narrow.h"

namespace modelutils::mlx {

namespace {

float half_at(const u8* at) {
  return f16_to_f32(load<u16>(at));
}

void k_blocks(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  const float dmin = half_at(block + 2);
  for (u32 k = 0; k < 8; ++k) {
    const ScaleAndMin pair = scale_and_min(block + 4, k);
    scales[k] = d * static_cast<float>(pair.scale);
    biases[k] = -(dmin * static_cast<float>(pair.min));
  }
}

// The product of a 6-bit scale and a 3-bit code gives an 8-bit code, counted down from 128.
void q3_k(const u8* block, float* scales, float* biases) {
  const float d = half_at(block + 108);
  scales[0] = scales[1] = -d;
  biases[0] = biases[1] = 128.0f * d;
}

// Two groups with the scale at offset AT. The middle of the three levels is 0.
template <u32 AT>
void ternary(const u8* block, float* scales, float* biases) {
  scales[0] = scales[1] = half_at(block + AT);
  biases[0] = biases[1] = -scales[0];
}

void iq4_xs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = d * static_cast<float>(iq4_xs_scale(block, g));
    biases[g] = -128.0f * scales[g];
  }
}

void iq2_xxs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = d * (0.5f + static_cast<float>(load<u32>(block + 6 + 8 * g) >> 28)) * 0.25f;
    biases[g] = -128.0f * scales[g];
  }
}

void iq3_xxs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = 2.0f * (d * (0.5f + static_cast<float>(load<u32>(block + 66 + 4 * g) >> 28)) * 0.5f);
    biases[g] = -31.0f * scales[g];
  }
}

void iq3_s(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    const int scale = block[106 + g / 2] >> (4 * (g % 2)) & 15;
    const float db = d * static_cast<float>(1 + 2 * scale);
    scales[g] = 2.0f * db;
    biases[g] = -15.0f * db;
  }
}

void iq1_s(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    const u32 word = load<u16>(block + 34 + 2 * g);
    scales[g] = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
    biases[g] = scales[g] * ((word & 0x8000) != 0 ? -1.125f : -0.875f);
  }
}

void iq1_m(const u8* block, float* scales, float* biases) {
  const float d = iq1_m_scales(block).d();
  scales[0] = scales[1] = 0.25f * d;
  biases[0] = biases[1] = -135.0f * d / 8.0f;
}

using TakeScales = void(const u8* block, float* scales, float* biases);

// For blocks that are one group: `scale` is a multiple of the F16 at the block's start, `bias` a multiple of the F16 at
// `bias_at`.
struct OneGroup {
  float scale = 0;
  u32 bias_at = 0;
  float bias = 0;
};
constexpr OneGroup with_offset = {1, 2, 1};
// The middle code is 0.
constexpr OneGroup symmetric(int zero) {
  return {1, 0, static_cast<float>(-zero)};
}

// One row of the table: the parameters of a type, and the function that extracts its scales.
struct Form {
  TensorType type;
  Params params;
  TakeScales* scales = nullptr;  // null if one_group describes them, and in the FP modes
  OneGroup one_group = {};
  bool has_products = false;  // scales are products of two numbers in the block
};
constexpr Form forms[] = {
    {TensorType::Q4_0, {Mode::affine, 4, 32}, nullptr, symmetric(8)},
    {TensorType::Q4_1, {Mode::affine, 4, 32}, nullptr, with_offset},
    {TensorType::Q5_0, {Mode::affine, 5, 32}, nullptr, symmetric(16)},
    {TensorType::Q5_1, {Mode::affine, 5, 32}, nullptr, with_offset},
    {TensorType::Q8_0, {Mode::affine, 8, 32}, nullptr, symmetric(128)},
    {TensorType::Q3_K, {Mode::affine, 8, 128}, q3_k},
    {TensorType::Q4_K, {Mode::affine, 4, 32}, k_blocks, {}, true},
    {TensorType::Q5_K, {Mode::affine, 5, 32}, k_blocks, {}, true},
    {TensorType::IQ4_NL, {Mode::affine, 8, 32}, nullptr, symmetric(128)},
    {TensorType::IQ4_XS, {Mode::affine, 8, 32}, iq4_xs, {}, true},
    {TensorType::IQ2_XXS, {Mode::affine, 8, 32}, iq2_xxs, {}, true},
    {TensorType::IQ3_XXS, {Mode::affine, 6, 32}, iq3_xxs, {}, true},
    {TensorType::IQ3_S, {Mode::affine, 4, 32}, iq3_s, {}, true},
    {TensorType::IQ1_S, {Mode::affine, 2, 32}, iq1_s, {}, true},
    {TensorType::IQ1_M, {Mode::affine, 8, 128}, iq1_m, {}, true},
    {TensorType::TQ1_0, {Mode::affine, 2, 128}, ternary<52>},
    {TensorType::TQ2_0, {Mode::affine, 2, 128}, ternary<64>},
    {TensorType::Q1_0, {Mode::affine, 2, 128}, nullptr, {2, 0, -1}},
    {TensorType::Q2_0, {Mode::affine, 2, 64}, nullptr, symmetric(1)},
    {TensorType::MXFP4, {Mode::mxfp4, 4, 32}},
    {TensorType::NVFP4, {Mode::nvfp4, 4, 16}},
};

const Form* form_of(TensorType type) {
  const auto* found =
      std::find_if(std::begin(forms), std::end(forms), [&](const Form& form) { return form.type == type; });
  return found == std::end(forms) ? nullptr : found;
}

}  // namespace

std::optional<Params> exact_params(TensorType type) {
  const Form* form = form_of(type);
  return form == nullptr ? std::nullopt : std::optional(form->params);
}

bool has_product_scales(TensorType type) {
  const Form* form = form_of(type);
  return form != nullptr && form->has_products;
}

void take_scales(TensorType type, Bytes blocks, std::span<float> scales, std::span<float> biases,
                 Instructions instructions) {
  const Form& form = *form_of(type);
  const TypeInfo& info = type_info(type);
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  if (form.scales == nullptr) {
    widen_f16(blocks.data(), info.block_bytes, scales, instructions);
    if (form.one_group.bias_at == 0) {
      std::copy(scales.begin(), scales.end(), biases.begin());
    } else {
      widen_f16(blocks.data() + form.one_group.bias_at, info.block_bytes, biases, instructions);
    }
    for (float& scale : scales) scale *= form.one_group.scale;
    for (float& bias : biases) bias *= form.one_group.bias;
    return;
  }
  const u32 groups = info.block_elements / form.params.group_size;
  for (std::size_t g = 0; g + groups <= scales.size(); g += groups, in += info.block_bytes) {
    form.scales(in, scales.data() + g, biases.data() + g);
  }
}

void take_scale_bytes(TensorType type, Bytes blocks, std::span<u8> scales) {
  const u32 groups = type_info(type).block_elements / form_of(type)->params.group_size;
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  for (std::size_t g = 0; g + groups <= scales.size(); g += groups, in += type_info(type).block_bytes) {
    std::copy_n(in, groups, scales.data() + g);
  }
}

u64 foreign_scale_bytes(TensorType type, std::span<const u8> scales) {
  const u8 first = type == TensorType::MXFP4 ? 0xFF : 0x7F;
  return static_cast<u64>(std::count_if(scales.begin(), scales.end(), [&](u8 scale) { return scale >= first; }));
}

void take_codes(TensorType type, Bytes blocks, std::span<u8> codes) {
  const TypeInfo& info = type_info(type);
  TakeCodes* const take = codes_of(type);
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  for (std::size_t i = 0; i + info.block_elements <= codes.size(); i += info.block_elements, in += info.block_bytes) {
    take(in, codes.data() + i);
  }
}

void pack_codes(u32 bits, std::span<const u8> codes, MutableBytes packed) {
  const u8* in = codes.data();
  u8* out = reinterpret_cast<u8*>(packed.data());
  switch (bits) {
    case 8: std::copy_n(in, codes.size(), out); return;
    case 4:
      for (std::size_t i = 0; i < codes.size() / 2; ++i) out[i] = static_cast<u8>(in[2 * i] | in[2 * i + 1] << 4);
      return;
    case 2:
      for (std::size_t i = 0; i < codes.size() / 4; ++i, in += 4) {
        out[i] = static_cast<u8>(in[0] | in[1] << 2 | in[2] << 4 | in[3] << 6);
      }
      return;
    default: break;
  }
  for (std::size_t i = 0; i < codes.size(); i += 8, out += bits) {
    const u64 word = join_codes(load<u64>(in + i), bits);
    for (u32 k = 0; k < bits; ++k) out[k] = static_cast<u8>(word >> (8 * k));
  }
}

}  // namespace modelutils::mlx
