// Methods of str: those that change a text, and those that search in it.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/percent_format.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

namespace {

using Changed = std::optional<std::string> (*)(std::string_view);

template <Changed change>
Outcome<Value> in_case_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "str method", call, {}));
  MU_TRY(machine.charge(self.view().size() / 8));
  MU_TRY(machine.reserve(2 * self.view().size()));
  std::optional<std::string> changed = change(self.view());
  if (!changed) return machine.unsupported("the other case of one of these letters");
  return machine.text(std::move(*changed), self.as<Text>().is_markup);
}

template <Side side>
Outcome<Value> stripped_method(Interpreter& interpreter, const Value& self, const Call& call) {
  return strip_value(interpreter.machine(), self, call, side);
}

template <bool from_right>
Outcome<Value> split_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"sep", "maxsplit"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "split", call, parameters));
  MU_ASSIGN(const std::string_view text, plain_text(machine, self));
  i64 most = -1;
  if (!values[1].is(Kind::missing)) {
    MU_ASSIGN(most, need_integer(machine, values[1], "maxsplit"));
  }
  std::vector<std::string_view> parts;
  if (values[0].is(Kind::missing) || values[0].is(Kind::none)) {
    MU_TRY(machine.reserve(text.size() / 2 * sizeof(std::string_view)));
    parts = from_right ? split_blanks_from_right(text, most) : split_blanks(text, most);
  } else {
    MU_ASSIGN(const std::string_view separator, text_argument(machine, values[0], "sep"));
    if (separator.empty()) return machine.raise("empty separator");
    MU_TRY(charge_search(machine, text, separator));
    MU_TRY(machine.reserve(occurrences(text, separator) * sizeof(std::string_view)));
    parts = from_right ? split_at_from_right(text, separator, most) : split_at(text, separator, most);
  }
  return texts(machine, parts);
}

Outcome<Value> split_lines_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"keepends"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "splitlines", call, parameters));
  MU_ASSIGN(const std::string_view text, plain_text(machine, self));
  MU_ASSIGN(const std::vector<std::string_view> lines, lines_of(machine, text, is_true(values[0])));
  return texts(machine, lines);
}

Outcome<Value> replace_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"old", "new", "count"};
  if (!call.named.empty()) return machine.raise("str.replace() takes no keyword arguments");
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "replace", call, parameters, 2));
  MU_ASSIGN(const std::string_view text, plain_text(machine, self));
  MU_ASSIGN(const std::string_view before, text_argument(machine, values[0], "replace() argument 1"));
  MU_ASSIGN(const std::string_view after, text_argument(machine, values[1], "replace() argument 2"));
  i64 most = -1;
  if (!values[2].is(Kind::missing)) {
    MU_ASSIGN(most, need_integer(machine, values[2], "count"));
  }
  return replaced(machine, text, before, after, most);
}

Outcome<Value> join_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"iterable"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "join", call, parameters, 1));
  MU_ASSIGN(const std::string_view separator, plain_text(machine, self));
  if (values[0].is(Kind::undefined)) return machine.text("");
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, values[0]));
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::text)) {
      return machine.raise(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(items[i])));
    }
    MU_TRY(machine.reserve(separator.size() + items[i].view().size()));
    if (i > 0) out += separator;
    out += items[i].view();
  }
  return machine.text(std::move(out));
}

template <bool at_end>
Outcome<Value> without_affix_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"affix"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "removeprefix", call, parameters, 1));
  MU_ASSIGN(std::string_view text, plain_text(machine, self));
  MU_ASSIGN(const std::string_view affix, text_argument(machine, values[0], "the argument"));
  if (at_end ? text.ends_with(affix) : text.starts_with(affix)) {
    text = at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size());
  }
  return machine.text(std::string(text));
}

