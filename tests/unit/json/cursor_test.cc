#include "json/cursor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace modelutils::json {
namespace {

/// A cursor over a copy of the text in memory of exactly its size, so that sanitizers find reads beyond the end.
struct Reader {
  explicit Reader(std::string_view text, std::size_t max_depth = Cursor::deepest, Numbers numbers = Numbers::standard)
      : bytes(new char[text.size()]), cursor({bytes.get(), text.copy(bytes.get(), text.size())}, max_depth, numbers) {}

  std::unique_ptr<char[]> bytes;
  Cursor cursor;
};

struct Outcome {
  SyntaxError error = SyntaxError::none;
  std::size_t offset = 0;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << syntax_text(outcome.error) << " at " << outcome.offset;
}

/// Validates the whole text.
Outcome checked(std::string_view text, std::size_t max_depth = Cursor::deepest, Numbers numbers = Numbers::standard) {
  Reader reader(text, max_depth, numbers);
  const bool is_good = reader.cursor.skip() && reader.cursor.finish();
  EXPECT_NE(is_good, reader.cursor.failed());
  return {reader.cursor.error(), reader.cursor.error_offset()};
}

std::string in_quotes(std::string_view inside) {
  return "\"" + std::string(inside) + "\"";
}

/// The string that the JSON string `text` stands for, or nullopt.
std::optional<std::string> unescaped(std::string_view text) {
  Reader reader(text);
  std::string_view out;
  if (reader.cursor.next() != Kind::string || !reader.cursor.string(out)) return std::nullopt;
  return std::string(out);
}

std::optional<Number> number(std::string_view text) {
  Reader reader(text);
  Number number;
  if (reader.cursor.next() != Kind::number || !reader.cursor.number(number) || !reader.cursor.finish()) {
    return std::nullopt;
  }
  EXPECT_EQ(number.text, text);
  return number;
}

TEST(Cursor, SaysWhatIsWrongAndWhere) {
  using enum SyntaxError;
  const std::tuple<std::string_view, SyntaxError, std::size_t> cases[] = {
      {"", empty, 0},
      {" \n\t\r", empty, 4},
      {"\xef\xbb\xbf{}", byte_order_mark, 0},
      {"\xef\xbb", utf8, 0},
      {"[1 2]", structure, 3},
      {"[1,]", structure, 3},
      {"[,1]", structure, 1},
      {"[1}", structure, 2},
      {"[1]]", structure, 3},
      {"{} x", structure, 3},
      {"{}{}", structure, 2},
      {"{\"a\" 1}", structure, 5},
      {"{\"a\":}", structure, 5},
      {"{\"a\":1,}", structure, 7},
      {"{\"a\":1 \"b\":2}", structure, 7},
      {"{\"a\",1}", structure, 4},
      {"{1:2}", structure, 1},
      {"{'a':1}", structure, 1},
      {"{a:1}", structure, 1},
      {"{]", structure, 1},
      {"{}\v", structure, 2},
      {std::string_view("{}\0", 3), structure, 2},
      {"[/**/]", structure, 1},
      {"[+1]", structure, 1},
      {"[.5]", structure, 1},
      {"\xc2\xa0{}", structure, 0},
      {"[1,\xff]", utf8, 3},
      {"{} \xff", utf8, 3},
      {"{", incomplete, 1},
      {"[1, ", incomplete, 4},
      {"{\"a\"", incomplete, 4},
      {"{\"a\":[]", incomplete, 7},
      {"nul", word, 0},
      {"[ truth]", word, 2},
      {"[nullx]", word, 1},
      {"[true1]", word, 1},
      {"[True]", word, 1},
      {"[NaN]", word, 1},
      {"[Infinity]", word, 1},
      {"[01]", number, 1},
      {"[-]", number, 1},
      {"[-01]", number, 1},
      {"[1.]", number, 1},
      {"[1.e5]", number, 1},
      {"[1e]", number, 1},
      {"[1e+]", number, 1},
      {"[0x2]", number, 1},
      {"[1.2.3]", number, 1},
      {"[1-2]", number, 1},
      {"[2a]", number, 1},
      {"[-Infinity]", number, 1},
      {"[2,1e999]", number, 3},
      {"\"", unclosed_string, 1},
      {"{\"a", unclosed_string, 3},
      {"[\"a\\\"]", unclosed_string, 6},
      {"\"a\\", unclosed_string, 3},
      {"[\"a\n\"]", control, 3},
      {std::string_view("\"\0\"", 3), control, 1},
      {"\"\\\n\"", control, 2},
      {"[\"ab\\q\"]", escape, 4},
      {"\"\\u12g4\"", escape, 1},
      {"\"\\u12\"", escape, 1},
      {"\"\\U0041\"", escape, 1},
      {"{\"\\ud800\":1}", escape, 2},
      {"\"ab\xff\"", utf8, 3},
      {"\"\xc0\xaf\"", utf8, 1},
      {"\"\xe0\x80\x80\"", utf8, 1},
      {"\"\xed\xa0\x80\"", utf8, 1},
      {"\"\xf4\x90\x80\x80\"", utf8, 1},
      {"\"\xe2\x82\"", utf8, 1},
      {"\"\xf0\x9f\x98", utf8, 1},
      {"\"\\q\xff\"", utf8, 3},
  };
  for (const auto& [text, error, offset] : cases) EXPECT_EQ(checked(text), (Outcome{error, offset})) << text;
}

TEST(Cursor, ReadsEveryKindOfValue) {
  const Outcome good;
  for (const char* text : {"{}", "[]", " [ ] ", "0", "-0", "1.5E-3", "\"\"", "true", "false", "null", "\"\x7f\"",
                           "{\"a\":[1,{\"b\":null}],\"\":\"\"}", "\t{\r\n\"a\" : [ 1 , 2 ] , \"b\":{ } }\n"}) {
    EXPECT_EQ(checked(text), good) << text;
  }
}

TEST(Cursor, EveryPrefixIsAnError) {
  const std::string text =
      "{\"key\": [1, -2.5e+3, \"plain text longer than a block \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\u00e9 "
      "\\ud83d\\ude00 \\n end\", true, false, null, {\"a\": []}], \"last\": {}}";
  EXPECT_EQ(checked(text), Outcome());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Outcome outcome = checked(std::string_view(text).substr(0, size));
    EXPECT_NE(outcome.error, SyntaxError::none) << size;
    EXPECT_NE(outcome.error, SyntaxError::structure) << size;
    EXPECT_LE(outcome.offset, size);
  }
}

