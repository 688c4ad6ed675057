// A pull reader for JSON as RFC 8259 defines it: callers ask for the value they expect next, and the reader validates
// every byte up to there. It keeps no tree, does not recurse and takes linear time.
#pragma once

#include <span>
#include <string_view>

#include "base/types.h"

namespace modelutils::json {

/// The numbers that a text may contain. `python` adds the non-standard numbers that Python's json module writes, as
/// some config.json files have them: Infinity and -Infinity are read as the finite double of the largest magnitude ("no
/// limit"), NaN as null (no value).
enum class Numbers : u8 { standard, python };

/// Reasons to refuse a text, each with the byte that Cursor::error_offset() returns.
enum class SyntaxError : u8 {
  none,
  empty,            ///< only white space; the end of the text
  byte_order_mark,  ///< the first byte
  structure,        ///< a comma, colon or bracket is missing or misplaced; the first byte that does not fit
  incomplete,       ///< an array or object is not closed; the end of the text
  word,             ///< not true, false or null; its first letter
  number,           ///< malformed, or beyond a double's range; its first character
  unclosed_string,  ///< the end of the text
  control,          ///< a character below U+0020 inside a string
  escape,           ///< an unknown escape or half of a surrogate pair; its backslash
  utf8,             ///< the first byte of the invalid sequence
  depth,            ///< the bracket that exceeds the limit
};

/// Describes the error to people, e.g. "a string is not closed".
std::string_view syntax_text(SyntaxError error);

enum class Kind : u8 { none, object, array, string, number, boolean, null };

struct Number {
  enum class Form : u8 { natural, negative, decimal };
  Form form = Form::natural;
  u64 natural = 0;        ///< an integer without a sign, below 2^64
  i64 negative = 0;       ///< an integer with a minus (even -0), at least -2^63
  double decimal = 0;     ///< any other number, correctly rounded; of magnitudes below the smallest double, 0
  std::string_view text;  ///< as in the text
};

/// Reads one text. After an error all functions return false and Kind::none. Where a function asks for a value, next()
/// must have returned its kind.
///
/// Objects and arrays are read as in this example, which ends at the closing bracket or at an error:
///
///     cursor.enter();
///     for (std::string_view key; cursor.member(key);) cursor.skip();
///     if (cursor.error() != SyntaxError::none) …
class Cursor {
 public:
  /// The largest limit on nesting.
  static constexpr std::size_t deepest = 1024;

  /// Reads `text` and unescapes strings in place: strings returned are views into `text`. Arrays and objects may be
  /// nested `max_depth` levels deep, counting the outermost; at most `deepest`.
  Cursor(std::span<char> text, std::size_t max_depth, Numbers numbers = Numbers::standard)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        at_(begin_),
        max_depth_(max_depth < deepest ? max_depth : deepest),
        numbers_(numbers) {}

  /// The kind of the next value, judged by its first character. Moves past white space only.
  Kind next();

  /// Enters the next value, an array or object.
  bool enter();
  /// Reads the name of the object's next member. Returns false at the end of the object, and leaves it.
  ///
  /// An invalid escape is an error, unless the caller passes `bad_escape`: then it is set to true, the text is empty
  /// and reading goes on. The same holds for string().
  bool member(std::string_view& key, bool* bad_escape = nullptr);
  /// Moves to the array's next element. Returns false at the end of the array, and leaves it.
  bool element();

  bool string(std::string_view& out, bool* bad_escape = nullptr);
  bool number(Number& out);
  bool boolean(bool& out);
  bool null();
  /// Skips the next value of any kind and validates all of it.
  bool skip();

  /// Moves past white space. Returns true if nothing follows.
  bool at_end();
  /// Fails unless at_end().
  bool finish() { return at_end() || unexpected(); }

  /// Where reading goes on; after next(), the next value's first byte.
  std::size_t offset() const { return offset_of(at_); }
  /// The opening quote of the last name read.
  std::size_t key_offset() const { return offset_of(key_); }

  SyntaxError error() const { return error_; }
  bool failed() const { return error_ != SyntaxError::none; }
  std::size_t error_offset() const { return error_offset_; }

 private:
  std::size_t offset_of(const char* place) const { return static_cast<std::size_t>(place - begin_); }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  void skip_space();
  bool fail(SyntaxError error, const char* place);
  /// Fails because the byte at the cursor, or the end of the text, does not fit there.
  bool unexpected();
  bool leave();
  bool word(std::string_view text);
  bool special_string(char* begin, char* special, std::string_view& out, bool* bad_escape);
  bool other_number(Number& out);

  char* const begin_;
  char* const end_;
  char* at_;
  const char* key_ = begin_;
  std::size_t depth_ = 0;
  const std::size_t max_depth_;
  std::size_t error_offset_ = 0;
  const Numbers numbers_;
  SyntaxError error_ = SyntaxError::none;
  bool is_first_ = false;  // no member or element of the innermost container has been read
};

}  // namespace modelutils::json
