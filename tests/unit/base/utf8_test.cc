#include "base/utf8.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

namespace modelutils {

namespace {

using namespace std::string_view_literals;

TEST(Utf8, KnowsWhatIsValid) {
  for (const std::string_view good : {""sv, "ascii"sv, "\0"sv, "é"sv, "€"sv, "😀"sv, "\xf4\x8f\xbf\xbf"sv,
                                      "\xee\x80\x80"sv, "\xed\x9f\xbf"sv, "longer than eight bytes, é, and on"sv}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const std::string_view bad :
       {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xc3"sv, "\xe0\x80\x80"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv,
        "\xed\xbf\xbf"sv, "\xf0\x80\x80\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv,
        "\xff"sv, "\xe2\x82"sv, "abcdefgh\xe2\x82"sv, "\xe2\x28\xa1"sv, "abcdefghijklmnop\xfe"sv}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Utf8, DecodesWhatItEncodes) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    const CodePoint point = decode_utf8(text);
    ASSERT_TRUE(point.valid) << static_cast<u32>(c);
    ASSERT_EQ(point.value, c);
    ASSERT_EQ(point.size, text.size());
    ASSERT_TRUE(is_utf8(text));
  }
}

TEST(Utf8, PassesOverOneBadByteAtATime) {
  const CodePoint point = decode_utf8("\xe2\x82");
  EXPECT_FALSE(point.valid);
  EXPECT_EQ(point.size, 1u);
}

TEST(Utf8, EveryTwoBytes) {
  // By definition: two bytes are valid text if both are ASCII, or if they encode U+0080 to U+07FF.
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      const bool valid = (a < 0x80 && b < 0x80) || (a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF);
      ASSERT_EQ(is_utf8(text), valid) << a << " " << b;
      ASSERT_EQ(is_utf8("01234567" + text + "89"), valid);
    }
  }
}

TEST(Utf8, Widths) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("é€"), 2u);
  EXPECT_EQ(display_width("你好"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u) << "a combining accent";
  EXPECT_EQ(display_width("😀"), 2u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
}

TEST(Utf8, WidthsBelowTheCombiningMarksAreThoseOfUnicodesTables) {
  for (char32_t c = 0; c < 0x300; ++c) {
    std::string text;
    append_utf8(text, c);
    const int columns = c < 0x80 ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(c));
    ASSERT_EQ(display_width(text), static_cast<std::size_t>(columns)) << static_cast<u32>(c);
  }
}

TEST(Utf8, WidthsOfEveryCharacterAtEveryPlace) {
  const std::vector<std::pair<std::string, std::size_t>> alone = {{"a", 1}, {"×", 1},      {"\u0085", 0}, {"界", 2},
                                                                  {"😀", 2}, {"\u0301", 0}, {"\xff", 1}};
  for (const auto& [character, columns] : alone) {
    for (std::size_t size = 0; size < 20; ++size) {
      for (std::size_t place = 0; place <= size; ++place) {
        const std::string text = std::string(place, 'x') + character + std::string(size - place, 'y');
        ASSERT_EQ(display_width(text), size + columns) << place << " of " << size;
      }
    }
  }
}

TEST(TerminalText, CutAtTheEnd) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abcd", 3), "ab…");
  EXPECT_EQ(cut_text("世界人", 4), "世…");
  EXPECT_EQ(cut_text("世界", 4), "世界");
  EXPECT_EQ(cut_text("abc", 0), "");
  EXPECT_EQ(display_width(cut_text("世界人民", 6)), 5U);
}

TEST(TerminalText, CutInTheMiddle) {
  EXPECT_EQ(cut_middle("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_middle("abcdef", 5), "ab…ef");
  EXPECT_EQ(cut_middle("abcdef", 4), "ab…f");
  EXPECT_EQ(cut_middle("abcdef", 1), "…");
  EXPECT_EQ(cut_middle("abcdef", 0), "");
  EXPECT_EQ(cut_middle("世界人民", 6), "世…民");
  EXPECT_EQ(cut_middle("ab\u0301cdefg", 5), "ab\u0301…fg");
}

TEST(TerminalText, WrapsAtSpaces) {
  const auto wrapped = [](std::string_view text, std::size_t column, std::size_t indent) {
    std::string out;
    append_wrapped(out, text, column, indent, 10);
    return out;
  };
  EXPECT_EQ(wrapped("one two three", 0, 2), "one two\n  three\n");
  EXPECT_EQ(wrapped("one two", 4, 2), " one\n  two\n");
  EXPECT_EQ(wrapped("26 of 33", 0, 2), "26 of 33\n") << "the first word ends at the indent";
  EXPECT_EQ(wrapped("1 of 33", 0, 4), "1 of 33\n") << "the first word ends before the indent";
}

}  // namespace

}  // namespace modelutils
