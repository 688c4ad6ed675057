// Filters that return text.
#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/percent_format.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

namespace {

using ChangedText = std::optional<std::string> (*)(std::string_view);

template <ChangedText change>
Outcome<Value> cased_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "filter", call, {}));
  MU_ASSIGN(const Value text, str_value(machine, input));
  MU_TRY(machine.charge(text.view().size() / 8));
  MU_TRY(machine.reserve(2 * text.view().size()));
  std::optional<std::string> changed = change(text.view());
  if (!changed) return machine.unsupported("the other case of one of these letters");
  return machine.text(std::move(*changed), text.as<Text>().is_markup);
}

// The title filter capitalises after whitespace, opening brackets and hyphens; the method title() capitalises each
// word.
std::optional<std::string> title_words(std::string_view text) {
  std::string out;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    const bool separates = is_space(point.value) || std::string_view("-({[<").find(text[at]) != std::string_view::npos;
    std::size_t end = at + point.size;
    if (!separates && !begins) {  // takes the rest of a word at once: the lower case of sigma depends on its neighbours
      while (end < text.size()) {
        const CodePoint next = decode_utf8(text.substr(end));
        if (is_space(next.value) || std::string_view("-({[<").find(text[end]) != std::string_view::npos) break;
        end += next.size;
      }
    }
    const std::string_view part = text.substr(at, end - at);
    const auto changed = begins && !separates ? upper(part) : lower(part);
    if (!changed) return {};
    out += *changed;
    begins = separates;
    at = end;
  }
  return out;
}

Outcome<Value> trim_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  MU_ASSIGN(const Value text, str_value(interpreter.machine(), input));
  return strip_value(interpreter.machine(), text, call, Side::both);
}

Outcome<Value> string_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "string", call, {}));
  return str_value(interpreter.machine(), input);
}

Outcome<Value> safe_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "safe", call, {}));
  MU_ASSIGN(std::string text, str(machine, input));
  return machine.text(std::move(text), true);
}

template <bool again>
Outcome<Value> escape_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "escape", call, {}));
  if (!again && input.is(Kind::text) && input.as<Text>().is_markup) return input;
  MU_ASSIGN(const std::string text, str(machine, input));
  MU_TRY(machine.reserve(most_escaped * text.size()));
  return machine.text(escape_markup(text), true);
}

Outcome<Value> replace_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"old", "new", "count"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "replace", call, parameters, 2));
  MU_ASSIGN(const std::string text, str(machine, input));
  MU_ASSIGN(const std::string before, str(machine, values[0]));
  MU_ASSIGN(const std::string after, str(machine, values[1]));
  i64 most = -1;
  if (!values[2].is(Kind::missing) && !values[2].is(Kind::none)) {
    MU_ASSIGN(most, need_integer(machine, values[2], "count"));
  }
  return replaced(machine, text, before, after, most);
}

Outcome<Value> tojson_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"ensure_ascii", "indent", "separators", "sort_keys"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "tojson", call, parameters));
  JsonStyle style;
  style.ascii_only = is_true(values[0]);
  style.sort_keys = is_true(values[3]);
  if (values[1].is(Kind::text)) {
    MU_TRY(machine.reserve(values[1].view().size()));
    style.indent = std::string(values[1].view());
  } else if (!values[1].is(Kind::missing) && !values[1].is(Kind::none)) {
    MU_ASSIGN(const i64 width, need_integer(machine, values[1], "indent"));
    if (width > 1000) return machine.fail(FailureKind::limit, "indents too far");
    style.indent = std::string(static_cast<std::size_t>(std::max<i64>(width, 0)), ' ');
  }
  if (style.indent) style.between_items = ",";
  if (!values[2].is(Kind::missing) && !values[2].is(Kind::none)) {
    const bool is_pair = (values[2].is(Kind::tuple) || values[2].is(Kind::list)) && values[2].items().size() == 2;
    if (!is_pair) return machine.raise("separators must be a pair of texts");
    MU_ASSIGN(const std::string_view between, text_argument(machine, values[2].items()[0], "a separator"));
    MU_ASSIGN(const std::string_view after, text_argument(machine, values[2].items()[1], "a separator"));
    MU_TRY(machine.reserve(between.size() + after.size()));
    style.between_items = between;
    style.after_key = after;
  }
  std::string text;
  MU_TRY(append_json(machine, text, input, style));
  return machine.text(std::move(text));
}

Outcome<Value> indent_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"width", "first", "blank"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "indent", call, parameters));
  if (!input.is(Kind::text)) {
    if (input.is(Kind::undefined)) return machine.raise_undefined(input);
    return machine.raise(fmt::format("indent needs a text, not {}", type_name(input)));
  }
  std::string blanks;
  if (values[0].is(Kind::text)) {
    MU_TRY(machine.reserve(values[0].view().size()));
    blanks = values[0].view();
  } else {
    i64 width = 4;
    if (!values[0].is(Kind::missing)) {
      MU_ASSIGN(width, need_integer(machine, values[0], "the width"));
    }
    if (width > static_cast<i64>(machine.limits().memory)) return machine.fail(FailureKind::limit, "indents too far");
    MU_TRY(machine.reserve(static_cast<u64>(std::max<i64>(width, 0))));
    blanks.assign(static_cast<std::size_t>(std::max<i64>(width, 0)), ' ');
  }
  MU_TRY(machine.reserve(input.view().size()));
  const std::string source = std::string(input.view()) + "\n";
  MU_ASSIGN(const std::vector<std::string_view> lines, lines_of(machine, source, false));
  const bool with_blank = is_true(values[2]);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    const bool is_indented = i == 0 ? is_true(values[1]) : with_blank || !lines[i].empty();
    MU_TRY(machine.reserve(lines[i].size() + (is_indented ? blanks.size() : 0)));
    if (is_indented) out += blanks;
    out += lines[i];
  }
  return machine.text(std::move(out), input.as<Text>().is_markup);
}

