#include "json/cursor.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/parse_number.h"
#include "base/utf8.h"

namespace modelutils::json {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// True if a string's byte stands for itself and is ASCII.
bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\';
}

#if defined(__SSE2__)
using Block = __m128i;

Block load_block(const char* place) {
  return _mm_loadu_si128(reinterpret_cast<const Block*>(place));
}

Block equal_to(Block block, char c) {
  return _mm_cmpeq_epi8(block, _mm_set1_epi8(c));
}

// Returns the number of leading bytes of the block for which is_plain(); 16 if all are.
unsigned plain_bytes(Block block) {
  const Block special = _mm_or_si128(_mm_or_si128(equal_to(block, '"'), equal_to(block, '\\')),
                                     _mm_cmplt_epi8(block, _mm_set1_epi8(0x20)));  // signed: also bytes from 0x80
  return static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(_mm_movemask_epi8(special)) | 0x10000U));
}

unsigned space_bytes(Block block) {
  const Block space = _mm_or_si128(_mm_or_si128(equal_to(block, ' '), equal_to(block, '\n')),
                                   _mm_or_si128(equal_to(block, '\r'), equal_to(block, '\t')));
  return static_cast<unsigned>(std::countr_one(static_cast<unsigned>(_mm_movemask_epi8(space))));
}
#else
using Block = u64;

Block load_block(const char* place) {
  Block block;
  std::memcpy(&block, place, sizeof(block));
  return block;
}

// True if one of the block's bytes is `c`.
bool has_byte(Block block, char c) {
  constexpr Block ones = 0x0101010101010101;
  const Block zero_if_equal = block ^ (ones * static_cast<u8>(c));
  return ((zero_if_equal - ones) & ~zero_if_equal & (ones * 0x80)) != 0;
}

// Returns the block's size if all its bytes are plain, otherwise 0.
unsigned plain_bytes(Block block) {
  constexpr Block ones = 0x0101010101010101;
  const bool has_control = ((block - ones * 0x20) & ~block & (ones * 0x80)) != 0;
  const bool is_ascii = (block & (ones * 0x80)) == 0;
  return is_ascii && !has_control && !has_byte(block, '"') && !has_byte(block, '\\') ? sizeof(block) : 0;
}

unsigned space_bytes(Block block) {
  constexpr Block spaces = 0x2020202020202020;
  return block == spaces ? sizeof(block) : 0;
}
#endif

// Returns the first byte from `at` on that is not plain.
char* plain_end(char* at, char* end) {
  while (static_cast<std::size_t>(end - at) >= sizeof(Block)) {
    const unsigned size = plain_bytes(load_block(at));
    at += size;
    if (size < sizeof(Block)) break;
  }
  while (at != end && is_plain(*at)) ++at;
  return at;
}

char* space_end(char* at, char* end) {
  while (static_cast<std::size_t>(end - at) >= sizeof(Block)) {
    const unsigned size = space_bytes(load_block(at));
    at += size;
    if (size < sizeof(Block)) break;
  }
  while (at != end && is_space(*at)) ++at;
  return at;
}

// Returns the size of the character at `at`, which is not ASCII; 0 if it is invalid.
std::size_t character_size(const char* at, const char* end) {
  const auto is_continuation = [](char c) { return (static_cast<u8>(c) & 0xC0) == 0x80; };
  const u8 first = static_cast<u8>(*at);
  // Shortcuts for the usual characters. E0 and ED are left to decode_utf8(): the second byte's range differs there.
  if (first >= 0xC2 && first < 0xE0 && end - at >= 2 && is_continuation(at[1])) return 2;
  if (first > 0xE0 && first < 0xF0 && first != 0xED && end - at >= 3 && is_continuation(at[1]) &&
      is_continuation(at[2])) {
    return 3;
  }
  const CodePoint point = decode_utf8({at, static_cast<std::size_t>(end - at)});
  return point.valid ? point.size : 0;
}

// Reads the four digits of \uXXXX.
bool read_hex(const char* at, const char* end, char32_t& value) {
  if (end - at < 4) return false;
  value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = at[i];
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return true;
}

