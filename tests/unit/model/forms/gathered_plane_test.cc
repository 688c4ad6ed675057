#include "model/forms/gathered_plane.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
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

// Two rows, 16 columns: word 0 of both rows, then word 1.
TEST(GatheredPlane, WordsOfColumns) {
  const MemoryFile file = file_of({0x76543210, 0xFEDCBA98, 0x11111111, 0x22222222});
  const Gather gather = {Kind::words_of_columns, 4, 0, false, 8, 16};
  EXPECT_EQ(codes(file, gather, 1, 1), (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15, 2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(codes(file, gather, 0, 2).size(), 32u);
}

// One column, eight rows: AWQ stores row 1's code in the fifth nibble.
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

// Many rows and columns, packed one code at a time as the formats prescribe.
class ManyNibbles : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr u64 rows = 76, columns = 203;

  static int code(u64 row, u64 column) { return static_cast<int>((row * 31 + column * 17 + row * column % 5) % 16); }

  static Gather gather(bool is_shuffled) {
    const u64 line = GetParam() == Kind::words_of_columns ? rows * 4 : (rows + 7) / 8 * 4;
    return {GetParam(), 4, 0, is_shuffled, line, columns};
  }

  static MemoryFile packed(bool is_shuffled) {
    constexpr std::array<u64, 8> nibbles = {0, 4, 1, 5, 2, 6, 3, 7};
    const u64 words_in_line = gather(is_shuffled).stride / 4;
    std::vector<u32> words(words_in_line * (GetParam() == Kind::words_of_columns ? (columns + 7) / 8 : columns));
    for (u64 row = 0; row < rows; ++row) {
      for (u64 column = 0; column < columns; ++column) {
        const bool are_words = GetParam() == Kind::words_of_columns;
        const u64 word = are_words ? column / 8 * words_in_line + row : column * words_in_line + row / 8;
        const u64 place = are_words ? column % 8 : is_shuffled ? nibbles[row % 8] : row % 8;
        words[word] |= static_cast<u32>(code(row, column)) << (4 * place);
      }
    }
    return file_of(words);
  }

  static void expect_rows(const std::vector<int>& found, u64 first, u64 count) {
    ASSERT_EQ(found.size(), count * columns);
    for (u64 i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], code(first + i / columns, i % columns))
          << "row " << first + i / columns << " " << i % columns;
    }
  }
};

TEST_P(ManyNibbles, EachRowHasItsOwn) {
  for (const bool is_shuffled : {false, true}) {
    if (is_shuffled && GetParam() == Kind::words_of_columns) continue;
    const MemoryFile file = packed(is_shuffled);
    const Gather how = gather(is_shuffled);
    for (const auto& [first, count] : {std::pair<u64, u64>{0, rows}, {8, 33}, {40, 36}, {3, 5}, {16, 1}}) {
      expect_rows(codes(file, how, first, count), first, count);
    }
    // Unpack some of the rows that were read.
    GatheredPieces pieces;
    ASSERT_TRUE(read_pieces(file, 0, how, 8, 64, pieces));
    for (const auto& [first, count] : {std::pair<u64, u64>{8, 64}, {16, 40}, {64, 8}, {21, 2}}) {
      std::vector<std::byte> out(count * columns);
      gather_rows(how, pieces, first, count, out);
      std::vector<int> numbers;
      for (const std::byte number : out) numbers.push_back(static_cast<int>(number));
      expect_rows(numbers, first, count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Across, ManyNibbles, ::testing::Values(Kind::words_of_columns, Kind::codes_of_columns));

TEST(GatheredPlane, SomeValuesOfWhatWasReadForMore) {
  std::vector<u32> words(3 * 40);  // 3 columns of 40 rows
  for (u32 i = 0; i < words.size(); ++i) words[i] = 1000 * (i / 40) + i % 40;
  const MemoryFile file = file_of(words);
  const Gather gather = {Kind::values_of_columns, 32, 0, false, 160, 3};
  GatheredPieces pieces;
  ASSERT_TRUE(read_pieces(file, 0, gather, 2, 38, pieces));
  std::vector<u32> out(6);
  gather_rows(gather, pieces, 38, 2, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, (std::vector<u32>{38, 1038, 2038, 39, 1039, 2039}));
}

TEST(GatheredPlane, ReadsNothingBeyondTheFile) {
  const MemoryFile file = file_of({1});
  std::vector<std::byte> out(16);
  EXPECT_FALSE(read_gathered(file, 0, {Kind::codes_in_rows, 4, 0, false, 8, 16}, 0, 1, out));
}

}  // namespace
}  // namespace modelutils
