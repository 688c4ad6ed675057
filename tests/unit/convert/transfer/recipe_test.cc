#include "convert/transfer/recipe.h"

#include <gtest/gtest.h>

#include <bit>
#include <utility>

namespace modelutils {

// Gathers a part's units in the target's order, and counts the reads of the source.

namespace {

constexpr u64 unit_bytes = 2;

// Source unit u consists of the bytes u and u + 1. Units from other parts stay 255.
struct Gathered {
  std::vector<u8> units;
  std::vector<std::pair<u64, u64>> reads;  // first unit, count
};

Gathered gather(const RecipePart& part, u64 first, u64 count) {
  std::vector<std::byte> bytes(count * unit_bytes, std::byte{255});
  Gathered result;
  const auto read = [&](u64 unit, u64 some, MutableBytes out) -> Status {
    EXPECT_EQ(out.size(), some * unit_bytes);
    EXPECT_LE(unit + some, part.from.source_rows);
    result.reads.emplace_back(unit, some);
    for (u64 i = 0; i < some; ++i) {
      out[i * unit_bytes] = static_cast<std::byte>(unit + i);
      out[i * unit_bytes + 1] = static_cast<std::byte>(unit + i + 1);
    }
    return {};
  };
  EXPECT_TRUE(gather_units(PartUnits(part), first, count, unit_bytes, bytes, read));
  for (u64 i = 0; i < count; ++i) {
    result.units.push_back(static_cast<u8>(bytes[i * unit_bytes]));
    const bool is_read = result.units.back() != 255;
    EXPECT_EQ(bytes[i * unit_bytes + 1], is_read ? static_cast<std::byte>(result.units.back() + 1) : std::byte{255});
  }
  return result;
}

arch::RowView view(const char* text) {
  return *arch::resolve_view(text, {});
}

using Reads = std::vector<std::pair<u64, u64>>;

TEST(Operations, SoftplusAndItsInverse) {
  EXPECT_FLOAT_EQ(apply_operation(arch::Operation::softplus, 0, 0.0f), 0.6931472f);
  EXPECT_FLOAT_EQ(apply_operation(arch::Operation::softplus, 0, -2.0f), 0.126928f);
  EXPECT_EQ(apply_operation(arch::Operation::softplus, 0, 25.0f), 25.0f);
  // BF16 has -2: it is preferred among the values that give the same result.
  EXPECT_EQ(undo_operation(arch::Operation::softplus, 0, apply_operation(arch::Operation::softplus, 0, -2.0f)), -2.0f);
  EXPECT_EQ(undo_operation(arch::Operation::softplus, 0, apply_operation(arch::Operation::softplus, 0, 0.5f)), 0.5f);
}

TEST(Operations, ExpAndItsInverse) {
  EXPECT_FLOAT_EQ(apply_operation(arch::Operation::exp, 0, -1.0f), 0.36787945f);
  EXPECT_EQ(undo_operation(arch::Operation::exp, 0, apply_operation(arch::Operation::exp, 0, -1.5f)), -1.5f);
  EXPECT_EQ(apply_operation(arch::Operation::unit_rows, 0, 3.0f), 3.0f) << "the reader divides whole rows";
}

// The numbers nearest to e^x and to ln(1 + y), where y is e^x as a float, from a calculation with 60 digits. With
// fmaf() of mingw-w64, and with log1pf() of glibc and mingw-w64, the last bits differ.
TEST(Operations, ExpAndSoftplusAreTheSameOnEverySystem) {
  EXPECT_EQ(apply_operation(arch::Operation::exp, 0, -9.859375f), std::bit_cast<float>(0x385b2c61));
  EXPECT_EQ(apply_operation(arch::Operation::exp, 0, -9.84375f), std::bit_cast<float>(0x385e9ff5));
  EXPECT_EQ(apply_operation(arch::Operation::exp, 0, -10.09375f), std::bit_cast<float>(0x382d6161));
  EXPECT_EQ(apply_operation(arch::Operation::neg_exp, 0, -12.171875f), -std::bit_cast<float>(0x36ad9bdb));
  EXPECT_EQ(apply_operation(arch::Operation::softplus, 0, -4.984375f), std::bit_cast<float>(0x3bdf8083));
  EXPECT_EQ(apply_operation(arch::Operation::softplus, 0, -4.921875f), std::bit_cast<float>(0x3beddd4d));
  EXPECT_EQ(apply_operation(arch::Operation::softplus, 0, -4.5625f), std::bit_cast<float>(0x3c2a18ac));
}

TEST(GatherUnits, ARunIsReadAtOnce) {
  const RecipePart part{0, arch::run_of_rows(10, 4, 20), arch::run_of_rows(3, 4, 8)};
  const Gathered all = gather(part, 0, 8);
  EXPECT_EQ(all.units, (std::vector<u8>{255, 255, 255, 10, 11, 12, 13, 255}));
  EXPECT_EQ(all.reads, (Reads{{10, 4}}));
  EXPECT_EQ(gather(part, 4, 2).units, (std::vector<u8>{11, 12}));
  EXPECT_EQ(gather(part, 4, 2).reads, (Reads{{11, 2}}));
  EXPECT_TRUE(gather(part, 7, 1).reads.empty());
  EXPECT_TRUE(gather(part, 0, 3).reads.empty());
}

// The halves of each head are interleaved: one read per head.
TEST(GatherUnits, AStretchIsReadAtOnceWhateverItsOrder) {
  const RecipePart part{0, view("H:2 t:2 j:3 -> H j t"), arch::whole_view(12)};
  const Gathered all = gather(part, 0, 12);
  EXPECT_EQ(all.units, (std::vector<u8>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(all.reads, (Reads{{0, 12}}));
  EXPECT_EQ(gather(part, 6, 6).reads, (Reads{{6, 6}}));
}

// The inverse: takes them apart again.
TEST(GatherUnits, WhatWasTakenApartGoesBack) {
  const RecipePart part{0, arch::whole_view(12), view("H:2 t:2 j:3 -> H j t")};
  EXPECT_EQ(gather(part, 0, 12).units, (std::vector<u8>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
  EXPECT_EQ(gather(part, 1, 3).units, (std::vector<u8>{2, 4, 1}));
}

// One of two interleaved tensors of the target, from the middle of its source.
TEST(GatherUnits, UnitsOfOtherPartsAreLeftAlone) {
  const RecipePart part{0, arch::run_of_rows(5, 4, 9), view("h:4 s:3 -> h s=1")};
  const Gathered all = gather(part, 0, 12);
  EXPECT_EQ(all.units, (std::vector<u8>{255, 5, 255, 255, 6, 255, 255, 7, 255, 255, 8, 255}));
  EXPECT_EQ(all.reads, (Reads{{5, 1}, {6, 1}, {7, 1}, {8, 1}}));
  EXPECT_EQ(gather(part, 10, 2).units, (std::vector<u8>{8, 255}));
}

// If every second unit is needed, all are read; if every fourth, each is read separately.
TEST(GatherUnits, ReadsAtMostTwiceWhatIsWanted) {
  const RecipePart second{0, view("h:50 s:2 -> h s=1"), arch::whole_view(50)};
  EXPECT_EQ(gather(second, 0, 50).reads, (Reads{{1, 99}}));
  const RecipePart fourth{0, view("h:50 s:4 -> h s=1"), arch::whole_view(50)};
  const Gathered all = gather(fourth, 0, 50);
  EXPECT_EQ(all.reads.size(), 50u);
  EXPECT_EQ(all.units[49], 197);
}

TEST(GatherUnits, AUnitCanBeWantedTwice) {
  const RecipePart part{0, view("h:2 -> h repeat:3"), arch::whole_view(6)};
  EXPECT_EQ(gather(part, 0, 6).units, (std::vector<u8>{0, 0, 0, 1, 1, 1}));
}

TEST(GatherUnits, AFailedReadEndsIt) {
  const RecipePart part{0, view("h:50 s:4 -> h s=1"), arch::whole_view(50)};
  std::vector<std::byte> bytes(100);
  u64 reads = 0;
  const Status status = gather_units(PartUnits(part), 0, 50, unit_bytes, bytes, [&](u64, u64, MutableBytes) -> Status {
    return ++reads < 3 ? Status{} : input_error("io-read", "ends");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "io-read");
  EXPECT_EQ(reads, 3u);
}

TEST(RecipePart, EachExpertHasItsFactor) {
  RecipePart part{0, arch::run_of_rows(4, 8, 12), arch::whole_view(8), {2, 3, 5}};
  EXPECT_EQ(part.factor_of(3), 2);
  EXPECT_EQ(part.factor_of(4), 3);
  EXPECT_EQ(part.factor_of(11), 5);
  part.factors = {7};
  EXPECT_EQ(part.factor_of(11), 7);
  part.factors.clear();
  EXPECT_EQ(part.factor_of(11), 1);
}

TEST(PartUnits, WhereAPartIs) {
  const RecipePart part{0, arch::run_of_rows(5, 4, 9), view("h:4 s:3 -> h s=1")};
  const PartUnits units(part);
  EXPECT_EQ(units.begin(), 1u);
  EXPECT_EQ(units.end(), 11u);
  EXPECT_FALSE(units.is_run());
  EXPECT_EQ(units.source_of(7), 7u);
  EXPECT_EQ(units.source_of(0), std::nullopt);
  EXPECT_EQ(units.source_of(8), std::nullopt);
  EXPECT_EQ(units.source_of(13), std::nullopt);
}

}  // namespace

}  // namespace modelutils
