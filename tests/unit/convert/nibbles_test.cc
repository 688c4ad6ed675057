#include "convert/nibbles.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace modelutils::convert {
namespace {

using Block = std::array<u8, 16>;

u32 mlx_code(const Block& in, u32 element) {
  return in[element / 2] >> (element % 2 * 4) & 15u;
}

TEST(Nibbles, BothKernelsFollowTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Block in;
    for (u8& byte : in) byte = static_cast<u8>(random());
    Block want;
    for (u32 j = 0; j < 16; ++j) want[j] = static_cast<u8>(mlx_code(in, j) | mlx_code(in, j + 16) << 4);
    Block got{};
    regroup_block_of_32(in.data(), got.data());
    EXPECT_EQ(got, want);
    got = {};
    regroup_nibbles_portable(load<u64>(in.data()), load<u64>(in.data() + 8), got.data());
    EXPECT_EQ(got, want);

    for (u32 part = 0; part < 2; ++part) {
      for (u32 j = 0; j < 8; ++j) {
        want[8 * part + j] = static_cast<u8>(mlx_code(in, 16 * part + j) | mlx_code(in, 16 * part + j + 8) << 4);
      }
    }
    regroup_two_of_16(in.data(), got.data());
    EXPECT_EQ(got, want);
    got = {};
    const u64 first = load<u64>(in.data());
    const u64 second = load<u64>(in.data() + 8);
    regroup_nibbles_portable((first & 0xFFFFFFFFu) | second << 32, first >> 32 | (second & ~u64{0xFFFFFFFFu}),
                             got.data());
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace modelutils::convert
