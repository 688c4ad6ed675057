#include "arch/row_view.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace modelutils::arch {
namespace {

std::vector<u64> rows_of(const RowView& view) {
  std::vector<u64> rows;
  for (u64 row = 0; row < view.rows(); ++row) rows.push_back(view.source_row(row));
  return rows;
}

std::vector<u64> rows_of(const char* text, const Sizes& sizes) {
  const auto view = resolve_view(text, sizes);
  return view ? rows_of(*view) : std::vector<u64>{};
}

std::vector<u64> covered(const RowView& view) {
  std::vector<u64> rows;
  EXPECT_TRUE(view.for_each_range([&](u64 first, u64 count) -> Status {
    for (u64 i = 0; i < count; ++i) rows.push_back(first + i);
    return {};
  }));
  return rows;
}

Sizes some_sizes() {
  Sizes sizes;
  sizes.set("H", 2);
  sizes.set("D", 8);
  sizes.set("X", 3);
  return sizes;
}

// The example of docs/conversion.md: with heads of eight rows, output rows take input rows 0, 4, 1, 5, 2, 6, 3, 7.
TEST(RowView, InterleavesTheHalvesOfHeads) {
  const auto view = resolve_view("H t:2 j:D/2 -> H j t", some_sizes());
  ASSERT_TRUE(view);
  EXPECT_EQ(rows_of(*view), (std::vector<u64>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15}));
  EXPECT_EQ(view->source_rows, 16u);
  EXPECT_EQ(view->dense_rows(), 8u);
  EXPECT_EQ(covered(*view).size(), 16u);
}

// The reverse, for the first rows of each head.
TEST(RowView, TakesPairsApart) {
  const auto view = resolve_view("H d:D -> H d/4", some_sizes());
  ASSERT_TRUE(view);
  EXPECT_EQ(rows_of(*view), (std::vector<u64>{0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15}));
  EXPECT_EQ(view->source_rows, 16u);
  EXPECT_EQ(view->dense_rows(), 8u);
  EXPECT_FALSE(view->is_run());
  EXPECT_EQ(rows_of("d:D -> d/D", some_sizes()), (std::vector<u64>{0, 2, 4, 6, 1, 3, 5, 7}));
  for (const char* text : {"H d:D -> H d/3", "H d:D -> H d/10", "H d:D -> H d/0", "H d:D -> H d/Q"}) {
    EXPECT_FALSE(resolve_view(text, some_sizes())) << text;
  }
}