// Reads the escape at `at`, a backslash. Returns its size, or 0 if it is invalid.
std::size_t read_escape(const char* at, const char* end, char32_t& value) {
  if (end - at < 2) return 0;
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t letter = letters.find(at[1]); letter != letters.npos) {
    value = static_cast<char32_t>(meanings[letter]);
    return 2;
  }
  if (at[1] != 'u' || !read_hex(at + 2, end, value)) return 0;
  if (value < 0xD800 || value > 0xDFFF) return 6;
  char32_t low = 0;
  const bool has_low = value < 0xDC00 && end - at >= 8 && at[6] == '\\' && at[7] == 'u' && read_hex(at + 8, end, low);
  if (!has_low || low < 0xDC00 || low > 0xDFFF) return 0;
  value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
  return 12;
}

// Returns the size of the number at the start of `text`, or 0 if it is malformed.
std::size_t number_size(std::string_view text) {
  std::size_t size = 0;
  const auto is_next = [&](std::string_view characters) {
    return size < text.size() && characters.find(text[size]) != characters.npos;
  };
  const auto skip_digits = [&] {
    const std::size_t begin = size;
    while (size < text.size() && is_digit(text[size])) ++size;
    return size - begin;
  };
  if (is_next("-")) ++size;
  const bool is_zero = is_next("0");
  const std::size_t digits = skip_digits();
  if (digits == 0 || (is_zero && digits > 1)) return 0;
  if (is_next(".")) {
    ++size;
    if (skip_digits() == 0) return 0;
  }
  if (is_next("eE")) {
    ++size;
    if (is_next("+-")) ++size;
    if (skip_digits() == 0) return 0;
  }
  const bool goes_on = is_next("+-.") || (size < text.size() && is_letter(text[size]));
  return goes_on ? 0 : size;
}

// True if the decimal, which is not zero, is less than 1 in magnitude.
bool is_small(std::string_view decimal) {
  constexpr i64 limit = i64{1} << 60;  // larger than any length
  const std::size_t mark = std::min(decimal.find_first_of("eE"), decimal.size());
  i64 exponent = 0;
  if (mark != decimal.size()) {
    std::string_view digits = decimal.substr(mark + 1);
    const bool is_negative = digits.front() == '-';
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec;
    if (error != std::errc{}) exponent = is_negative ? -limit : limit;
    exponent = std::clamp(exponent, -limit, limit);
  }
  const std::string_view digits = decimal.substr(0, mark);
  const std::size_t first = digits.find_first_of("123456789");
  const std::size_t point = std::min(digits.find('.'), digits.size());
  return exponent + static_cast<i64>(point) - static_cast<i64>(first) <= 0;
}

// Converts the well-formed number `number.text`. Returns false if it is beyond a double's range.
bool read_number(Number& number) {
  const std::string_view text = number.text;
  const auto converted = [&](auto& value) {
    return number_from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  };
  if (text.find_first_of(".eE") == text.npos) {
    const bool is_negative = text.front() == '-';
    number.form = is_negative ? Number::Form::negative : Number::Form::natural;
    if (is_negative ? converted(number.negative) : converted(number.natural)) return true;
  }
  number.form = Number::Form::decimal;
  if (converted(number.decimal)) return true;
  if (!is_small(text)) return false;
  number.decimal = text.front() == '-' ? -0.0 : 0.0;
  return true;
}

// Moves bytes [from, end) down to `to`, and returns the end of the copy.
char* move_back(char* to, const char* from, const char* end) {
  const std::size_t size = static_cast<std::size_t>(end - from);
  if (to != from) std::memmove(to, from, size);
  return to + size;
}

}  // namespace

std::string_view syntax_text(SyntaxError error) {
  switch (error) {
    case SyntaxError::none: break;
    case SyntaxError::empty: return "it contains only white space";
    case SyntaxError::byte_order_mark: return "it starts with a byte order mark, which is not allowed";
    case SyntaxError::structure: return "a comma, colon or bracket is missing or misplaced";
    case SyntaxError::incomplete: return "it ends inside an array or object";
    case SyntaxError::word: return "a word other than true, false and null";
    case SyntaxError::number: return "a number is malformed or too large";
    case SyntaxError::unclosed_string: return "a string is not closed";
    case SyntaxError::control: return "a string contains an unescaped control character";
    case SyntaxError::escape: return "a string contains an invalid escape";
    case SyntaxError::utf8: return "it is not UTF-8";
    case SyntaxError::depth: return "it is nested too deeply";
  }
  return {};
}

