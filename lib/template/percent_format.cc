#include "template/percent_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/escape.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

constexpr i64 widest = 1'000'000;  // wider than any field in a prompt
constexpr i64 most_digits = 400;   // a double has fewer digits before or after the point

// The parts of a conversion between '%' and its letter, inclusive.
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

  Outcome<void> append(const Conversion& how, const Value& value) {
    std::string sign, body;
    switch (how.letter) {
      case 's': {
        MU_ASSIGN(body, text(how, value));
        break;
      }
      case 'd':
      case 'f': {
        if (!as_real(value)) {
          if (value.is(Kind::undefined)) return machine_.raise_undefined(value);
          if (value.is(Kind::big)) return machine_.unsupported("an integer beyond 64 bits");
          return machine_.raise(fmt::format("%{} format: a number is required, not {}", how.letter, type_name(value)));
        }
        MU_ASSIGN(body, how.letter == 'd' ? integer(how, value) : real(how, value));
        if (body.starts_with('-')) {
          sign = "-";
          body.erase(0, 1);
        } else if (how.plus || how.blank) {
          sign = how.plus ? "+" : " ";
        }
        break;
      }
      default:
        return machine_.unsupported(
            fmt::format("a format code other than %s, %d and %f ({})", escape({&how.letter, 1})));
    }
    const u64 missing = static_cast<u64>(std::max<i64>(how.width - characters(sign) - characters(body), 0));
    MU_TRY(machine_.reserve(sign.size() + body.size() + missing));
    const bool fills = how.zeros && !how.left && how.letter != 's';
    if (!how.left && !fills) out_.append(missing, ' ');
    out_ += sign;
    if (fills) out_.append(missing, '0');
    out_ += body;
    if (how.left) out_.append(missing, ' ');
    return {};
  }

  static i64 characters(const std::string& text) { return static_cast<i64>(characters_of(text)); }

  Outcome<std::string> text(const Conversion& how, const Value& value) {
    MU_ASSIGN(std::string text, str(machine_, value));
    if (how.precision >= 0) text.resize(bytes_of(text, static_cast<std::size_t>(how.precision)));
    return text;
  }

  Outcome<std::string> integer(const Conversion& how, const Value& value) {
    if (how.precision >= 0) return machine_.unsupported("a precision of an integer");
    if (const auto integer = as_integer(value)) return fmt::format("{}", *integer);
    if (!(std::fabs(value.real()) < 9.2e18)) return machine_.unsupported("an integer beyond 64 bits");
    return fmt::format("{}", static_cast<i64>(value.real()));
  }

  Outcome<std::string> real(const Conversion& how, const Value& value) {
    const double number = *as_real(value);
    if (how.alternate) return machine_.unsupported("'#' in the format of a float");
    if (how.precision > most_digits) return machine_.fail(FailureKind::limit, "formats a number with too many digits");
    if (std::isnan(number)) return std::string("nan");
    if (std::isinf(number)) return std::string(number < 0 ? "-inf" : "inf");
    return fmt::format("{:.{}f}", number, how.precision < 0 ? 6 : how.precision);
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

// "{0.name}".format(…)

namespace {

class BraceFormat {
 public:
  BraceFormat(Interpreter& interpreter, const Call& call)
      : interpreter_(interpreter), machine_(interpreter.machine()), call_(call) {}

  Outcome<std::string> run(std::string_view text) {
    MU_TRY(machine_.charge(text.size() / 16));
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (c != '{' && c != '}') {
        const std::size_t end = std::min(text.find_first_of("{}", at), text.size());
        MU_TRY(machine_.reserve(end - at));
        out += text.substr(at, end - at);
        at = end;
      } else if (at + 1 < text.size() && text[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        return machine_.raise("Single '}' encountered in format string");
      } else {
        MU_ASSIGN(const std::size_t end, field_end(text, at));
        MU_ASSIGN(const std::string shown, field(text.substr(at + 1, end - at - 1)));
        MU_TRY(machine_.reserve(shown.size()));
        out += shown;
        at = end + 1;
      }
    }
    return out;
  }

 private:
  Outcome<std::size_t> field_end(std::string_view text, std::size_t begin) {
    std::size_t open = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    return machine_.raise("expected '}' before end of string");
  }

  Outcome<std::string> field(std::string_view field) {
    // Within brackets, '!' and ':' belong to the key.
    std::size_t end = 0;
    for (bool in_brackets = false; end < field.size(); ++end) {
      if (field[end] == '[') in_brackets = true;
      if (field[end] == ']') in_brackets = false;
      if (!in_brackets && (field[end] == ':' || field[end] == '!')) break;
    }
    MU_ASSIGN(Value value, found(field.substr(0, end)));
    std::string_view rest = field.substr(end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest[1] != 's' && rest[1] != 'r'))
        return machine_.unsupported("this conversion in format()");
      std::string text;
      MU_TRY(rest[1] == 's' ? append_str(machine_, text, value) : append_repr(machine_, text, value));
      MU_ASSIGN(value, machine_.text(std::move(text)));
      rest.remove_prefix(2);
      if (!rest.empty() && rest[0] != ':') return machine_.raise("expected ':' after conversion specifier");
    }
    if (rest.size() > 1) return machine_.unsupported("a format specification after ':' in format()");
    return str(machine_, value);
  }

  // Looks up a field such as "0.name[key]"; without a number it takes the next argument.
  Outcome<Value> found(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    MU_ASSIGN(Value value, first(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      if (path[0] == '.') {
        const std::size_t stop = std::min(path.find_first_of(".[", 1), path.size());
        if (stop == 1) return machine_.raise("Empty attribute in format string");
        MU_ASSIGN(value, interpreter_.attribute(value, path.substr(1, stop - 1)));
        path.remove_prefix(stop);
      } else {
        const std::size_t stop = path.find(']');
        if (path[0] != '[' || stop == std::string_view::npos) return machine_.raise("Missing ']' in format string");
        const std::string_view key = path.substr(1, stop - 1);
        MU_ASSIGN(Value index, machine_.text(std::string(key)));
        if (is_number(key)) index = Value::of(number(key));
        MU_ASSIGN(value, interpreter_.item(value, index));
        path.remove_prefix(stop + 1);
      }
    }
    return value;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
  }
  static i64 number(std::string_view digits) {
    i64 value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    return value;
  }

  Outcome<Value> first(std::string_view name) {
    if (name.empty() || is_number(name)) {
      if (name.empty() == numbered_ && (numbered_ || automatic_ > 0)) {
        return machine_.raise("cannot switch between automatic and manual field numbering");
      }
      numbered_ = !name.empty();
      const auto index = numbered_ ? static_cast<std::size_t>(number(name)) : automatic_++;
      if (index < call_.positional.size()) return call_.positional[index];
      return machine_.raise("Replacement index out of range for positional args tuple");
    }
    MU_TRY(machine_.charge(call_.named.size() * (1 + name.size() / 64)));
    for (const auto& [key, value] : call_.named) {
      if (key == name) return value;
    }
    return machine_.raise(fmt::format("'{}'", name));
  }

  Interpreter& interpreter_;
  Machine& machine_;
  const Call& call_;
  std::size_t automatic_ = 0;
  bool numbered_ = false;
};

}  // namespace

Outcome<Value> brace_format(Interpreter& interpreter, const Value& text, const Call& call) {
  Machine& machine = interpreter.machine();
  if (text.as<Text>().is_markup) return machine.unsupported("formatting a text that is marked as safe");
  MU_ASSIGN(std::string result, BraceFormat(interpreter, call).run(text.view()));
  return machine.text(std::move(result));
}

}  // namespace modelutils::jinja
