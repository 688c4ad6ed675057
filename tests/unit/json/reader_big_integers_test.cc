// Integers beyond 64 bits are valid JSON. Nearly every tokenizer_config.json has one: transformers writes "no limit" as
// 1000000000000000019884624838656.
#include <gtest/gtest.h>

#include "json/reader.h"

namespace modelutils::json {
namespace {

TEST(BigIntegers, BecomeDoubles) {
  const auto document =
      parse(R"({"model_max_length": 1000000000000000019884624838656, "n": -9223372036854775809})", "t");
  ASSERT_TRUE(document);
  EXPECT_EQ(number_member((*document)->root, "model_max_length"), 1e30);
  EXPECT_FALSE(u64_member((*document)->root, "model_max_length"));
  EXPECT_EQ(number_member((*document)->root, "n"), -9223372036854775808.0);
}

TEST(BigIntegers, OfEveryLengthAndSignBecomeDoubles) {
  const std::pair<const char*, double> cases[] = {
      {"18446744073709551616", 18446744073709551616.0},
      {"19999999999999999999", 2e19},
      {"20000000000000000000", 2e19},
      {"99999999999999999999", 1e20},
      {"184467440737095516150", 184467440737095516150.0},
      {"-9223372036854775809", -9223372036854775808.0},
      {"-10000000000000000000", -1e19},
      {"-18446744073709551616", -18446744073709551616.0},
  };
  for (const auto& [text, value] : cases) {
    const auto document = parse("{\"n\":" + std::string(text) + "}", "t");
    ASSERT_TRUE(document) << text;
    EXPECT_EQ(number_member((*document)->root, "n"), value) << text;
    EXPECT_FALSE(u64_member((*document)->root, "n")) << text;
    EXPECT_FALSE(i64_member((*document)->root, "n")) << text;
  }
}

TEST(BigIntegers, LeaveEverythingElseAlone) {
  const auto document = parse(
      R"({"big": 18446744073709551616, "u": 18446744073709551615, "i": -9223372036854775808, "d": 1.5e+3,
          "s": "99999999999999999999999999 \" 88888888888888888888888", "\\": 7})",
      "t");
  ASSERT_TRUE(document);
  EXPECT_EQ(number_member((*document)->root, "big"), 18446744073709551616.0);
  EXPECT_EQ(u64_member((*document)->root, "u"), 18446744073709551615u);
  EXPECT_EQ(i64_member((*document)->root, "i"), INT64_MIN);
  EXPECT_EQ(number_member((*document)->root, "d"), 1500.0);
  EXPECT_EQ(string_member((*document)->root, "s"), "99999999999999999999999999 \" 88888888888888888888888");
  EXPECT_EQ(u64_member((*document)->root, "\\"), 7u);
}

TEST(BigIntegers, DoNotMakeBadNumbersGood) {
  for (const char* text : {"[01]", "[1e999, 18446744073709551616]", "[-]", "[00000000000000000000000001]", "[1.]",
                           "[-00000000000000000000000001]", "[+18446744073709551616]", "[184467440737095516150 1]",
                           "[184467440737095516150", "[1e]", "[0x1]", "[.5]"}) {
    const auto document = parse(text, "t");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, "json-syntax");
  }
}

}  // namespace
}  // namespace modelutils::json
