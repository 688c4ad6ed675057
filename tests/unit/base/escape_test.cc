#include "base/escape.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace modelutils {
namespace {

using namespace std::string_view_literals;

std::string json_escaped(std::string_view text) {
  std::string out;
  append_json_escaped(out, text);
  return out;
}

TEST(Escape, ForATerminal) {
  EXPECT_EQ(escape("plain \"text\""), "plain \"text\"");
  EXPECT_EQ(escape("Grüße 你好 🙂"), "Grüße 你好 🙂");
  EXPECT_EQ(escape("a\nb\rc\td\\e"), "a\\nb\\rc\\td\\\\e");
  EXPECT_EQ(escape("\0\x1b[31m\x7f"sv), "\\u{0}\\u{1b}[31m\\u{7f}");
  EXPECT_EQ(escape("\xc2\x9b"
                   "1m"),
            "\\u{9b}1m")
      << "C1";
  EXPECT_EQ(escape("a\xe2\x80\xae"
                   "b\xe2\x80\x8b\xef\xbb\xbf"),
            "a\\u{202e}b\\u{200b}\\u{feff}");
  EXPECT_EQ(escape("\xf3\xa0\x81\x81"), "\\u{e0041}") << "tag characters";
  EXPECT_EQ(escape("\xff\xfe-\xc0\x80-\xed\xa0\x80-\xe2\x82"), "\\xff\\xfe-\\xc0\\x80-\\xed\\xa0\\x80-\\xe2\\x82");
}

TEST(Escape, NeverLeavesAnythingUnsafe) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 61) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(needs_escape(text), is_unsafe(c)) << static_cast<u32>(c);
    for (const std::string& safe : {escape(text), json_escaped(text), csv_field(text), escape(text, 5)}) {
      EXPECT_FALSE(needs_escape(safe)) << static_cast<u32>(c);
    }
  }
  for (int byte = 0x80; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_TRUE(needs_escape(text));
    EXPECT_FALSE(needs_escape(escape(text)));
    EXPECT_FALSE(needs_escape(json_escaped(text)));
  }
}

TEST(Escape, WhichCharactersAreUnsafe) {
  for (const char32_t c : {0x00,   0x1f,   0x7f,   0x80,   0x9f,   0xad,   0x61c,  0x200b, 0x200e,  0x200f, 0x2028,
                           0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xfff9, 0xe0001, 0xe007f}) {
    EXPECT_TRUE(is_unsafe(c)) << static_cast<u32>(c);
  }
  for (const char32_t c : {0x20, 0x7e, 0xa0, 0xe9, 0x2010, 0x202f, 0x4e00, 0x1f600}) {
    EXPECT_FALSE(is_unsafe(c)) << static_cast<u32>(c);
  }
}

// The ends of every range of Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt, and their neighbours.
TEST(Escape, InvisibleCharacters) {
  for (const char32_t c :
       {0xad,    0x34f,   0x61c,   0x115f,  0x1160,  0x17b4,  0x17b5,  0x180b,  0x180f,  0x200b, 0x200f,
        0x202a,  0x202e,  0x2060,  0x206f,  0x3164,  0xfe00,  0xfe0f,  0xfeff,  0xffa0,  0xfff0, 0xfff8,
        0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe0020, 0xe0100, 0xe01ef, 0xe0fff}) {
    EXPECT_TRUE(is_invisible(c)) << static_cast<u32>(c);
    EXPECT_TRUE(is_unsafe(c)) << static_cast<u32>(c);
  }
  for (const char32_t c : {0x0,    0x41,   0xac,   0xae,   0x34e,   0x350,   0x115e,  0x1161,  0x17b3,  0x17b6,
                           0x180a, 0x1810, 0x200a, 0x2010, 0x2029,  0x202f,  0x205f,  0x2070,  0x3163,  0x3165,
                           0xfdff, 0xfe10, 0xff9f, 0xffa1, 0x1bc9f, 0x1bca4, 0x1d172, 0x1d17b, 0xdffff, 0xe1000}) {
    EXPECT_FALSE(is_invisible(c)) << static_cast<u32>(c);
  }
  EXPECT_EQ(escape("a\u034f\u115f\u3164"), "a\\u{34f}\\u{115f}\\u{3164}");
  EXPECT_EQ(json_escaped("\u1160\uffa0\U000e0100"), "\\u1160\\uffa0\\udb40\\udd00");
}

