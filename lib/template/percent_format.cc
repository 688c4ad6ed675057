#include "template/percent_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/sliced.h"

namespace modelutils::jinja {

namespace {

constexpr i64 widest = 1'000'000;  // no prompt has a wider field

// What stands between '%' and the letter of a conversion.
struct Conversion {
  bool left = false, plus = false, blank = false, zeros = false, alternate = false;
  i64 width = 0;
  i64 precision = -1;
  char letter = 's';
};

class PercentFormat {
 public:
  PercentFormat(Machine& machine, std::string_view text, const Value& values)
      : machine_(machine), text_(text), values_(values) {}

  Outcome<std::string> run() {
    MU_TRY(machine_.charge(text_.size() / 16));
    while (at_ < text_.size()) {
      const std::size_t sign = std::min(text_.find('%', at_), text_.size());
      MU_TRY(machine_.reserve(sign - at_));
      out_ += text_.substr(at_, sign - at_);
      at_ = sign + 1;
      if (sign < text_.size()) MU_TRY(conversion());
    }
    const bool may_be_left = values_.is(Kind::dict) || values_.is(Kind::list) || values_.is(Kind::undefined);
    if (used_ < count() && !may_be_left) return machine_.raise("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  std::size_t count() const { return values_.is(Kind::tuple) ? values_.items().size() : 1; }

  Outcome<Value> take() {
    if (used_ >= count()) return machine_.raise("not enough arguments for format string");
    ++used_;
    return values_.is(Kind::tuple) ? values_.items()[used_ - 1] : values_;
  }

  Outcome<Value> named() {
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return machine_.raise("incomplete format key");
    if (!values_.is(Kind::dict)) return machine_.raise("format requires a mapping");
    const std::string_view key = text_.substr(at_ + 1, end - at_ - 1);
    if (key.find('(') != std::string_view::npos) return machine_.unsupported("a key with parentheses in a format");
    at_ = end + 1;
    const Value* found = values_.as<Dict>().find_text(key);
    if (found == nullptr) return machine_.raise(fmt::format("'{}'", key));
    return *found;
  }

  Outcome<i64> number() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      MU_ASSIGN(const Value value, take());
      return need_integer(machine_, value, "*");
    }
    i64 value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = std::min<i64>(value * 10 + (text_[at_++] - '0'), widest + 1);
    }
    return value;
  }

  Outcome<void> conversion() {
    Conversion how;
    Value value;
    if (at_ < text_.size() && text_[at_] == '(') {
      MU_ASSIGN(value, named());
    }
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      bool* flag = c == '-'   ? &how.left
                   : c == '+' ? &how.plus
                   : c == ' ' ? &how.blank
                   : c == '0' ? &how.zeros
                   : c == '#' ? &how.alternate
                              : nullptr;
      if (flag == nullptr) break;
      *flag = true;
    }
    MU_ASSIGN(how.width, number());
    if (how.width < 0) {
      how.left = true;
      how.width = -how.width;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      MU_ASSIGN(how.precision, number());
    }
    while (at_ < text_.size() && (text_[at_] == 'l' || text_[at_] == 'h' || text_[at_] == 'L')) ++at_;
    if (at_ == text_.size()) return machine_.raise("incomplete format");
    if (how.width > widest || how.precision > widest)
      return machine_.fail(FailureKind::limit, "formats a field that is too wide");
    how.letter = text_[at_++];
    if (how.letter == '%') {
      out_ += '%';
      return {};
    }
    if (value.is(Kind::missing)) {
      MU_ASSIGN(value, take());
    }
    return append(how, value);
  }

  Outcome<void> append_character(const Conversion& how, const Value& value) {
    const bool is_character = value.is(Kind::text) && value.as<Text>().length == 1;
    if (!is_character && !as_integer(value)) return machine_.raise("%c requires int or char");
    const std::string specification = fmt::format(
        "{}{}{}", how.left ? '<' : '>', how.width > 0 ? fmt::format("{}", how.width) : "", is_character ? 's' : 'c');
    MU_ASSIGN(const std::string text, format_value(machine_, value, specification));
    MU_TRY(machine_.reserve(text.size()));
    out_ += text;
    return {};
  }

  Outcome<void> append(const Conversion& how, const Value& value) {
    std::string specification;
    const bool is_text = how.letter == 's' || how.letter == 'r';
    if (how.letter == 'a') return machine_.unsupported("%a in a format");
    if (how.letter == 'c') return append_character(how, value);
    Value shown = value;
    if (is_text) {
      std::string text;
      MU_TRY(how.letter == 's' ? append_str(machine_, text, value) : append_repr(machine_, text, value));
      MU_ASSIGN(shown, machine_.text(std::move(text)));
    } else {
      if (!as_real(value)) {
        if (value.is(Kind::undefined)) return machine_.raise_undefined(value);
        if (value.is(Kind::big)) return machine_.unsupported("an integer beyond 64 bits");
        return machine_.raise(fmt::format("%{} format: a number is required, not {}", how.letter, type_name(value)));
      }
      const bool wants_integer = std::string_view("diuxXo").find(how.letter) != std::string_view::npos;
      if (wants_integer && !as_integer(value)) {
        if (std::string_view("diu").find(how.letter) == std::string_view::npos) {
          return machine_.raise(fmt::format("%{} format: an integer is required, not float", how.letter));
        }
        if (!(std::fabs(value.real()) < 9.2e18)) return machine_.unsupported("an integer beyond 64 bits");
        shown = Value::of(static_cast<i64>(value.real()));
      }
      if (how.precision >= 0 && wants_integer) return machine_.unsupported("a precision of an integer");
      if (how.plus || how.blank) specification += how.plus ? '+' : ' ';
    }
    if (how.alternate && !is_text) specification += '#';
    const bool fills = how.zeros && !how.left && !is_text;
    specification = (how.left ? "<" : fills ? "" : ">") + specification;
    if (fills) specification += '0';
    if (how.width > 0) specification += fmt::format("{}", how.width);
    if (how.precision >= 0) specification += fmt::format(".{}", how.precision);
    const char letter = how.letter == 'r' ? 's' : how.letter == 'i' || how.letter == 'u' ? 'd' : how.letter;
    specification += letter;
    MU_ASSIGN(const std::string text, format_value(machine_, shown, specification));
    MU_TRY(machine_.reserve(text.size()));
    out_ += text;
    return {};
  }

  Machine& machine_;
  std::string_view text_;
  const Value& values_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

}  // namespace

Outcome<Value> percent_format(Machine& machine, const Value& text, const Value& values) {
  if (text.as<Text>().is_markup) return machine.unsupported("formatting a text that is marked as safe");
  MU_ASSIGN(std::string result, PercentFormat(machine, text.view(), values).run());
  return machine.text(std::move(result));
}

}  // namespace modelutils::jinja