TEST(RowView, PicksPlacesAndParts) {
  EXPECT_EQ(rows_of("X t:2 f:2 -> X t=1 f", some_sizes()), (std::vector<u64>{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(rows_of("X s:4 -> X s[1:3]", some_sizes()), (std::vector<u64>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(rows_of("X f:2 t:2 -> X f t=0", some_sizes()), (std::vector<u64>{0, 2, 4, 6, 8, 10}));
}

TEST(RowView, PassesOverTheFirstRows) {
  EXPECT_EQ(rows_of("skip:H+2 k:2 r:3 -> r k", some_sizes()), (std::vector<u64>{4, 7, 5, 8, 6, 9}));
  EXPECT_EQ(resolve_view("skip:4 X -> X", some_sizes())->source_rows, 7u);
  EXPECT_EQ(evaluate(source_rows_expression("skip:H+2 X d:D -> X d"), some_sizes()), 28u);
  EXPECT_FALSE(resolve_view("skip:4 -> X", some_sizes()));
}

TEST(RowView, TakesTheSameRowsSeveralTimes) {
  EXPECT_EQ(rows_of("X -> repeat:H X=1", some_sizes()), (std::vector<u64>{1, 1}));
  const auto view = resolve_view("X r:2 -> X=2 repeat:H r", some_sizes());
  ASSERT_TRUE(view);
  EXPECT_EQ(rows_of(*view), (std::vector<u64>{4, 5, 4, 5}));
  EXPECT_EQ(view->source_rows, 6u);
  EXPECT_EQ(covered(*resolve_view("X -> repeat:H X=1", some_sizes())), (std::vector<u64>{1, 1}));
  EXPECT_FALSE(resolve_view("X -> repeat:H-2 X=1", some_sizes()));
}

TEST(RowView, ElementsThatStayTogetherAreRuns) {
  // Two rows of 2 × 3 heads with eight columns each; the heads are reordered.
  const auto elements = resolve_view("e:2 k:2 r:3 d:D -> e r k d", some_sizes());
  ASSERT_TRUE(elements);
  const auto runs = elements->of_runs(48);
  ASSERT_TRUE(runs);
  EXPECT_EQ(rows_of(*runs), (std::vector<u64>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(runs->source_rows, 12u);
  EXPECT_FALSE(elements->of_runs(44));                                            // not whole runs
  EXPECT_FALSE(resolve_view("e:2 c:8 -> c e", some_sizes())->of_runs(8));         // a transposition
  EXPECT_FALSE(resolve_view("skip:3 e:2 c:8 -> e c", some_sizes())->of_runs(8));  // runs would start inside others
}

TEST(RowView, RangesCoverExactlyTheRows) {
  for (const char* text :
       {"X t:2 f:2 -> X t=1 f", "X f:2 t:2 -> X f t=0", "H c:3 d:4 -> c H d", "H D -> D H", "H d:D -> H d/4"}) {
    const auto view = resolve_view(text, some_sizes());
    ASSERT_TRUE(view) << text;
    std::vector<u64> wanted = rows_of(*view);
    std::vector<u64> found = covered(*view);
    std::sort(wanted.begin(), wanted.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, wanted) << text;
  }
}

TEST(RowView, RefusesWhatDoesNotResolve) {
  for (const char* text :
       {"H q:Q -> H q", "H D -> E", "H D -> H D[4:9]", "H D -> H D[3:3]", "H D -> D=8 H", "-> H", "H n:0 -> H n"}) {
    EXPECT_FALSE(resolve_view(text, some_sizes())) << text;
  }
}

TEST(RowView, TellsTheRowsOfItsSource) {
  EXPECT_EQ(evaluate(source_rows_expression("H t:2 j:D/2 -> H j t"), some_sizes()), 16u);
}

TEST(RowView, AWholeViewIsOneRange) {
  const RowView view = whole_view(5);
  EXPECT_EQ(rows_of(view), (std::vector<u64>{0, 1, 2, 3, 4}));
  EXPECT_EQ(view.dense_rows(), 1u);
  EXPECT_EQ(covered(view), (std::vector<u64>{0, 1, 2, 3, 4}));
}

TEST(RowView, WhichViewsAreRuns) {
  EXPECT_TRUE(whole_view(5).is_run());
  EXPECT_TRUE(run_of_rows(3, 2, 9).is_run());
  EXPECT_TRUE(resolve_view("a:2 b:3 -> a b", {})->is_run());
  EXPECT_TRUE(resolve_view("a:2 b:3 -> a=1 b", {})->is_run());
  EXPECT_TRUE(resolve_view("a:1 b:3 -> b a", {})->is_run());
  EXPECT_FALSE(resolve_view("a:2 b:3 -> b a", {})->is_run());
  EXPECT_FALSE(resolve_view("a:2 b:3 -> a b[0:2]", {})->is_run());
  EXPECT_FALSE(resolve_view("a:2 -> repeat:2 a", {})->is_run());
}

TEST(InverseView, FindsTheRowOfEveryRowOfTheSource) {
  for (const char* text :
       {"a:2 b:3 c:4 -> c a b", "skip:5 a:2 b:3 c:4 -> b c=2 a", "a:6 b:2 -> a[2:5] b=1", "a:2 b:6 -> a b/4"}) {
    const RowView view = *resolve_view(text, {});
    const InverseView inverse(view);
    std::vector<std::optional<u64>> rows(view.source_rows + 3);
    for (u64 row = 0; row < view.rows(); ++row) rows[view.source_row(row)] = row;
    for (u64 row = 0; row < rows.size(); ++row) EXPECT_EQ(inverse.row_of(row), rows[row]) << text << " " << row;
  }
}

}  // namespace
}  // namespace modelutils::arch
