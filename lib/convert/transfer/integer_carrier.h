// Carrier for FormKind::integers (carriers.cc): code − zero point is an integer, so block types without an offset hold
// scale × integer exactly. Conditions: docs/formats/hf-quantized.md.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "base/types.h"
#include "convert/transfer/carriers.h"

namespace modelutils {

// Reorders 4-bit codes from MLX's layout to ggml's. MLX: byte k holds elements 2k (low nibble) and 2k + 1. ggml: byte k
// of a block of 32 holds elements k and k + 16.

/// Moves byte k of `word` (32 bits) to byte 2k.
constexpr u64 spread_bytes(u64 word) {
  word = (word | word << 16) & 0x0000FFFF0000FFFFu;
  return (word | word << 8) & 0x00FF00FF00FF00FFu;
}

/// Reorders 16 bytes of MLX nibbles, given as halves `a` and `c`. Portable version.
inline void regroup_nibbles_portable(u64 a, u64 c, u8* out) {
  constexpr u64 low = 0x0F0F0F0F0F0F0F0Fu;
  const u64 even = (a & low) | (c & low) << 4;  // byte k: elements 2k and 2k + 16
  const u64 odd = (a >> 4 & low) | (c & ~low);  // byte k: elements 2k + 1 and 2k + 17
  const u64 first = spread_bytes(even & 0xFFFFFFFFu) | spread_bytes(odd & 0xFFFFFFFFu) << 8;
  const u64 second = spread_bytes(even >> 32) | spread_bytes(odd >> 32) << 8;
  std::memcpy(out, &first, 8);
  std::memcpy(out + 8, &second, 8);
}

/// Reorders one block of 32 codes: 16 bytes, at any alignment.
inline void regroup_block(const u8* in, u8* out) {
#if defined(__SSE2__)
  const __m128i low = _mm_set1_epi8(0x0F);
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  const __m128i c = _mm_srli_si128(a, 8);
  const __m128i even = _mm_or_si128(_mm_and_si128(a, low), _mm_andnot_si128(low, _mm_slli_epi16(c, 4)));
  const __m128i odd = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(a, 4), low), _mm_andnot_si128(low, c));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi8(even, odd));
#elif defined(__aarch64__)
  const uint8x8_t a = vld1_u8(in), c = vld1_u8(in + 8);
  const uint8x8x2_t both = vzip_u8(vsli_n_u8(a, c, 4), vsri_n_u8(c, a, 4));
  vst1q_u8(out, vcombine_u8(both.val[0], both.val[1]));
#else
  regroup_nibbles_portable(load<u64>(in), load<u64>(in + 8), out);
#endif
}

#if defined(__SSE2__)
/// Reorders two blocks: `a` has the first halves of both, `c` the second halves.
inline void regroup_halves(__m128i a, __m128i c, u8* first, u8* second) {
  const __m128i low = _mm_set1_epi8(0x0F);
  const __m128i even = _mm_or_si128(_mm_and_si128(a, low), _mm_andnot_si128(low, _mm_slli_epi16(c, 4)));
  const __m128i odd = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(a, 4), low), _mm_andnot_si128(low, c));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(first), _mm_unpacklo_epi8(even, odd));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(second), _mm_unpackhi_epi8(even, odd));
}
#elif defined(__aarch64__)
/// The same, with shifts that insert into the other operand and keep its remaining four bits.
inline void regroup_halves(uint8x16_t a, uint8x16_t c, u8* first, u8* second) {
  const uint8x16_t even = vsliq_n_u8(a, c, 4), odd = vsriq_n_u8(c, a, 4);
  vst1q_u8(first, vzip1q_u8(even, odd));
  vst1q_u8(second, vzip2q_u8(even, odd));
}
#endif

/// Reorders two adjacent blocks of 32 codes (32 bytes) to 16 bytes each at `first` and `second`.
inline void regroup_two_blocks(const u8* in, u8* first, u8* second) {
#if defined(__SSE2__)
  const __m128i one = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 16));
  regroup_halves(_mm_unpacklo_epi64(one, two), _mm_unpackhi_epi64(one, two), first, second);
