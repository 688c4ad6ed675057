#include "base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace modelutils {
namespace {

TEST(ZeroedArray, HoldsZerosAndWhatIsWritten) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{2} << 20) / sizeof(u64), std::size_t{700001}}) {
    ZeroedArray<u64> array(size);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(array[i], 0u) << size;
      array[i] = i + 1;
    }
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i + 1) << size;
  }
}

TEST(ZeroedArray, BeginsWhereALargePageMay) {
  const ZeroedArray<u8> array((std::size_t{3} << 20) + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % (std::size_t{2} << 20), 0u);
}

}  // namespace
}  // namespace modelutils