template <bool from_right>
Outcome<Value> partition_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"sep"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "partition", call, parameters, 1));
  MU_ASSIGN(const std::string_view text, plain_text(machine, self));
  MU_ASSIGN(const std::string_view separator, text_argument(machine, values[0], "the separator"));
  if (separator.empty()) return machine.raise("empty separator");
  MU_TRY(charge_search(machine, text, separator));
  const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::vector<std::string_view> parts;
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  } else if (from_right) {
    parts = {"", "", text};
  } else {
    parts = {text, "", ""};
  }
  MU_ASSIGN(const Value list, texts(machine, parts));
  return machine.list(list.items(), Kind::tuple);
}

enum class Justify : u8 { left, right, center, zeros };

template <Justify where>
Outcome<Value> justified_method(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"width", "fillchar"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "center", call, parameters, 1));
  MU_ASSIGN(const std::string_view text, plain_text(machine, self));
  MU_ASSIGN(const i64 width, need_integer(machine, values[0], "the width"));
  std::string_view fill = where == Justify::zeros ? "0" : " ";
  if (!values[1].is(Kind::missing)) {
    MU_ASSIGN(fill, text_argument(machine, values[1], "the fill character"));
    MU_TRY(machine.charge(fill.size() / 64));
    if (characters_of(fill) != 1) return machine.raise("The fill character must be exactly one character long");
  }
  const auto length = static_cast<i64>(self.as<Text>().length);
  if (width <= length) return self;
  const u64 missing = static_cast<u64>(width - length);
  if (missing > machine.limits().memory) return machine.fail(FailureKind::limit, "makes a text that is too wide");
  MU_TRY(machine.reserve(missing * fill.size() + text.size()));
  // Like CPython: if the padding is odd and the width is odd, the extra blank goes to the left.
  const u64 left = where == Justify::left     ? 0
                   : where == Justify::center ? missing / 2 + (missing & static_cast<u64>(width) & 1)
                                              : missing;
  std::string out;
  std::string_view rest = text;
  if (where == Justify::zeros && !text.empty() && (text[0] == '-' || text[0] == '+')) {
    out += text[0];
    rest.remove_prefix(1);
  }
  for (u64 i = 0; i < left; ++i) out += fill;
  out += rest;
  for (u64 i = left; i < missing; ++i) out += fill;
  return machine.text(std::move(out));
}

Outcome<Value> format_method(Interpreter& interpreter, const Value& self, const Call& call) {
  return brace_format(interpreter, self, call);
}

}  // namespace

std::span<const NamedNative> text_methods() {
  static constexpr NamedNative methods[] = {
      {"capitalize", in_case_method<capitalize>},
      {"center", justified_method<Justify::center>},
      {"format", format_method},
      {"join", join_method},
      {"ljust", justified_method<Justify::left>},
      {"lower", in_case_method<lower>},
      {"lstrip", stripped_method<Side::left>},
      {"partition", partition_method<false>},
      {"removeprefix", without_affix_method<false>},
      {"removesuffix", without_affix_method<true>},
      {"replace", replace_method},
      {"rjust", justified_method<Justify::right>},
      {"rpartition", partition_method<true>},
      {"rsplit", split_method<true>},
      {"rstrip", stripped_method<Side::right>},
      {"split", split_method<false>},
      {"splitlines", split_lines_method},
      {"strip", stripped_method<Side::both>},
      {"title", in_case_method<title>},
      {"upper", in_case_method<upper>},
      {"zfill", justified_method<Justify::zeros>},
      {"casefold", nullptr},
      {"encode", nullptr},
      {"expandtabs", nullptr},
      {"format_map", nullptr},
      {"isdecimal", nullptr},
      {"isidentifier", nullptr},
      {"isnumeric", nullptr},
      {"isprintable", nullptr},
      {"istitle", nullptr},
      {"maketrans", nullptr},
      {"swapcase", nullptr},
      {"translate", nullptr},
  };
  return methods;
}

// Methods of str that search or test.

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
