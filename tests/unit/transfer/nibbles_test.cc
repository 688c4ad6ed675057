#include "transfer/nibbles.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace modelutils {
namespace {

using Bytes32 = std::array<u8, 32>;

u32 mlx_code(const Bytes32& in, u32 element) {
  return in[element / 2] >> (element % 2 * 4) & 15u;
}

// ggml's order: in each run of `size` codes, byte k has codes k and k + size / 2.
Bytes32 regrouped(const Bytes32& in, u32 size) {
  Bytes32 out;
  for (u32 k = 0; k < 32; ++k) {
    const u32 element = k / (size / 2) * size + k % (size / 2);
    out[k] = static_cast<u8>(mlx_code(in, element) | mlx_code(in, element + size / 2) << 4);
  }
  return out;
}

TEST(Nibbles, AllKernelsFollowTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Bytes32 in;
    for (u8& byte : in) byte = static_cast<u8>(random());
    const Bytes32 blocks = regrouped(in, 32);
    Bytes32 got{};
    regroup_block(in.data(), got.data());
    regroup_block(in.data() + 16, got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_two_blocks(in.data(), got.data(), got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_nibbles_portable(load<u64>(in.data()), load<u64>(in.data() + 8), got.data());
    regroup_nibbles_portable(load<u64>(in.data() + 16), load<u64>(in.data() + 24), got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_four_parts(in.data(), got.data());
    EXPECT_EQ(got, regrouped(in, 16));
  }
}

TEST(Nibbles, FifthBitsStandInTheOrderOfTheCodes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    BlockCodes codes;
    for (u64& eight : codes) eight = random();
    u32 wanted = 0;
    for (u32 i = 0; i < 32; ++i) wanted |= static_cast<u32>(codes[i / 8] >> (i % 8 * 8 + 4) & 1u) << i;
    std::array<u8, 4> got{};
    store_fifth_bits(codes, got.data());
    EXPECT_EQ(load<u32>(got.data()), wanted);
    got = {};
    store_fifth_bits_portable(codes, got.data());
    EXPECT_EQ(load<u32>(got.data()), wanted);
  }
}

}  // namespace
}  // namespace modelutils
