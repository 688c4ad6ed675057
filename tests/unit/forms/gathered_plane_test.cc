#include "forms/gathered_plane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

using Kind = Gather::Kind;

MemoryFile file_of(const std::vector<u32>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(u32));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return MemoryFile(std::move(bytes));
}

std::vector<int> codes(const MemoryFile& file, const Gather& gather, u64 first, u64 count) {
  std::vector<std::byte> out(static_cast<std::size_t>(count * gather.columns));
  EXPECT_TRUE(read_gathered(file, 0, gather, first, count, out));
  std::vector<int> numbers;
  for (const std::byte code : out) numbers.push_back(static_cast<int>(code));
  return numbers;
}

TEST(GatheredPlane, RowsAreStreams) {
  const MemoryFile file = file_of({0x87654321, 0x0000000F, 0xFEDCBA98, 0x00000001});
  const Gather gather = {Kind::codes_in_rows, 4, 0, false, 8, 9};
  EXPECT_EQ(codes(file, gather, 0, 2), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 15, 8, 9, 10, 11, 12, 13, 14, 15, 1}));
  EXPECT_EQ(codes(file, gather, 1, 1), (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15, 1}));
}

// Code 10 of 3 bits straddles the words: two bits of the first and one of the second.
TEST(GatheredPlane, CodesStraddleWords) {
  const MemoryFile file = file_of({0x80000001, 0x00000001});
  const std::vector<int> all = codes(file, {Kind::codes_in_rows, 3, 0, false, 8, 12}, 0, 1);
  EXPECT_EQ(all, (std::vector<int>{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0}));
  EXPECT_EQ(codes(file, {Kind::codes_in_rows, 3, 10, false, 8, 11}, 0, 1)[10], 1) << "ten codes in a word";
}

// Two rows, 16 columns: words 0 of both rows, then words 1.
TEST(GatheredPlane, WordsOfColumns) {
  const MemoryFile file = file_of({0x76543210, 0xFEDCBA98, 0x11111111, 0x22222222});
  const Gather gather = {Kind::words_of_columns, 4, 0, false, 8, 16};
  EXPECT_EQ(codes(file, gather, 1, 1), (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15, 2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(codes(file, gather, 0, 2).size(), 32u);
}

// One column, eight rows: AWQ keeps the code of row 1 in the fifth nibble.
TEST(GatheredPlane, AwqShufflesEights) {
  const MemoryFile file = file_of({0x75316420});
  EXPECT_EQ(codes(file, {Kind::codes_of_columns, 4, 0, true, 4, 1}, 0, 8), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(codes(file, {Kind::codes_of_columns, 4, 0, true, 4, 1}, 5, 2), (std::vector<int>{5, 6}));
  EXPECT_EQ(codes(file, {Kind::codes_of_columns, 4, 0, false, 4, 1}, 0, 3), (std::vector<int>{0, 2, 4}));
}

// Two columns, ten rows: word 0 of both columns, then word 1.
TEST(GatheredPlane, WordsOfRows) {
  const MemoryFile file = file_of({0x76543210, 0xFEDCBA98, 0x00000021, 0x00000043});
  const Gather gather = {Kind::words_of_rows, 4, 0, false, 8, 2};
  EXPECT_EQ(codes(file, gather, 7, 3), (std::vector<int>{7, 15, 1, 3, 2, 4}));
}

TEST(GatheredPlane, ValuesOfColumns) {
  const MemoryFile file = file_of({0x00020001, 0x00040003, 0x00060005, 0x00080007});  // 2 columns of 4 rows
  const Gather gather = {Kind::values_of_columns, 16, 0, false, 8, 2};
  std::vector<u16> out(4);
  ASSERT_TRUE(read_gathered(file, 0, gather, 1, 2, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out, (std::vector<u16>{2, 6, 3, 7}));
}

TEST(GatheredPlane, ReadsNothingBeyondTheFile) {
  const MemoryFile file = file_of({1});
  std::vector<std::byte> out(16);
  EXPECT_FALSE(read_gathered(file, 0, {Kind::codes_in_rows, 4, 0, false, 8, 16}, 0, 1, out));
}

}  // namespace
}  // namespace modelutils