#elif defined(__aarch64__)
  const uint64x2_t one = vreinterpretq_u64_u8(vld1q_u8(in)), two = vreinterpretq_u64_u8(vld1q_u8(in + 16));
  regroup_halves(vreinterpretq_u8_u64(vzip1q_u64(one, two)), vreinterpretq_u8_u64(vzip2q_u64(one, two)), first, second);
#else
  regroup_nibbles_portable(load<u64>(in), load<u64>(in + 8), first);
  regroup_nibbles_portable(load<u64>(in + 16), load<u64>(in + 24), second);
#endif
}

/// Reorders four independent parts of 16 codes, 32 bytes (NVFP4: byte k of a part holds its elements k and k + 8).
inline void regroup_four_parts(const u8* in, u8* out) {
#if defined(__SSE2__)
  const __m128 one = _mm_loadu_ps(reinterpret_cast<const float*>(in));
  const __m128 two = _mm_loadu_ps(reinterpret_cast<const float*>(in + 16));
  // the first halves of all parts
  const __m128i a = _mm_castps_si128(_mm_shuffle_ps(one, two, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m128i c = _mm_castps_si128(_mm_shuffle_ps(one, two, _MM_SHUFFLE(3, 1, 3, 1)));
  regroup_halves(a, c, out, out + 16);
#elif defined(__aarch64__)
  const uint32x4_t one = vreinterpretq_u32_u8(vld1q_u8(in)), two = vreinterpretq_u32_u8(vld1q_u8(in + 16));
  regroup_halves(vreinterpretq_u8_u32(vuzp1q_u32(one, two)), vreinterpretq_u8_u32(vuzp2q_u32(one, two)), out, out + 16);
#else
  for (u32 at = 0; at < 32; at += 16) {
    const u64 first = load<u64>(in + at);
    const u64 second = load<u64>(in + at + 8);
    regroup_nibbles_portable((first & 0xFFFFFFFFu) | second << 32, first >> 32 | (second & ~u64{0xFFFFFFFFu}),
                             out + at);
  }
#endif
}

/// 32 codes, one per byte, eight per word.
using BlockCodes = std::array<u64, 4>;

/// Stores the low four bits of the codes in ggml's order, 16 bytes.
inline void store_nibbles(const BlockCodes& codes, u8* out) {
  constexpr u64 low = 0x0F0F0F0F0F0F0F0Fu;
  for (u32 run = 0; run < 2; ++run) {
    const u64 bytes = (codes[run] & low) | (codes[run + 2] & low) << 4;
    std::memcpy(out + 8 * run, &bytes, 8);
  }
}

/// Stores the fifth bits of the codes, 4 bytes. The multiplication gathers the bits of eight codes; no two terms
/// overlap. Portable version.
inline void store_fifth_bits_portable(const BlockCodes& codes, u8* out) {
  for (u32 run = 0; run < 4; ++run) {
    out[run] = static_cast<u8>((codes[run] >> 4 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
  }
}

inline void store_fifth_bits(const BlockCodes& codes, u8* out) {
#if defined(__SSE2__)
  for (u32 half = 0; half < 2; ++half) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes.data() + 2 * half));
    const auto bits = static_cast<u16>(_mm_movemask_epi8(_mm_slli_epi16(bytes, 3)));
    std::memcpy(out + 2 * half, &bits, sizeof bits);
  }
#else
  store_fifth_bits_portable(codes, out);
#endif
}

ScaleUse integer_scale_use(const StoredForm& form, u64 columns, const RepackOptions& options);
void analyse_integers(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
bool wants_integer_codes(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                         const RepackOptions& options);
/// Fails with "convert-inexact", "convert-scale" or "convert-zero-point".
Result<Target> choose_integers(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                               const RepackOptions& options, bool must_be_f32);
bool integers_carry_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
void repack_integers(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                     std::span<const float> exact, MutableBytes out);

}  // namespace modelutils
