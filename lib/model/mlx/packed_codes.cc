// Repacks blocks of 4-bit codes into MLX's order directly, for types where this takes only a few instructions.
#include <algorithm>
#include <array>
#include <cstring>

#include "model/mlx/block_form.h"

namespace modelutils::mlx {

namespace {

constexpr u64 batch_elements = 4096;

// Repacks 16 bytes of nibbles: combines neighbouring low nibbles into bytes, and likewise the high nibbles.
[[gnu::always_inline]] inline void pair_nibbles(const u8* bytes, u8* low_pairs, u8* high_pairs) {
  using Words [[gnu::vector_size(16)]] = u16;
  using Pairs [[gnu::vector_size(8)]] = u8;
  Words words;
  std::memcpy(&words, bytes, sizeof words);
  const Words shifted = words >> 4;
  const Pairs low = __builtin_convertvector((words & 0x0F) | (shifted & 0xF0), Pairs);
  const Pairs high = __builtin_convertvector((shifted & 0x0F) | (words >> 8 & 0xF0), Pairs);
  std::memcpy(low_pairs, &low, sizeof low);
  std::memcpy(high_pairs, &high, sizeof high);
}

// Repacks `blocks` blocks whose nibbles begin at offset AT.
template <u32 AT, u32 BLOCK_BYTES>
void blocks_of_32(const u8* in, std::size_t blocks, u8* out) {
  for (; blocks > 0; --blocks, in += BLOCK_BYTES, out += 16) pair_nibbles(in + AT, out, out + 8);
}

void q4_k(const u8* in, std::size_t blocks, u8* out) {
  for (; blocks > 0; --blocks, in += 144) {
    for (u32 run = 0; run < 4; ++run, out += 32) {  // 64 elements in 32 bytes
      pair_nibbles(in + 16 + 32 * run, out, out + 16);
      pair_nibbles(in + 32 + 32 * run, out + 8, out + 24);
    }
  }
}

using PackBlocks = void(const u8* in, std::size_t blocks, u8* out);

// Returns the function that repacks a type to 4 bits, or nullptr if there is none.
PackBlocks* nibbles_of(TensorType type) {
  switch (type) {
    case TensorType::Q4_0: return blocks_of_32<2, 18>;
    case TensorType::Q4_1: return blocks_of_32<4, 20>;
    case TensorType::MXFP4: return blocks_of_32<1, 17>;
    case TensorType::Q4_K: return q4_k;
    default: return nullptr;
  }
}

}  // namespace

void take_packed(TensorType type, u32 bits, Bytes blocks, MutableBytes packed) {
  u8* const out = reinterpret_cast<u8*>(packed.data());
  if (bits == 8) return take_codes(type, blocks, {out, packed.size()});
  const TypeInfo& info = type_info(type);
  const u64 count = blocks.size() / info.block_bytes;
  if (PackBlocks* const pack = nibbles_of(type); pack != nullptr && bits == 4) {
    return pack(reinterpret_cast<const u8*>(blocks.data()), count, out);
  }
  std::array<u8, batch_elements> codes;
  const u64 batch = batch_elements / info.block_elements;
  for (u64 block = 0; block < count; block += batch) {
    const u64 here = std::min(batch, count - block);
    const auto some = std::span(codes).first(here * info.block_elements);
    take_codes(type, blocks.subspan(block * info.block_bytes, here * info.block_bytes), some);
    const u64 bytes = info.block_elements / 8 * bits;
    pack_codes(bits, some, packed.subspan(block * bytes, here * bytes));
  }
}

}  // namespace modelutils::mlx
