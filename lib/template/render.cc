#include "template/render.h"

#include "template/interpreter.h"
#include "template/operators.h"

namespace modelutils::jinja {

namespace {

Outcome<Value> value_of(Machine& machine, const json::Element& element) {
  MU_DEEPER(machine);
  std::string_view text;
  u64 size = 0;
  i64 integer = 0;
  double real = 0;
  bool boolean = false;
  json::Array array;
  json::Object object;
  if (element.is_null()) return Value::none();
  if (element.get(text)) return machine.text(std::string(text));
  if (element.get(boolean)) return Value::of(boolean);
  if (element.get(integer)) return Value::of(integer);
  if (element.get(size)) return Value::of(Kind::big, machine.make<Text>(std::to_string(size)));
  if (element.get(array)) {
    std::vector<Value> items;
    for (const json::Element item : array) {
      MU_ASSIGN(const Value value, value_of(machine, item));
      items.push_back(value);
    }
    return machine.list(std::move(items));
  }
  if (element.get(object)) {
    auto* dict = machine.make<Dict>();
    for (const json::Member member : object) {
      MU_ASSIGN(const Value key, machine.text(std::string(member.key)));
      MU_ASSIGN(const Value value, value_of(machine, member.value));
      MU_TRY(put(machine, *dict, key, value));
    }
    return Value::of(Kind::dict, dict);
  }
  (void)element.get(real);
  return Value::of(real);
}

Outcome<Value> value_of(Machine& machine, const Input& input) {
  if (const auto* element = std::get_if<json::Element>(&input)) return value_of(machine, *element);
  if (const auto* text = std::get_if<std::string>(&input)) return machine.text(*text);
  if (const auto* boolean = std::get_if<bool>(&input)) return Value::of(*boolean);
  return Value::none();
}

Outcome<std::string> run(Machine& machine, const Template& parsed, const RenderRequest& request) {
  Interpreter interpreter(machine, request.now);
  for (const auto& [name, input] : request.variables) {
    MU_ASSIGN(const Value value, value_of(machine, input));
    interpreter.set(name, value);
  }
  return interpreter.run(parsed.root());
}

}  // namespace

Result<std::string> render(const Template& parsed, const RenderRequest& request) {
  Machine machine(request.limits);
  auto text = run(machine, parsed, request);
  if (!text) return tl::make_unexpected(template_error(*text.error(), parsed.source()));
  return std::move(*text);
}

bool has_exact_integers(std::string_view json) {
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '\\' && in_string) {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && c >= '0' && c <= '9') {
      const std::size_t end = std::min(json.find_first_not_of("0123456789.eE+-", i), json.size());
      const std::string_view number = json.substr(i, end - i);
      const bool is_integer = number.find_first_not_of("0123456789") == std::string_view::npos;
      // The limits have 20 digits (2^64 − 1) and 19 digits (2^63).
      constexpr std::string_view largest = "18446744073709551615";
      constexpr std::string_view lowest = "9223372036854775808";
      const bool is_negative = i > 0 && json[i - 1] == '-';
      const std::string_view limit = is_negative ? lowest : largest;
      if (is_integer && (number.size() > limit.size() || (number.size() == limit.size() && number > limit)))
        return false;
      i = end - 1;
    }
  }
  return true;
}

}  // namespace modelutils::jinja
