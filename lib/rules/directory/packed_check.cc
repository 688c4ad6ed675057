#include "rules/directory/packed_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/byte_reader.h"
#include "mlx/dequantize.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// A code's value is at most 480 in magnitude, so with smaller scales and biases neither the product nor its sum with
// the bias exceeds 2^127 + 2^126.
constexpr float large_scale = 0x1p118f;
constexpr float large_bias = 0x1p126f;

// Groups checked at a time; their values take at most 1 MiB.
constexpr u64 batch_groups = 256;

bool is_large(float value, float limit) {
  return std::fabs(value) >= limit && std::isfinite(value);  // values that are not finite have a finding of their own
}

// True if any word of `data` has a magnitude of at least `limit`, including infinities and NaN. Branch-free so that
// compilers vectorise it.
template <typename Word>
bool any_from(Bytes data, Word limit) {
  constexpr Word sign = Word{1} << (8 * sizeof(Word) - 1);
  const Word carry = static_cast<Word>(sign - limit);
  Word seen = 0;
  for (std::size_t at = 0; at < data.size(); at += sizeof(Word)) {
    seen = static_cast<Word>(seen | ((load<Word>(data.data() + at) & ~sign) + carry));
  }
  return (seen & sign) != 0;
}

bool any_large(TensorType type, Bytes data, float limit) {
  const u32 bits = std::bit_cast<u32>(limit);
  switch (type) {
    case TensorType::F16: return false;  // the largest F16 is 65504
    case TensorType::BF16: return any_from(data, static_cast<u16>(bits >> 16));
    case TensorType::F32: return any_from(data, bits);
    default: {  // E8M0 is just an exponent
      u8 most = 0;
      for (const std::byte exponent : data) most = std::max(most, std::to_integer<u8>(exponent));
      return most >= bits >> 23;
    }
  }
}

class PackedBatch {
 public:
  PackedBatch(const Catalog& catalog, const PackedWeight& weight) : catalog_(catalog), weight_(weight) {}

  // Decodes `count` groups starting at group `first`.
  Status read(u64 first, u64 count) {
    MU_TRY(read_factors(weight_.scales, first, count, scale_bytes_, scales_));
    mlx::Groups groups;
    groups.scale_type = *catalog_.tensors[weight_.scales].type;
    groups.scales = scale_bytes_;
    if (weight_.biases != mlx::no_tensor) {
      MU_TRY(read_factors(weight_.biases, first, count, bias_bytes_, biases_));
      groups.bias_type = *catalog_.tensors[weight_.biases].type;
      groups.biases = bias_bytes_;
    }
    MU_TRY(read_bytes(weight_.weight, first, count, weight_.params.group_bytes(), codes_));
    groups.codes = codes_;
    values_.resize(count * weight_.params.group_size);
    mlx::dequantize(weight_.params, groups, values_);
    return {};
  }

  // True if a value of group `i` in the batch overflows and the cause is the bias (`is_bias`) or the scale (otherwise).
  bool overflows(std::size_t i, bool is_bias) const {
    if (is_bias ? !std::isfinite(scales_[i]) || is_large(scales_[i], large_scale) : !biases_are_finite(i)) return false;
    const std::size_t size = weight_.params.group_size;
    return std::ranges::any_of(std::span(values_).subspan(i * size, size),
                               [](float value) { return !std::isfinite(value); });
  }

 private:
  bool biases_are_finite(std::size_t i) const { return biases_.empty() || std::isfinite(biases_[i]); }

  Status read_bytes(std::size_t index, u64 first, u64 count, u64 width, std::vector<std::byte>& bytes) const {
    bytes.resize(count * width);
    return catalog_.read(catalog_.tensors[index], first * width, bytes);
  }
  Status read_factors(std::size_t index, u64 first, u64 count, std::vector<std::byte>& bytes,
                      std::vector<float>& factors) const {
    const TensorType type = *catalog_.tensors[index].type;
    MU_TRY(read_bytes(index, first, count, type_info(type).block_bytes, bytes));
    factors.resize(count);
    dequantize(type, bytes, factors);
    return {};
  }

  const Catalog& catalog_;
  const PackedWeight& weight_;
  std::vector<std::byte> scale_bytes_, bias_bytes_, codes_;
  std::vector<float> scales_, biases_, values_;
};

}  // namespace

Result<BlockCheck> check_packed(const Catalog& catalog, const PackedWeight& weight, bool is_bias, u64 first,
                                Bytes piece) {
  BlockCheck result;
  const TensorType type = *catalog.tensors[is_bias ? weight.biases : weight.scales].type;
  const float limit = is_bias ? large_bias : large_scale;
  if (!any_large(type, piece, limit)) return result;
  const u64 width = type_info(type).block_bytes;
  const u64 count = piece.size() / width;
  const auto large = [limit](float value) { return is_large(value, limit); };
  PackedBatch batch(catalog, weight);
  std::vector<float> factors;
  for (u64 done = 0; done < count; done += factors.size()) {
    factors.resize(std::min(batch_groups, count - done));
    dequantize(type, piece.subspan(done * width, factors.size() * width), factors);
    if (std::ranges::none_of(factors, large)) continue;
    MU_TRY(batch.read(first + done, factors.size()));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (!large(factors[i]) || !batch.overflows(i, is_bias)) continue;
      ++result.bad_blocks;
      if (!result.first) {
        result.first = BadBlock{done + i, is_bias ? "bias" : "scale", "makes values of its group overflow to Inf"};
      }
    }
  }
  return result;
}

}  // namespace modelutils
