// Packed matrices for tests, with exact values computed by slow reference code: bit by bit, with f16 and f8 in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "convert/transfer/mlx_target.h"
#include "model/forms/stored_form.h"
#include "tensor/half.h"

namespace modelutils::test {

using Buffer = std::vector<std::byte>;

inline double slow_small_float(u32 code, int exponent_bits, int mantissa_bits, int bias) {
  const u32 mantissa = code % (1u << mantissa_bits);
  const int exponent = static_cast<int>((code >> mantissa_bits) % (1u << exponent_bits));
  const double fraction = mantissa / std::ldexp(1.0, mantissa_bits) + (exponent == 0 ? 0 : 1);
  const double value = std::ldexp(fraction, (exponent == 0 ? 1 : exponent) - bias);
  return (code >> (exponent_bits + mantissa_bits)) % 2 != 0 ? -value : value;
}

inline StoredForm stored_form(const MlxForm& form) {
  return mlx_form(form.params, TensorType::U32, form.scale_type, form.bias_type);
}

struct MlxMatrix {
  MlxForm form;
  u64 rows = 1;
  Buffer codes;
  Buffer scales;
  Buffer biases;

  MlxMatrix(MlxForm the_form, u64 the_rows) : form(the_form), rows(the_rows) {
    codes.resize(elements() * form.params.bits / 8);
    scales.resize(groups() * type_info(form.scale_type).block_bytes);
    if (form.params.mode == mlx::Mode::affine) biases.resize(groups() * type_info(form.bias_type).block_bytes);
  }

  u64 elements() const { return rows * form.columns; }
  u64 groups() const { return elements() / form.params.group_size; }

  void randomize_codes(std::mt19937& random) {
    for (std::byte& byte : codes) byte = static_cast<std::byte>(random());
  }
  void set_code(u64 element, u32 code) {
    for (u32 b = 0; b < form.params.bits; ++b) {
      const u64 k = element * form.params.bits + b;
      const std::byte mask{static_cast<u8>(1u << (k % 8))};
      codes[k / 8] = (code >> b & 1) != 0 ? codes[k / 8] | mask : codes[k / 8] & ~mask;
    }
  }
  u32 code(u64 element) const {
    u32 value = 0;
    for (u32 b = 0; b < form.params.bits; ++b) {
      const u64 k = element * form.params.bits + b;
      value |= (std::to_integer<u32>(codes[k / 8]) >> (k % 8) & 1u) << b;
    }
    return value;
  }

  static void set(TensorType type, Buffer& values, u64 index, float value) {
    const u16 half = type == TensorType::BF16 ? f32_to_bf16(value) : f32_to_f16(value);
    if (type == TensorType::F32) {
      std::memcpy(values.data() + 4 * index, &value, 4);
    } else {
      std::memcpy(values.data() + 2 * index, &half, 2);
    }
  }
  static float get(TensorType type, const Buffer& values, u64 index) {
    if (type == TensorType::F32) {
      float value = 0;
      std::memcpy(&value, values.data() + 4 * index, 4);
      return value;
    }
    u16 half = 0;
    std::memcpy(&half, values.data() + 2 * index, 2);
    if (type == TensorType::BF16) return static_cast<float>(slow_small_float(half, 8, 7, 127));
    return static_cast<float>(slow_small_float(half, 5, 10, 15));
  }
  void set_group(u64 group, float scale, float bias) {
    set(form.scale_type, scales, group, scale);
    set(form.bias_type, biases, group, bias);
  }
  float scale(u64 group) const { return get(form.scale_type, scales, group); }
  float bias(u64 group) const { return get(form.bias_type, biases, group); }

  float value(u64 element) const {
    const u64 group = element / form.params.group_size;
    const u32 q = code(element);
    if (form.params.mode == mlx::Mode::affine) {
      const float product = scale(group) * static_cast<float>(q);
      return product + bias(group);
    }
    const int byte = std::to_integer<int>(scales[group]);
    const double by = form.params.mode == mlx::Mode::nvfp4 ? slow_small_float(static_cast<u32>(byte), 4, 3, 7)
                                                           : std::ldexp(1.0, byte - 127);
    const double code_value = form.params.bits == 4 ? slow_small_float(q, 2, 1, 1) : slow_small_float(q, 4, 3, 7);
    return static_cast<float>(by * code_value);
  }
  std::vector<float> values() const {
    std::vector<float> all(elements());
    for (u64 i = 0; i < all.size(); ++i) all[i] = value(i);
    return all;
  }
};

}  // namespace modelutils::test
