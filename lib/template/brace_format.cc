// "{0.name}".format(…)
#include <fmt/core.h>

#include <algorithm>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template/percent_format.h"
#include "template/printing.h"

namespace modelutils::jinja {

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
    if (rest.size() > 1) return machine_.unsupported("what follows ':' in a field of format()");
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