// Moving to the end makes all later reads fail, without a check of error_ in each.
bool Cursor::fail(SyntaxError error, const char* place) {
  if (!failed()) {
    error_ = error;
    error_offset_ = offset_of(place);
  }
  at_ = end_;
  return false;
}

bool Cursor::unexpected() {
  if (at_ == end_) return fail(depth_ == 0 ? SyntaxError::empty : SyntaxError::incomplete, at_);
  if (at_ == begin_ && rest().starts_with("\xef\xbb\xbf")) return fail(SyntaxError::byte_order_mark, at_);
  if (!decode_utf8(rest()).valid) return fail(SyntaxError::utf8, at_);
  return fail(SyntaxError::structure, at_);
}

void Cursor::skip_space() {
  if (at_ != end_ && static_cast<u8>(*at_) <= ' ') at_ = space_end(at_, end_);
}

bool Cursor::at_end() {
  skip_space();
  return at_ == end_ && !failed();
}

Kind Cursor::next() {
  skip_space();
  switch (at_ == end_ ? '\0' : *at_) {
    case '{': return Kind::object;
    case '[': return Kind::array;
    case '"': return Kind::string;
    case 't':
    case 'f': return Kind::boolean;
    case 'n': return Kind::null;
    case '-': return Kind::number;
    case 'I':
      if (numbers_ == Numbers::python) return Kind::number;
      break;
    case 'N':
      if (numbers_ == Numbers::python) return Kind::null;
      break;
    default:
      if (at_ != end_ && is_digit(*at_)) return Kind::number;
  }
  if (at_ != end_ && is_letter(*at_)) {
    fail(SyntaxError::word, at_);
  } else {
    unexpected();
  }
  return Kind::none;
}

bool Cursor::enter() {
  if (depth_ == max_depth_) return fail(SyntaxError::depth, at_);
  ++depth_;
  ++at_;
  is_first_ = true;
  return true;
}

bool Cursor::leave() {
  --depth_;
  ++at_;
  is_first_ = false;
  return false;
}

bool Cursor::member(std::string_view& key, bool* bad_escape) {
  skip_space();
  if (at_ == end_) return unexpected();
  if (*at_ == '}') return leave();
  if (!is_first_) {
    if (*at_ != ',') return unexpected();
    ++at_;
    skip_space();
  }
  if (at_ == end_ || *at_ != '"') return unexpected();
  is_first_ = false;
  key_ = at_;
  if (!string(key, bad_escape)) return false;
  skip_space();
  if (at_ == end_ || *at_ != ':') return unexpected();
  ++at_;
  return true;
}

bool Cursor::element() {
  skip_space();
  if (at_ == end_) return unexpected();
  if (*at_ == ']') return leave();
  if (!is_first_) {
    if (*at_ != ',') return unexpected();
    ++at_;
  }
  is_first_ = false;
  return true;
}

bool Cursor::string(std::string_view& out, bool* bad_escape) {
  char* const begin = at_ + 1;
  char* const special = plain_end(begin, end_);
  if (special == end_ || *special != '"') return special_string(begin, special, out, bad_escape);
  out = {begin, static_cast<std::size_t>(special - begin)};
  if (bad_escape != nullptr) *bad_escape = false;
  at_ = special + 1;
  return true;
}

