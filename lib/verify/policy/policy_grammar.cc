#include "verify/policy/policy_grammar.h"

#include <cstddef>

#include "base/utf8.h"

namespace modelutils {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  u64 line() const { return line_; }

  bool document() {
    while (skip_lines(), !rest_.empty()) {
      if (!(next_is('[') ? header() : pair_or_table()) || !end_of_line()) return false;
    }
    return !is_broken_;
  }

 private:
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (next_is(' ') || next_is('\t')) rest_.remove_prefix(1);
  }
  // A comment without control characters, up to its line feed.
  void skip_comment() {
    if (!next_is('#')) return;
    while (!rest_.empty() && !next_is('\n') && !rest_.starts_with("\r\n")) {
      const unsigned char c = static_cast<unsigned char>(rest_.front());
      if ((c < ' ' && c != '\t') || c == 0x7F) is_broken_ = true;
      rest_.remove_prefix(1);
    }
  }
  bool line_feed() {
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (!take('\n')) return false;
    ++line_;
    return true;
  }
  void skip_lines() {
    do {
      skip_blanks();
      skip_comment();
    } while (line_feed());
  }
  bool end_of_line() {
    skip_blanks();
    skip_comment();
    return !is_broken_ && (rest_.empty() || line_feed());
  }

  bool text(char quote) {
    if (!take(quote)) return false;
    while (!rest_.empty() && !next_is(quote)) {
      const unsigned char c = static_cast<unsigned char>(rest_.front());
      if ((c < ' ' && c != '\t') || c == 0x7F) return false;
      rest_.remove_prefix(1);
      if (c != '\\' || quote != '"') continue;
      if (rest_.empty() || rest_.front() < ' ') return false;
      rest_.remove_prefix(1);
    }
    return take(quote);
  }
  // true, false, or a whole number.
  bool word() {
    for (const std::string_view truth : {"true", "false"}) {
      if (!rest_.starts_with(truth)) continue;
      rest_.remove_prefix(truth.size());
      return rest_.empty() || !is_word(rest_.front());
    }
    take('-');
    std::size_t digits = 0;
    do {
      const std::size_t before = digits;
      while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
        rest_.remove_prefix(1);
        ++digits;
      }
      if (digits == before) return false;
    } while (take('_'));
    return digits < 19 && (rest_.empty() || !is_word(rest_.front()));
  }
  bool name_part() {
    if (next_is('"')) return text('"');
    if (next_is('\'')) return text('\'');
    std::size_t size = 0;
    while (size < rest_.size() && is_word(rest_[size])) ++size;
    rest_.remove_prefix(size);
    return size > 0;
  }
  bool name() {
    do {
      skip_blanks();
      if (!name_part()) return false;
      skip_blanks();
    } while (take('.'));
    return true;
  }
  bool header() {
    take('[');
    const bool is_list = take('[');
    return name() && take(']') && (!is_list || take(']'));
  }
  bool simple() { return next_is('"') ? text('"') : next_is('\'') ? text('\'') : word(); }
  bool list() {
    take('[');
    for (skip_lines(); !take(']'); skip_lines()) {
      if (is_broken_ || !simple()) return false;
      skip_lines();
      if (!take(',') && !next_is(']')) return false;
    }
    return !is_broken_;
  }
  bool pair() {
    if (!name() || !take('=')) return false;
    skip_blanks();
    return next_is('[') ? list() : simple();
  }
  bool pair_or_table() {
    const Reader before = *this;
    if (pair()) return true;
    *this = before;
    if (!name() || !take('=')) return false;
    skip_blanks();
    if (!take('{')) return false;
    do {
      if (!pair()) return false;
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  std::string_view rest_;
  u64 line_ = 1;
  bool is_broken_ = false;
};

}  // namespace

std::optional<u64> line_outside_grammar(std::string_view text) {
  Reader reader(text);
  if (is_utf8(text) && reader.document()) return std::nullopt;
  return reader.line();
}

}  // namespace modelutils
