#include "tensor/only_zeros.h"

#include <gtest/gtest.h>

#include <vector>

namespace modelutils {
namespace {

TEST(OnlyZeros, LooksAtValuesNotAtBytes) {
  std::vector<std::byte> bytes(18 * 300);
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 18 >= 2) bytes[i] = std::byte{0x88};  // codes for a scale of 0, as ggml's encoder writes them
  }
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  bytes[18 * 299 + 1] = std::byte{0x3c};  // d = 1 in the last block, whose codes 8 mean 0
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  bytes[18 * 299 + 17] = std::byte{0x89};
  EXPECT_FALSE(holds_only_zeros(TensorType::Q4_0, bytes));
}

TEST(OnlyZeros, MinusZeroIsZeroAndNanIsNot) {
  std::vector<std::byte> bytes(4 * 2000);
  bytes[7] = std::byte{0x80};
  EXPECT_TRUE(holds_only_zeros(TensorType::F32, bytes));
  bytes[7] = std::byte{0x7f};
  bytes[6] = std::byte{0xc0};
  EXPECT_FALSE(holds_only_zeros(TensorType::F32, bytes));
  EXPECT_TRUE(holds_only_zeros(TensorType::F16, Bytes(bytes).subspan(8)));
  EXPECT_FALSE(holds_only_zeros(TensorType::C64, Bytes(bytes).subspan(8)));  // no decoder
}

}  // namespace
}  // namespace modelutils