Outcome<Value> format_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  if (!call.positional.empty() && !call.named.empty()) {
    return machine.raise("can't handle positional and keyword arguments at the same time");
  }
  MU_ASSIGN(const Value text, str_value(machine, input));
  if (call.named.empty()) {
    MU_ASSIGN(const Value values, machine.list(call.positional, Kind::tuple));
    return percent_format(machine, text, values);
  }
  auto* values = machine.make<Dict>();
  for (const auto& [name, value] : call.named) {
    MU_ASSIGN(const Value key, machine.text(name));
    MU_TRY(put(machine, *values, key, value));
  }
  return percent_format(machine, text, Value::of(Kind::dict, values));
}

Outcome<Value> center_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"width"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "center", call, parameters));
  MU_ASSIGN(const Value text, str_value(machine, input));
  const Value width = values[0].is(Kind::missing) ? Value::of(i64{80}) : values[0];
  MU_ASSIGN(const Value method, interpreter.attribute(text, "center"));
  return interpreter.call(method, {{width}, {}});
}

Outcome<Value> truncate_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"length", "killwords", "end", "leeway"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "truncate", call, parameters));
  i64 most = 255;
  i64 leeway = 5;
  std::string_view end = "...";
  if (!values[0].is(Kind::missing)) {
    MU_ASSIGN(most, need_integer(machine, values[0], "length"));
  }
  if (!values[2].is(Kind::missing)) {
    MU_ASSIGN(end, text_argument(machine, values[2], "end"));
  }
  if (!values[3].is(Kind::missing) && !values[3].is(Kind::none)) {
    MU_ASSIGN(leeway, need_integer(machine, values[3], "leeway"));
  }
  MU_TRY(machine.charge(end.size() / 64));
  const auto end_length = static_cast<i64>(characters_of(end));
  if (most < end_length) return machine.raise(fmt::format("expected length >= {}, got {}", end_length, most));
  if (leeway < 0) return machine.raise(fmt::format("expected leeway >= 0, got {}", leeway));
  MU_ASSIGN(const std::size_t size, length(machine, input));
  if (static_cast<i64>(size) - leeway <= most) return input;
  if (!input.is(Kind::text)) return machine.raise(fmt::format("truncate needs a text, not {}", type_name(input)));
  MU_TRY(plain_text(machine, input));
  const auto& text = input.as<Text>();
  MU_TRY(machine.charge(text.bytes.size() / 16));
  std::string_view kept = characters(text, 0, static_cast<std::size_t>(most - end_length));
  if (!is_true(values[1])) {
    const std::size_t blank = kept.rfind(' ');
    if (blank != std::string_view::npos) kept = kept.substr(0, blank);
  }
  return machine.text(std::string(kept) + std::string(end));
}

Outcome<Value> wordcount_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "wordcount", call, {}));
  MU_ASSIGN(const Value text, str_value(machine, input));
  MU_TRY(machine.charge(text.view().size() / 8));
  i64 count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.view().size();) {
    const CodePoint point = decode_utf8(text.view().substr(at));
    const bool is_part = is_word(point.value);
    count += is_part && !in_word ? 1 : 0;
    in_word = is_part;
    at += point.size;
  }
  return Value::of(count);
}

Outcome<Value> urlencode_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "urlencode", call, {}));
  const bool is_single = input.is(Kind::text) || as_real(input) || input.is(Kind::none);
  if (!is_single) return machine.unsupported("the filter 'urlencode' of pairs");
  MU_ASSIGN(const std::string text, str(machine, input));
  MU_TRY(machine.charge(text.size() / 4));
  MU_TRY(machine.reserve(3 * text.size()));
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("_.-~/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<u8>(c));
  }
  return machine.text(std::move(out));
}

}  // namespace

std::span<const NamedNative> text_filters() {
  static constexpr NamedNative filters[] = {
      {"capitalize", cased_filter<capitalize>},
      {"center", center_filter},
      {"e", escape_filter<false>},
      {"escape", escape_filter<false>},
      {"forceescape", escape_filter<true>},
      {"format", format_filter},
      {"indent", indent_filter},
      {"lower", cased_filter<lower>},
      {"replace", replace_filter},
      {"safe", safe_filter},
      {"string", string_filter},
      {"title", cased_filter<title_words>},
      {"tojson", tojson_filter},
      {"trim", trim_filter},
      {"truncate", truncate_filter},
      {"upper", cased_filter<upper>},
      {"urlencode", urlencode_filter},
      {"wordcount", wordcount_filter},
      {"filesizeformat", nullptr},
      {"pprint", nullptr},
      {"striptags", nullptr},
      {"urlize", nullptr},
      {"wordwrap", nullptr},
      {"xmlattr", nullptr},
  };
  return filters;
}

}  // namespace modelutils::jinja