TEST(Escape, ToAWidth) {
  EXPECT_EQ(escape("abcdef", 6), "abcdef");
  EXPECT_EQ(escape("abcdef", 5), "abcd…");
  EXPECT_EQ(escape("abcdef", 1), "…");
  EXPECT_EQ(escape("abcdef", 0), "");
  EXPECT_EQ(escape("", 0), "");
  EXPECT_EQ(escape("你好吗", 6), "你好吗");
  EXPECT_EQ(escape("你好吗", 5), "你好…");
  EXPECT_EQ(escape("你好吗", 4), "你…");
  EXPECT_EQ(escape("a\nb", 4), "a\\nb");
  EXPECT_EQ(escape("a\nb", 3), "a…") << "an escape is not cut in two";
}

TEST(Escape, Json) {
  EXPECT_EQ(json_escaped("a\"b\\c\n\r\t\b\f"), "a\\\"b\\\\c\\n\\r\\t\\b\\f");
  EXPECT_EQ(json_escaped("\x01\x7f\xc2\x85"), "\\u0001\\u007f\\u0085");
  EXPECT_EQ(json_escaped("é你🙂/"), "é你🙂/");
  EXPECT_EQ(json_escaped("\xf3\xa0\x80\x81"), "\\udb40\\udc01");
  EXPECT_EQ(json_escaped("x\xff"), "x\\ufffd");
  std::string out = "[";
  append_json_escaped(out, "\n");
  EXPECT_EQ(out, "[\\n");
}

TEST(Escape, Base64AndHex) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
  for (const std::string_view text : {"", "f", "fo", "foo", "\xff\xfe\xfd\xfc"}) {
    EXPECT_EQ(decode_base64(base64(text)), text);
  }
  for (const std::string_view bad : {"Zg=", "Zg", "Z", "====", "Zm9v=", "Zm 9v", "Zm9*"}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(hex(std::as_bytes(std::span("\x00\xab\x7f"sv))), "00ab7f");
}

// Eight bytes are checked at once if possible; a character's position must not change how it is escaped.
TEST(Escape, EveryCharacterAtEveryPlace) {
  const std::vector<std::pair<std::string, std::string>> alone = {
      {"\n", "\\n"},     {"\\", "\\\\"},    {"\x1f", "\\u{1f}"},    {"\x7f", "\\u{7f}"},
      {"\x80", "\\x80"}, {"\xff", "\\xff"}, {"\"", "\""},           {" ", " "},
      {"~", "~"},        {"é", "é"},        {"\u200b", "\\u{200b}"}};
  for (const auto& [character, shown] : alone) {
    for (std::size_t size = 0; size < 20; ++size) {
      for (std::size_t place = 0; place <= size; ++place) {
        const std::string before(place, 'a');
        const std::string after(size - place, '!');
        ASSERT_EQ(escape(before + character + after), before + shown + after) << place << " of " << size;
        ASSERT_EQ(needs_escape(before + character + after), needs_escape(character)) << place << " of " << size;
      }
    }
  }
}

TEST(Escape, TableCells) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field(" x"), "\" x\"");
  EXPECT_EQ(csv_field("a\nb"), "a\\nb");
  EXPECT_EQ(csv_field(""), "");
}

TEST(Escape, TableCellsAreNoFormulas) {
  for (const std::string_view formula : {"=1+1", "+1+1", "-2+3", "@SUM(1)", "-x", "-", "+", "=", "@", "-inf", "+nan",
                                         " =1", "--help", "-1-1", "-.", "\uff1dA1", "\uff0b1", "\uff0d1", "\uff20A"}) {
    EXPECT_NE(csv_field(formula).find('\''), std::string::npos) << formula;
  }
  EXPECT_EQ(csv_field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  EXPECT_EQ(csv_field(" @x"), "' @x");
  for (const std::string_view number : {"-1", "+1", "-0.5", "-1e-05", "-.5", "+1E3", "-1e999", "7"}) {
    EXPECT_EQ(csv_field(number), number) << "numbers stay numbers";
  }
  EXPECT_EQ(csv_field("a=b"), "a=b");
  EXPECT_EQ(csv_field("\t=1"), "\\t=1") << "the escape begins with a backslash";
  EXPECT_EQ(csv_field("\r=1"), "\\r=1");
  EXPECT_EQ(csv_field("'x"), "''x") << "removing one apostrophe gives the text back";
  EXPECT_EQ(csv_field("a;=1"), "a\\u{3b}=1") << "a new cell where a semicolon separates them";
  EXPECT_EQ(csv_field("a; -1"), "a\\u{3b} -1");
  EXPECT_EQ(csv_field("a;b"), "a;b");
}

}  // namespace
}  // namespace modelutils
