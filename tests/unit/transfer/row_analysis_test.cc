#include "transfer/row_analysis.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

void append(std::vector<std::byte>& file, const void* from, std::size_t bytes) {
  file.insert(file.end(), static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
}

// Codes across the rows, as in AWQ: two words of eight rows per column. Zero points are 8 and scales 1 unless given.
class CodesAcross : public ::testing::Test {
 protected:
  static constexpr u64 rows = 16, columns = 96, group = 32, groups = columns / group;

  CodesAcross() {
    params_.has_zeros = true;
    params_.group = group;
    params_.codes = {Gather::Kind::codes_of_columns, 4, 0, false, 8, columns};
    params_.zeros = {Gather::Kind::codes_of_columns, 4, 0, false, 8, groups};
    params_.scales = {Gather::Kind::values_of_columns, 16, 0, false, 2 * rows, groups};
  }

  static void set(std::vector<u32>& words, u64 row, u64 column, u32 code) {
    u32& word = words[2 * column + row / 8];
    const u64 at = row % 8 * 4;
    word = (word & ~(15u << at)) | code << at;
  }

  ScaleAnalysis analyse(ScaleAnalysis analysis = {}) {
    std::vector<std::byte> bytes;
    append(bytes, codes_.data(), codes_.size() * 4);
    append(bytes, zeros_.data(), zeros_.size() * 4);
    append(bytes, scales_.data(), scales_.size() * 2);
    const MemoryFile file(std::move(bytes));
    const StoredForm form = integer_form(params_, TensorType::F16);
    AnalysedRows of;
    u64 offset = 0;
    for (const std::size_t plane : {0u, 1u, 2u}) of.layouts[plane] = form_info(form).plane(form, plane, columns);
    of.planes[0] = {&file, offset};
    offset += codes_.size() * 4;
    of.planes[2] = {&file, offset};
    offset += zeros_.size() * 4;
    of.planes[1] = {&file, offset};
    EXPECT_TRUE(analyse_rows(form, columns, of, 0, rows, analysis));
    return analysis;
  }

  IntegerParams params_;
  std::vector<u32> codes_ = std::vector<u32>(2 * columns, 0x88888888);
  std::vector<u32> zeros_ = std::vector<u32>(2 * groups, 0x88888888);
  std::vector<u16> scales_ = std::vector<u16>(rows * groups, 0x3C00);
};

TEST_F(CodesAcross, EveryGroupOfEveryRowIsLookedAt) {
  EXPECT_EQ(analyse().least, 0);
  set(codes_, 11, 40, 15);  // group 1, zero point 3
  set(zeros_, 11, 1, 3);
  set(codes_, 5, 95, 1);  // group 2, zero point 12
  set(zeros_, 5, 2, 12);
  const ScaleAnalysis seen = analyse();
  EXPECT_EQ(seen.greatest, 12);
  EXPECT_EQ(seen.least, -11);
  EXPECT_EQ(seen.values, rows * groups);
  EXPECT_FALSE(seen.is_settled);
}

TEST_F(CodesAcross, WhatIsSettledIsNotReadOn) {
  ScaleAnalysis before;
  before.scales_fit = true;
  before.least_possible = -8;
  before.greatest_possible = 7;
  const ScaleAnalysis seen = analyse(before);
  EXPECT_TRUE(seen.is_settled);
  EXPECT_EQ(seen.values, rows) << "one group of each row";
}

TEST_F(CodesAcross, ScalesThatAreNoNumbersAreCounted) {
  scales_[2 * rows + 3] = 0x7E00;
  scales_[5] = 0xFC00;
  EXPECT_EQ(analyse().not_finite, 2u);
}

}  // namespace
}  // namespace modelutils