TEST(Cursor, NestingIsLimited) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  for (const std::size_t limit : {std::size_t{1}, std::size_t{128}, Cursor::deepest}) {
    EXPECT_EQ(checked(nested(limit), limit), Outcome()) << limit;
    EXPECT_EQ(checked(nested(limit + 1), limit), (Outcome{SyntaxError::depth, limit})) << limit;
  }
  EXPECT_EQ(checked(nested(1025), 5000), (Outcome{SyntaxError::depth, 1024})) << "the limit itself is limited";
  EXPECT_EQ(checked("[[],[[]],{\"a\":{}}]", 3), Outcome()) << "depth, not the number of brackets";
  EXPECT_EQ(checked("1", 0), Outcome());
}

TEST(Cursor, Unescapes) {
  EXPECT_EQ(unescaped(R"("\" \\ \/ \b \f \n \r \t")"), "\" \\ / \b \f \n \r \t");
  EXPECT_EQ(unescaped(R"("\u0041\u00e9\u20AC\u0000x")"), std::string("A\u00e9\u20ac\0x", 8));
  EXPECT_EQ(unescaped(R"("a\ud83d\ude00b\uD800\uDC00\udbff\udfff")"), "a\U0001F600b\U00010000\U0010FFFF");
  for (const char* half : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d")", R"("\ud83dx")", R"("\ud83d\n")",
                           R"("\ud83d\u0041")", R"("\ud83d\ude0")"}) {
    EXPECT_FALSE(unescaped(half)) << half;
  }
}