// Reads a string that is not plain ASCII, starting at its first special byte.
bool Cursor::special_string(char* begin, char* special, std::string_view& out, bool* bad_escape) {
  char* from = special;
  char* to = special;  // end of the unescaped text
  const char* wrong_escape = nullptr;
  std::string character;
  while (from != end_ && *from != '"') {
    char* const place = from;
    if (static_cast<u8>(*from) < 0x20) return fail(SyntaxError::control, from);
    if (*from == '\\') {
      char32_t value = 0;
      const std::size_t size = read_escape(from, end_, value);
      if (size == 0 && wrong_escape == nullptr) wrong_escape = from;
      from += std::max<std::size_t>(size, 1);
      character.clear();
      if (size != 0) append_utf8(character, value);
      to = std::copy(character.begin(), character.end(), to);
      continue;
    }
    while (from != end_ && static_cast<signed char>(*from) < 0) {
      const std::size_t size = character_size(from, end_);
      if (size == 0) return fail(SyntaxError::utf8, from);
      from += size;
    }
    from = plain_end(from, end_);
    to = move_back(to, place, from);
  }
  if (from == end_) return fail(SyntaxError::unclosed_string, from);
  if (wrong_escape != nullptr && bad_escape == nullptr) return fail(SyntaxError::escape, wrong_escape);
  if (bad_escape != nullptr) *bad_escape = wrong_escape != nullptr;
  out = {begin, wrong_escape == nullptr ? static_cast<std::size_t>(to - begin) : 0};
  at_ = from + 1;
  return true;
}

// Reads integers of up to 18 digits, nearly all numbers in files of models; leaves others to other_number().
bool Cursor::number(Number& out) {
  const bool is_negative = *at_ == '-';
  char* const digits = is_negative ? at_ + 1 : at_;
  char* end = digits;
  u64 value = 0;
  while (end != end_ && is_digit(*end)) value = value * 10 + static_cast<u64>(*end++ - '0');
  const std::ptrdiff_t count = end - digits;
  const bool is_usual = count > 0 && count <= 18 && (*digits != '0' || count == 1) && end != end_ &&
                        (*end == ',' || *end == ']' || *end == '}' || is_space(*end));
  if (!is_usual) return other_number(out);
  out.text = {at_, static_cast<std::size_t>(end - at_)};
  out.form = is_negative ? Number::Form::negative : Number::Form::natural;
  out.natural = value;
  out.negative = -static_cast<i64>(value);
  at_ = end;
  return true;
}

bool Cursor::other_number(Number& out) {
  const bool is_negative = *at_ == '-';
  if (numbers_ == Numbers::python && rest().substr(is_negative ? 1 : 0).starts_with('I')) {
    constexpr double largest = std::numeric_limits<double>::max();
    out.form = Number::Form::decimal;
    out.decimal = is_negative ? -largest : largest;
    out.text = is_negative ? "-Infinity" : "Infinity";
    return word(out.text);
  }
  const std::size_t size = number_size(rest());
  if (size == 0) return fail(SyntaxError::number, at_);
  out.text = {at_, size};
  if (!read_number(out)) return fail(SyntaxError::number, at_);
  at_ += size;
  return true;
}

bool Cursor::boolean(bool& out) {
  out = *at_ == 't';
  return word(out ? "true" : "false");
}

bool Cursor::null() {
  return word(*at_ == 'N' ? "NaN" : "null");
}

bool Cursor::word(std::string_view text) {
  const std::string_view after = rest().substr(std::min(text.size(), rest().size()));
  const bool goes_on = !after.empty() && (is_letter(after.front()) || is_digit(after.front()));
  if (goes_on || !rest().starts_with(text)) return fail(SyntaxError::word, at_);
  at_ += text.size();
  return true;
}

bool Cursor::skip() {
  const std::size_t outside = depth_;
  std::bitset<deepest> is_object;  // by depth
  std::string_view text;
  Number number;
  bool truth = false;
  while (true) {
    const Kind kind = next();
    switch (kind) {
      case Kind::none: return false;
      case Kind::object:
      case Kind::array:
        if (!enter()) return false;
        is_object[depth_ - 1] = kind == Kind::object;
        break;
      case Kind::string: string(text); break;
      case Kind::number: this->number(number); break;
      case Kind::boolean: boolean(truth); break;
      case Kind::null: null(); break;
    }
    while (depth_ > outside && !(is_object[depth_ - 1] ? member(text) : element())) {
      if (failed()) return false;
    }
    if (depth_ == outside) return !failed();
  }
}

}  // namespace modelutils::json
