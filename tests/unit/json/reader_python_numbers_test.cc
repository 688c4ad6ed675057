// Python's json module writes Infinity and NaN, which are not standard JSON. They occur in the config.json of Mamba 2
// and Nemotron-H.
#include <gtest/gtest.h>

#include <limits>

#include "json/reader.h"

namespace modelutils::json {
namespace {

constexpr double largest = std::numeric_limits<double>::max();

TEST(PythonNumbers, InfinityIsTheLargestNumberAndNaNIsAbsent) {
  const auto document =
      parse(R"({"a": Infinity, "b":-Infinity, "c": NaN, "d": [0.0,Infinity], "s": "Infinity NaN \" NaN",
                                  "big": 18446744073709551616})",
            "t", Numbers::python);
  ASSERT_TRUE(document);
  const Element root = (*document)->root;
  EXPECT_EQ(number_member(root, "a"), largest);
  EXPECT_EQ(number_member(root, "b"), -largest);
  EXPECT_FALSE(member(root, "c"));
  EXPECT_EQ(array_member(root, "d")->size(), 2u);
  EXPECT_EQ(string_member(root, "s"), "Infinity NaN \" NaN");
  EXPECT_EQ(number_member(root, "big"), 18446744073709551616.0);
}

TEST(PythonNumbers, AreRefusedWhereTheStandardHolds) {
  for (const char* text : {"[Infinity]", "[-Infinity]", "[NaN]"}) {
    EXPECT_TRUE(parse(text, "t", Numbers::python)) << text;
    const auto document = parse(text, "t");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, "json-syntax");
  }
}

TEST(PythonNumbers, AreWordsOfTheirOwn) {
  for (const char* text :
       {"[1Infinity]", "[Infinity1]", "[--Infinity]", "[+Infinity]", "[-NaN]", "[NaNa]", "[1.Infinity]", "[Infinity.0]",
        "[xNaN]", "[1-Infinity]", "[infinity]", "[nan]", "[Infinity", "[Infinity Infinity]"}) {
    const auto document = parse(text, "t", Numbers::python);
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, "json-syntax");
  }
}

}  // namespace
}  // namespace modelutils::json