// Blocks of bytes are compared at once; this puts each special character at each place of a block.
TEST(Cursor, FindsSpecialCharactersAtEveryPlace) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t behind = 0; behind < 20; ++behind) {
      const std::string head(before, 'a');
      const std::string tail(behind, 'b');
      EXPECT_EQ(unescaped(in_quotes(head + tail)), head + tail);
      EXPECT_EQ(unescaped(in_quotes(head + "\\n" + tail)), head + "\n" + tail);
      EXPECT_EQ(unescaped(in_quotes(head + "\\\"\\\\" + tail)), head + "\"\\" + tail);
      EXPECT_EQ(unescaped(in_quotes(head + "\xc3\xa9\x7f" + tail)), head + "\xc3\xa9\x7f" + tail);
      for (const char control : {'\0', '\t', '\x1f'}) {
        EXPECT_EQ(checked(in_quotes(head + control + tail)), (Outcome{SyntaxError::control, 1 + before}));
      }
      EXPECT_EQ(checked(in_quotes(head + "\x80" + tail)), (Outcome{SyntaxError::utf8, 1 + before}));
      EXPECT_EQ(checked("[" + std::string(before, ' ') + "1" + std::string(behind, '\n') + ",\v]"),
                (Outcome{SyntaxError::structure, before + behind + 3}));
    }
  }
}

TEST(Cursor, NumbersKeepTheirForm) {
  using Form = Number::Form;
  const std::pair<const char*, u64> naturals[] = {{"0", 0},
                                                  {"7", 7},
                                                  {"999999999999999999", 999999999999999999},
                                                  {"1000000000000000000", 1000000000000000000},
                                                  {"9999999999999999999", 9999999999999999999u},
                                                  {"18446744073709551615", ~u64{0}}};
  for (const auto& [text, value] : naturals) {
    ASSERT_TRUE(number(text)) << text;
    EXPECT_EQ(number(text)->form, Form::natural) << text;
    EXPECT_EQ(number(text)->natural, value) << text;
  }
  const std::pair<const char*, i64> negatives[] = {
      {"-0", 0}, {"-7", -7}, {"-999999999999999999", -999999999999999999}, {"-9223372036854775808", INT64_MIN}};
  for (const auto& [text, value] : negatives) {
    ASSERT_TRUE(number(text)) << text;
    EXPECT_EQ(number(text)->form, Form::negative) << text;
    EXPECT_EQ(number(text)->negative, value) << text;
  }
  const std::pair<const char*, double> decimals[] = {
      {"1.0", 1},
      {"-2.5", -2.5},
      {"1e2", 100},
      {"1E-7", 1e-7},
      {"18446744073709551616", 0x1p64},
      {"-9223372036854775809", -0x1p63},
      {"1000000000000000019884624838656", 0x1.93e5939a08ceap+99},
      {"0.1", 0x1.999999999999ap-4},
      {"9007199254740993.0", 0x1p53},
      {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"4.9e-324", 0x1p-1074},
      {"2.4e-324", 0},
      {"1e-400", 0},
      {"1e-99999999999999999999", 0},
      {"0e99999999999999999999", 0},
  };
  for (const auto& [text, value] : decimals) {
    ASSERT_TRUE(number(text)) << text;
    EXPECT_EQ(number(text)->form, Form::decimal) << text;
    EXPECT_EQ(number(text)->decimal, value) << text;
  }
  EXPECT_TRUE(std::signbit(number("-1e-400")->decimal));
  const std::string zeros(400, '0');
  EXPECT_EQ(number("0." + zeros + "1")->decimal, 0);
  EXPECT_EQ(number("1" + zeros + "e-800")->decimal, 0);
  EXPECT_EQ(number("1" + zeros + "e-400")->decimal, 1);
  EXPECT_EQ(number("0." + zeros + "1e401")->decimal, 1);
  for (const std::string& large : {"1" + zeros, "-1" + zeros, std::string("1e309"), "0." + zeros + "1e800",
                                   std::string("1e99999999999999999999")}) {
    EXPECT_FALSE(number(large)) << large;
  }
}

