#include "pytorch/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "pytorch/check_records.h"

namespace modelutils::pytorch {
namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(size);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

u32 expected(u32 crc, Bytes bytes) {
  return static_cast<u32>(::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

// The variants available on this machine.
std::vector<CarrylessProduct> all_products() {
  std::vector<CarrylessProduct> products = {CarrylessProduct::none};
  if (best_carryless_product() >= CarrylessProduct::of_16_bytes) products.push_back(CarrylessProduct::of_16_bytes);
  if (best_carryless_product() >= CarrylessProduct::of_32_bytes) products.push_back(CarrylessProduct::of_32_bytes);
  return products;
}

TEST(Crc32, OfTheStandardsExample) {
  constexpr std::string_view text = "123456789";
  EXPECT_EQ(crc32_of(0, std::as_bytes(std::span(text))), 0xCBF43926U);
  EXPECT_EQ(crc32_of(0, {}), 0U);
}

TEST(Crc32, IsThatOfZlibAtEveryLengthAndPlace) {
  const std::vector<std::byte> bytes = random_bytes(2000);
  for (std::size_t size = 0; size <= 700; ++size) {
    for (const std::size_t at : {0U, 1U, 7U, 16U}) {
      const Bytes piece = Bytes(bytes).subspan(at, size);
      for (const u32 crc : {0U, 1U, 0xFFFFFFFFU, 0x12345678U}) {
        for (const CarrylessProduct product : all_products()) {
          ASSERT_EQ(crc32_of(crc, piece, product), expected(crc, piece)) << size << " bytes at " << at;
        }
      }
    }
  }
  const std::vector<std::byte> large = random_bytes((std::size_t{1} << 20) + 13);
  for (const CarrylessProduct product : all_products()) {
    EXPECT_EQ(crc32_of(0, large, product), expected(0, large));
  }
}

TEST(Crc32, OfTwoPieces) {
  const std::vector<std::byte> bytes = random_bytes(1000);
  const Bytes all(bytes);
  for (const std::size_t cut : {0U, 1U, 300U, 999U, 1000U}) {
    EXPECT_EQ(crc32_joined(crc32_of(0, all.first(cut)), crc32_of(0, all.subspan(cut)), bytes.size() - cut),
              expected(0, all));
  }
}

TEST(ReadChecksums, RangesThatTouchBecomeOne) {
  const std::vector<std::byte> bytes = random_bytes(4000);
  const Bytes all(bytes);
  ReadChecksums read;
  const auto add = [&](std::size_t begin, std::size_t end) { read.add(begin, all.subspan(begin, end - begin)); };
  add(1000, 2000);
  add(3000, 4000);
  add(500, 500);  // empty
  EXPECT_EQ(read.ranges().size(), 2U);
  add(1500, 2500);  // overlaps an earlier range
  add(900, 1001);
  add(2999, 3001);
  add(0, 4000);
  EXPECT_EQ(read.ranges().size(), 2U);
  add(2000, 3000);
  ASSERT_EQ(read.ranges().size(), 1U);
  EXPECT_EQ(read.ranges().begin()->first, 1000U);
  EXPECT_EQ(read.ranges().begin()->second.end, 4000U);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, all.subspan(1000)));
  add(0, 1000);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, all));
}

TEST(ReadChecksums, FromSeveralThreads) {
  const std::vector<std::byte> bytes = random_bytes(64000);
  ReadChecksums read;
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t piece = thread; piece < 64; piece += 4) {
          read.add(piece * 1000, Bytes(bytes).subspan(piece * 1000, 1000));
        }
      });
    }
  }
  ASSERT_EQ(read.ranges().size(), 1U);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, bytes));
}

}  // namespace
}  // namespace modelutils::pytorch
