#include "json/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace modelutils::json {
namespace {

TEST(JsonWriter, Grammar) {
  Writer writer;
  writer.begin_object();
  writer.member("text", "a\"\x1b");
  writer.member("flag", true);
  writer.member("big", ~u64{0});
  writer.member("small", std::numeric_limits<i64>::min());
  writer.member("u32", u32{7});
  writer.member("i32", i32{-7});
  writer.key("list");
  writer.begin_array();
  writer.null();
  writer.begin_array();
  writer.end_array();
  writer.begin_object();
  writer.end_object();
  writer.end_array();
  writer.end_object();
  EXPECT_EQ(writer.text(),
            "{\"text\":\"a\\\"\\u001b\",\"flag\":true,\"big\":18446744073709551615,\"small\":-9223372036854775808,"
            "\"u32\":7,\"i32\":-7,\"list\":[null,[],{}]}");
}

TEST(JsonWriter, ScopesEndObjectsAndArrays) {
  Writer writer;
  {
    const auto outer = writer.object();
    {
      const auto list = writer.array("list");
      const auto inner = writer.object();
      writer.member("a", 1u);
    }
    const auto last = writer.object("last");
  }
  EXPECT_EQ(writer.text(), "{\"list\":[{\"a\":1}],\"last\":{}}");
}

TEST(JsonWriter, ScopesEndNothingOnceAnExceptionIsThrown) {
  Writer writer;
  try {
    const auto outer = writer.object();
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(writer.text(), "{");
}

TEST(JsonWriter, MembersWithoutAValue) {
  Writer writer;
  {
    const auto outer = writer.object();
    writer.member("absent", std::optional<u64>());
    writer.member("flag", std::optional(false));
    writer.member_or_null("null", std::optional<double>());
    writer.member_or_null("number", std::optional(0.5));
    writer.text_or_null("empty", "");
    writer.text_or_null("text", "t");
    writer.null_member("none");
    writer.values("values", std::vector<std::string>{"a", "b"});
  }
  EXPECT_EQ(writer.text(),
            "{\"flag\":false,\"null\":null,\"number\":0.5,\"empty\":null,\"text\":\"t\",\"none\":null,"
            "\"values\":[\"a\",\"b\"]}");
}

TEST(JsonWriter, Pretty) {
  Writer writer(Writer::Style::pretty);
  writer.begin_object();
  writer.member("a", 1u);
  writer.end_object();
  EXPECT_EQ(writer.text(), "{\n  \"a\": 1\n}");
}

TEST(JsonWriter, FloatingPoint) {
  Writer writer;
  writer.begin_array();
  writer.number(0.1);
  writer.number(0.1f);
  writer.number(static_cast<double>(1e-5f));
  writer.number(1e-5f);
  writer.number(NAN);
  writer.number(INFINITY);
  writer.number(-static_cast<double>(INFINITY));
  writer.decimal(500000.0f);
  writer.decimal(0.5f);
  writer.decimal(1e30f);
  writer.decimal(NAN);
  writer.end_array();
  EXPECT_EQ(writer.text(),
            "[0.1,0.1,9.999999747378752e-06,1e-05,\"NaN\",\"Infinity\",\"-Infinity\",500000.0,0.5,1e+30,\"NaN\"]");
}

TEST(JsonWriter, TextThatIsNoText) {
  Writer writer;
  writer.begin_object();
  writer.member("raw", std::string_view("\xff\x00", 2));
  writer.key("k\xff");
  writer.string("\xe2\x80\xae\xc2\x9b");
  writer.end_object();
  EXPECT_EQ(writer.text(), "{\"raw\":{\"base64\":\"/wA=\"},\"k\\ufffd\":\"\\u202e\\u009b\"}");
}

TEST(JsonWriter, LinesAndSink) {
  std::string received;
  std::size_t calls = 0;
  Writer writer(Writer::Style::compact, [&](std::string_view text) {
    received += text;
    ++calls;
  });
  std::string expected;
  for (int i = 0; i < 20000; ++i) {
    writer.begin_object();
    writer.member("number", i);
    writer.end_object();
    writer.end_line();
    expected += "{\"number\":" + std::to_string(i) + "}\n";
  }
  Writer moved = std::move(writer);
  moved.flush();
  EXPECT_EQ(received, expected);
  EXPECT_GT(calls, 2u);
  EXPECT_LT(calls, 20u);
}

}  // namespace
}  // namespace modelutils::json
