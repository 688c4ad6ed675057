#include "base/parse_number.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace modelutils {

namespace {

u64 parsed_size(std::string_view text, u64 step = 1000) {
  u64 bytes = 0;
  EXPECT_EQ(parse_bytes(text, step, bytes), std::errc()) << text;
  return bytes;
}

std::errc error_of(std::string_view text) {
  u64 bytes = 0;
  return parse_bytes(text, 1000, bytes);
}

TEST(ParseBytes, UnitsArePowersOfTheStepOrOf1024) {
  EXPECT_EQ(parsed_size("0"), 0u);
  EXPECT_EQ(parsed_size("4096"), 4096u);
  EXPECT_EQ(parsed_size("3K"), 3000u);
  EXPECT_EQ(parsed_size("3mb"), 3000000u);
  EXPECT_EQ(parsed_size("3G", 1024), 3221225472u);
  EXPECT_EQ(parsed_size("3GiB"), 3221225472u);
  EXPECT_EQ(parsed_size("2TB"), 2000000000000u);
  EXPECT_EQ(parsed_size("2TiB"), 2199023255552u);
}

TEST(ParseBytes, FractionsAreExactAndRoundedDown) {
  EXPECT_EQ(parsed_size("1.5G"), 1500000000u);
  EXPECT_EQ(parsed_size("1.5G", 1024), 1610612736u);
  EXPECT_EQ(parsed_size("0.1K", 1024), 102u);  // 102.4
  EXPECT_EQ(parsed_size("1.0009KiB"), 1024u);  // 1024.92
  EXPECT_EQ(parsed_size("0.0009k"), 0u);
  EXPECT_EQ(parsed_size("0." + std::string(40, '9') + "K"), 999u);
  EXPECT_EQ(parsed_size("9007199254740993.0K"), 9007199254740993000u);  // 2^53 + 1: no double has it
  EXPECT_EQ(parsed_size("18446744073.709551615G"), std::numeric_limits<u64>::max());
}

TEST(ParseBytes, RefusesOtherTexts) {
  for (const std::string_view text : {"", "G", ".5G", "1.", "1.5", "1.G", "1.5.5G", "1,5G", "3B", "3GX", "3GBB", "3iB",
                                      "3Gi", "3GiX", "-1K", "+1K", " 1K", "1 K", "1e3"}) {
    EXPECT_EQ(error_of(text), std::errc::invalid_argument) << text;
  }
}

TEST(ParseBytes, RefusesSizesOf2To64AndMore) {
  EXPECT_EQ(parsed_size("18446744073709551615"), std::numeric_limits<u64>::max());
  for (const std::string_view text :
       {"18446744073709551616", "18446744073.709551616G", "16777216TiB", "99999999999999999999999", "20000000T"}) {
    EXPECT_EQ(error_of(text), std::errc::result_out_of_range) << text;
  }
}

}  // namespace

}  // namespace modelutils
