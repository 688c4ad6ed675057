// Blocks of 32 elements with importance, using the searches of the K types with one block per lane. The spread is
// computed over the whole row.
#include "tensor/quantize/quantize.h"
#include "tensor/quantize/searches.h"

namespace modelutils::encode {
namespace {

// Encodes the rows' blocks, as many at once as there are lanes. search(x, weights, levels) returns d, or d and the
// minimum; put(out, d and minimum, codes) stores one block.
template <std::size_t WIDTH, typename Search, typename Put>
[[gnu::always_inline]] inline void for_blocks_in_lanes(const Rows& rows, u32 bytes, const Search& search,
                                                       const Put& put) {
  using L = Lanes<WIDTH>;
  const u64 blocks = rows.ne0 / 32;
  for (u64 row = 0; row < rows.rows; ++row) {
    const float* values = rows.values + row * rows.ne0;
    u8* out = rows.out + row * blocks * bytes;
    const float spread = sum_of_squares(values, rows.ne0) / static_cast<float>(rows.ne0);
    for (u64 first = 0; first < blocks; first += L::count) {
      const u32 count = static_cast<u32>(std::min<u64>(L::count, blocks - first));
      float weights[32 * L::count];
      weigh(values + 32 * first, rows.importance + 32 * first, spread, 32 * count, weights);
      Turned<WIDTH, 32> x, turned;
      typename L::Ints levels[32];
      turn(values + 32 * first, 32, count, x);
      turn(weights, 32, count, turned);
      const ScaleAndMin<typename L::Floats> found = search(x.at, turned.at, levels);
      for (u32 lane = 0; lane < count; ++lane) {
        u8 codes[32];
        for (u32 i = 0; i < 32; ++i) codes[i] = static_cast<u8>(levels[i][lane]);
        put(out + (first + lane) * bytes, found.scale[lane], -found.min[lane], codes);
      }
    }
  }
}

template <typename Put>
void symmetric_rows(const Rows& rows, u32 bytes, int half, const Put& put) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        using Floats = typename Lanes<decltype(width)::value>::Floats;
        for_blocks_in_lanes<decltype(width)::value>(
            rows, bytes,
            [&](const Floats* x, const Floats* weights, IntsOf<Floats>* levels) __attribute__((always_inline)) {
              return ScaleAndMin<Floats>{search_scale<32>(x, weights, half, levels), Floats{}};
            },
            put);
      });
}

template <typename Put>
void ranged_rows(const Rows& rows, u32 bytes, int top, const Put& put) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        using Floats = typename Lanes<decltype(width)::value>::Floats;
        for_blocks_in_lanes<decltype(width)::value>(
            rows, bytes,
            [&](const Floats* x, const Floats* weights, IntsOf<Floats>* levels) __attribute__((always_inline)) {
              const MinSearch search{.top = top, .first = -0.9f, .step = 0.05f, .tries = 36, .absolute = false};
              return search_scale_and_min<32>(x, weights, search, levels);
            },
            put);
      });
}

}  // namespace

void weighted_q4_0(const Rows& rows) {
  symmetric_rows(
      rows, 18, 8, [](u8 * out, float d, float, const u8* codes) __attribute__((always_inline)) {
        put_half(out, d);
        put_nibbles(out + 2, codes);
      });
}

void weighted_q5_0(const Rows& rows) {
  symmetric_rows(
      rows, 22, 16, [](u8 * out, float d, float, const u8* codes) __attribute__((always_inline)) {
        put_half(out, d);
        put_u32(out + 2, fifth_bits(codes));
        put_nibbles(out + 6, codes);
      });
}

void weighted_q4_1(const Rows& rows) {
  ranged_rows(
      rows, 20, 15, [](u8 * out, float d, float min, const u8* codes) __attribute__((always_inline)) {
        put_half(out, d);
        put_half(out + 2, min);
        put_nibbles(out + 4, codes);
      });
}

void weighted_q5_1(const Rows& rows) {
  ranged_rows(
      rows, 24, 31, [](u8 * out, float d, float min, const u8* codes) __attribute__((always_inline)) {
        put_half(out, d);
        put_half(out + 2, min);
        put_u32(out + 4, fifth_bits(codes));
        put_nibbles(out + 8, codes);
      });
}

}  // namespace modelutils::encode