TEST(Cursor, ReadsMembersAndElements) {
  Reader reader(R"( {"a": [7, [], "x"], "b\n" :true, "c":null})");
  Cursor& cursor = reader.cursor;
  ASSERT_EQ(cursor.next(), Kind::object);
  EXPECT_EQ(cursor.offset(), 1u);
  ASSERT_TRUE(cursor.enter());
  std::string_view text;
  ASSERT_TRUE(cursor.member(text));
  EXPECT_EQ(text, "a");
  EXPECT_EQ(text.data(), reader.bytes.get() + 3) << "a view into the text";
  EXPECT_EQ(cursor.key_offset(), 2u);
  ASSERT_EQ(cursor.next(), Kind::array);
  ASSERT_TRUE(cursor.enter());
  ASSERT_TRUE(cursor.element());
  Number number;
  ASSERT_EQ(cursor.next(), Kind::number);
  ASSERT_TRUE(cursor.number(number));
  EXPECT_EQ(number.natural, 7u);
  ASSERT_TRUE(cursor.element());
  EXPECT_TRUE(cursor.skip());
  ASSERT_TRUE(cursor.element());
  ASSERT_EQ(cursor.next(), Kind::string);
  ASSERT_TRUE(cursor.string(text));
  EXPECT_EQ(text, "x");
  EXPECT_FALSE(cursor.element());
  EXPECT_FALSE(cursor.failed()) << "the end of the array";
  ASSERT_TRUE(cursor.member(text));
  EXPECT_EQ(text, "b\n");
  EXPECT_EQ(cursor.key_offset(), 21u);
  bool truth = false;
  ASSERT_EQ(cursor.next(), Kind::boolean);
  ASSERT_TRUE(cursor.boolean(truth));
  EXPECT_TRUE(truth);
  ASSERT_TRUE(cursor.member(text));
  ASSERT_EQ(cursor.next(), Kind::null);
  EXPECT_TRUE(cursor.null());
  EXPECT_FALSE(cursor.member(text));
  EXPECT_TRUE(cursor.at_end());
  EXPECT_TRUE(cursor.finish());
}

TEST(Cursor, ReadsOnAfterAnInvalidEscapeIfAsked) {
  Reader reader(R"({"a\q":"\ud800","b":"c"})");
  Cursor& cursor = reader.cursor;
  ASSERT_EQ(cursor.next(), Kind::object);
  cursor.enter();
  std::string_view text;
  bool bad_escape = false;
  ASSERT_TRUE(cursor.member(text, &bad_escape));
  EXPECT_TRUE(bad_escape);
  ASSERT_EQ(cursor.next(), Kind::string);
  bad_escape = false;
  ASSERT_TRUE(cursor.string(text, &bad_escape));
  EXPECT_TRUE(bad_escape);
  EXPECT_EQ(text, "");
  ASSERT_TRUE(cursor.member(text, &bad_escape));
  EXPECT_FALSE(bad_escape);
  EXPECT_EQ(text, "b");
  ASSERT_TRUE(cursor.skip());
  EXPECT_FALSE(cursor.member(text, &bad_escape));
  EXPECT_TRUE(cursor.finish());
}

TEST(Cursor, ReadsNothingAfterAnError) {
  Reader reader("[1 2, 3]");
  Cursor& cursor = reader.cursor;
  ASSERT_EQ(cursor.next(), Kind::array);
  cursor.enter();
  ASSERT_TRUE(cursor.element());
  ASSERT_TRUE(cursor.skip());
  EXPECT_FALSE(cursor.element());
  std::string_view text;
  EXPECT_FALSE(cursor.element());
  EXPECT_FALSE(cursor.member(text));
  EXPECT_EQ(cursor.next(), Kind::none);
  EXPECT_FALSE(cursor.skip());
  EXPECT_FALSE(cursor.at_end());
  EXPECT_FALSE(cursor.finish());
  EXPECT_EQ(cursor.error(), SyntaxError::structure) << "the first error stays";
  EXPECT_EQ(cursor.error_offset(), 3u);
}

}  // namespace
}  // namespace modelutils::json
