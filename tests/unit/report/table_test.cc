#include "report/table.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "capture.h"

namespace modelutils {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string table(const std::vector<Column>& columns, const Rows& rows, std::size_t width, bool color = false) {
  return test::capture([&](TextOutput& out) {
    write_table(out, columns, rows.size(),
                [&](std::size_t row, std::vector<Cell>& cells) {
                  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = {rows[row][i], Paint::number};
                },
                {width, 1, true, Style(color)});
  });
}

TEST(Table, AlignsByTerminalColumns) {
  EXPECT_EQ(table({{"name"}, {"n", Align::right}}, {{"世界", "1"}, {"abcde", "22"}}, 0),
            " name    n\n"
            " 世界    1\n"
            " abcde  22\n");
}

TEST(Table, CutsWhatMayBeCutAndSaysSo) {
  EXPECT_EQ(table({{"a", Align::left, 4}, {"b", Align::left}}, {{"abcdefghij", "xyz"}}, 12),
            " a       b\n"
            " abcde…  xyz\n");
}

TEST(Table, CutsTheHigherRankFirst) {
  EXPECT_EQ(table({{"a", Align::left, 2}, {"b", Align::left, 3, 0, 1}}, {{"abcdef", "uvwxyz"}}, 12),
            " a       b\n"
            " abcdef  uv…\n");
}

TEST(Table, DropsColumnsByRankBeforeLinesGetTooLong) {
  const std::vector<Column> columns = {{"k"}, {"first", Align::left, 0, 2}, {"second", Align::left, 0, 1}};
  const Rows rows = {{"key", "1", "2"}};
  EXPECT_EQ(table(columns, rows, 19), " k    first  second\n key  1      2\n");
  EXPECT_EQ(table(columns, rows, 18), " k    second\n key  2\n");
  EXPECT_EQ(table(columns, rows, 11), " k\n key\n");
  EXPECT_EQ(table(columns, rows, 1), " k\n key\n");
}

TEST(Table, CutsNamesAtTheirLayer) {
  const std::vector<Column> columns = {{"name", Align::left, 10, 0, 0, true}, {"n"}};
  const Rows rows = {{"model.layers.12.self_attn.q_proj.weight", "1"}, {"model.embed_tokens.weight", "2"}};
  EXPECT_EQ(table(columns, rows, 37),
            " name                               n\n"
            " model.…12.self_attn.q_proj.weight  1\n"
            " model.embed_tokens.weight          2\n");
  EXPECT_EQ(table(columns, rows, 36),
            " name                              n\n"
            " …12.self_attn.q_proj.weight       1\n"
            " model.embed_tokens.weight         2\n");
  EXPECT_EQ(table(columns, rows, 24),
            " name                  n\n"
            " …12.…q_proj.weight    1\n"
            " model.embe…ns.weight  2\n");
}

// With 20 columns both would be "…1.…k_proj.weight"; so the names get more, at the expense of another column.
TEST(Table, NeverCutsTwoNamesToTheSameText) {
  const std::vector<Column> columns = {{"name", Align::left, 10, 0, 0, true}, {"x", Align::left, 0, 1}, {"n"}};
  const Rows rows = {{"model.layers.1.self_attn.k_proj.weight", "xxxxxxxx", "1"},
                     {"model.layers.1.cross_attn.k_proj.weight", "xxxxxxxx", "2"}};
  EXPECT_EQ(table(columns, rows, 34),
            " name                            n\n"
            " …1.self_attn.k_proj.weight      1\n"
            " …1.cross_attn.k_proj.weight     2\n");
  // A name that occurs twice is no reason to widen its column.
  EXPECT_EQ(table({columns[0], columns[2]}, {{rows[0][0], "1"}, {rows[0][0], "2"}}, 24),
            " name                  n\n"
            " …1.…k_proj.weight     1\n"
            " …1.…k_proj.weight     2\n");
}

// Several threads format chunks of rows: the widest cells may be anywhere, and the order must be preserved.
TEST(Table, ManyRowsStayInOrderAndInLine) {
  Rows rows;
  std::string expected = " n" + std::string(10, ' ') + "  text\n";
  for (std::size_t i = 0; i < 40'000; ++i) {
    const std::string number = std::to_string(i) + (i == 30'000 ? "012345" : "");
    const std::string text = i == 9'000 ? "twelve bytes" : "";
    rows.push_back({number, text});
    std::string line = " " + number;
    if (!text.empty()) line += std::string(11 - number.size(), ' ') + "  " + text;
    expected += line + "\n";
  }
  EXPECT_EQ(table({{"n"}, {"text", Align::left}}, rows, 0), expected);
}

TEST(Table, ColoursTakeNoRoom) {
  const std::string colored = table({{"a"}, {"b"}}, {{"x", "y"}}, 0, true);
  EXPECT_EQ(colored, " \033[1;4ma\033[0m  \033[1;4mb\033[0m\n \033[33mx\033[0m  \033[33my\033[0m\n");
}

TEST(Table, PaintsTypesByTheirBits) {
  EXPECT_EQ(type_paint(TensorType::F32), Paint::bits_16);
  EXPECT_EQ(type_paint(TensorType::BF16), Paint::bits_16);
  EXPECT_EQ(type_paint(TensorType::Q8_0), Paint::bits_8);
  EXPECT_EQ(type_paint(TensorType::Q6_K), Paint::bits_6);
  EXPECT_EQ(type_paint(TensorType::Q4_K), Paint::bits_4);
  EXPECT_EQ(type_paint(TensorType::IQ2_XXS), Paint::bits_2);
  EXPECT_EQ(type_paint(std::nullopt), Paint::bad);
  EXPECT_EQ(Style(true)(Paint::plain, "x"), "x");
  EXPECT_EQ(Style(true)(Paint::bad, ""), "");
}

}  // namespace
}  // namespace modelutils
