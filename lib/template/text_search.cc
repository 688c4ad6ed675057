// Methods of str that search or test.
#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

namespace {

// The part of a text selected by start and end.
struct Part {
  std::string_view text;
  std::size_t begin = 0;
  bool is_outside = false;
};

Outcome<Part> part_of(Machine& machine, const Value& self, const Value& start, const Value& end) {
  const auto& text = self.as<Text>();
  const auto length = static_cast<i64>(text.length);
  const auto place = [&](const Value& value, i64 otherwise) -> Outcome<i64> {
    if (value.is(Kind::missing) || value.is(Kind::none)) return otherwise;
    MU_ASSIGN(const i64 at, need_integer(machine, value, "slice index"));
    return at < 0 ? std::max(at, -length) + length : at;
  };
  MU_ASSIGN(const i64 first, place(start, 0));
  MU_ASSIGN(const i64 last, place(end, length));
  Part part;
  part.is_outside = first > length || first > std::min(last, length);
  if (part.is_outside) return part;
  part.begin = static_cast<std::size_t>(first);
  if (!text.is_ascii()) MU_TRY(machine.charge(text.bytes.size() / 16));
  part.text = characters(text, part.begin, static_cast<std::size_t>(std::min(last, length)));
  return part;
}

constexpr std::string_view search_parameters[] = {"sub", "start", "end"};

// startswith() and endswith(), with a text or a tuple of texts.
template <bool at_end>
Outcome<Value> has_affix_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "startswith", call, search_parameters, 1));
  MU_ASSIGN(const Part part, part_of(machine, self, values[1], values[2]));
  const auto has = [&](std::string_view affix) -> Outcome<bool> {
    if (part.is_outside || affix.size() > part.text.size()) return false;
    MU_TRY(machine.charge(affix.size() / 64));
    return at_end ? part.text.ends_with(affix) : part.text.starts_with(affix);
  };
  if (values[0].is(Kind::text)) {
    MU_ASSIGN(const bool found, has(values[0].view()));
    return Value::of(found);
  }
  if (!values[0].is(Kind::tuple)) {
    return machine.raise(fmt::format("{} first arg must be str or a tuple of str, not {}",
                                     at_end ? "endswith" : "startswith", type_name(values[0])));
  }
  for (const Value& affix : values[0].items()) {
    MU_TRY(machine.charge(1));
    MU_ASSIGN(const std::string_view text, text_argument(machine, affix, "each of the tuple"));
    MU_ASSIGN(const bool found, has(text));
    if (found) return Value::of(true);
  }
  return Value::of(false);
}

template <bool from_right, bool must_find>
Outcome<Value> find_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "find", call, search_parameters, 1));
  MU_ASSIGN(const std::string_view wanted, text_argument(machine, values[0], "the text to find"));
  MU_ASSIGN(const Part part, part_of(machine, self, values[1], values[2]));
  MU_TRY(charge_search(machine, part.text, wanted));
  const std::size_t at = from_right ? part.text.rfind(wanted) : part.text.find(wanted);
  if (part.is_outside || at == std::string_view::npos) {
    if (must_find) return machine.raise("substring not found");
    return Value::of(i64{-1});
  }
  return Value::of(part.begin + characters_of(part.text.substr(0, at)));
}

Outcome<Value> count_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "count", call, search_parameters, 1));
  MU_ASSIGN(const std::string_view wanted, text_argument(machine, values[0], "the text to count"));
  MU_ASSIGN(const Part part, part_of(machine, self, values[1], values[2]));
  MU_TRY(charge_search(machine, part.text, wanted));
  if (part.is_outside) return Value::of(i64{0});
  if (wanted.empty()) return Value::of(characters_of(part.text) + 1);
  return Value::of(occurrences(part.text, wanted));
}

bool is_letter_or_digit(char32_t c) {
  return is_letter(c) || is_digit(c);
}

bool is_number(char32_t c) {
  return is_digit(c) || is_other_number(c);
}

// True if the text is not empty and is_one() holds for each character.
template <bool (*is_one)(char32_t)>
Outcome<Value> all_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "str method", call, {}));
  const std::string_view text = self.view();
  MU_TRY(machine.charge(text.size() / 8));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    if (!is_one(point.value)) return Value::of(false);
    at += point.size;
  }
  return Value::of(!text.empty());
}

// isdigit(). Python also accepts some numbers that are not decimal digits, such as ²; for those this fails.
Outcome<Value> is_digits_method(Interpreter& interpreter, const Value& self, const Call& call) {
  MU_ASSIGN(const Value may_be, all_method<is_number>(interpreter, self, call));
  if (!may_be.boolean()) return may_be;
  MU_ASSIGN(const Value are_decimal, all_method<is_digit>(interpreter, self, call));
  if (!are_decimal.boolean()) return interpreter.machine().unsupported("isdigit() of such a number");
  return are_decimal;
}

template <bool (*holds)(std::string_view)>
Outcome<Value> whole_method(Interpreter& interpreter, const Value& self, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "str method", call, {}));
  MU_TRY(interpreter.machine().charge(self.view().size() / 8));
  return Value::of(holds(self.view()));
}

bool is_ascii_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<u8>(c) < 0x80; });
}

}  // namespace

std::span<const NamedNative> text_search_methods() {
  static constexpr NamedNative methods[] = {
      {"count", count_method},
      {"endswith", has_affix_method<true>},
      {"find", find_method<false, false>},
      {"index", find_method<false, true>},
      {"isalnum", all_method<is_letter_or_digit>},
      {"isalpha", all_method<is_letter>},
      {"isascii", whole_method<is_ascii_text>},
      {"isdigit", is_digits_method},
      {"islower", whole_method<is_lower>},
      {"isspace", all_method<is_space>},
      {"isupper", whole_method<is_upper>},
      {"rfind", find_method<true, false>},
      {"rindex", find_method<true, true>},
      {"startswith", has_affix_method<false>},
  };
  return methods;
}

}  // namespace modelutils::jinja
