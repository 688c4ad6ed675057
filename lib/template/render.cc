#include "template/render.h"

#include "json/reader.h"
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

namespace {

// Ten times the needs of any published template for one of these conversations.
constexpr Limits small_limits = {.steps = 50'000, .memory = u64{4} << 20, .output = u64{1} << 20};

constexpr std::string_view with_system =
    R"({"messages": [{"role": "system", "content": "SystemMarker"}, {"role": "user", "content": "Good morning"}]})";
constexpr std::string_view with_tools =
    R"({"messages": [{"role": "system", "content": "Helpful"}, {"role": "user", "content": "Good morning"}],
        "tools": [{"type": "function", "function": {"name": "tool_marker", "description": "Looks something up",
          "parameters": {"type": "object", "properties": {"key": {"type": "string", "description": "what"}},
                         "required": ["key"]}}}]})";
constexpr std::string_view with_reasoning =
    R"({"messages": [{"role": "user", "content": "Good morning"},
                     {"role": "assistant", "content": "Hello", "reasoning_content": "ReasonMarker"},
                     {"role": "user", "content": "Go on"}]})";
// Many templates drop the reasoning of earlier turns. The names are those of most models, of gpt-oss and of Apriel 1.5.
constexpr std::string_view with_last_reasoning =
    R"({"messages": [{"role": "user", "content": "Good morning"},
                     {"role": "assistant", "content": "Hello", "reasoning_content": "ReasonMarker",
                      "thinking": "ReasonMarker", "thought": "ReasonMarker"}], "add_thoughts": true})";
constexpr std::string_view thinks =
    R"({"messages": [{"role": "user", "content": "Good morning"}], "enable_thinking": true, "thinking": true,
        "reasoning_effort": "high"})";
constexpr std::string_view does_not_think =
    R"({"messages": [{"role": "user", "content": "Good morning"}], "enable_thinking": false, "thinking": false,
        "reasoning_effort": "low"})";
constexpr std::string_view with_image =
    R"({"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "PartMarker"}]}]})";
constexpr std::string_view without_image =
    R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "PartMarker"}]}]})";

class Trial {
 public:
  explicit Trial(const Template& parsed) : parsed_(parsed) {}

  // Returns nullopt if rendering fails, and for all further calls after a rendering exceeded the limits, because the
  // others would, too.
  std::optional<std::string> prompt(std::string_view conversation) {
    if (is_exhausted_) return std::nullopt;
    const auto document = json::parse(std::string(conversation), "a conversation");
    json::Object object;
    if (!document || !(*document)->root.get(object)) return std::nullopt;
    RenderRequest request;
    request.limits = small_limits;
    for (const json::Member member : object) request.variables.emplace_back(std::string(member.key), member.value);
    for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
      request.variables.emplace_back(name, "<" + std::string(name, 3) + ">");
    }
    request.variables.emplace_back("tools", nullptr);
    request.variables.emplace_back("documents", nullptr);
    request.variables.emplace_back("add_generation_prompt", true);
    auto text = render(parsed_, request);
    is_exhausted_ = !text && text.error().code == "template-limit";
    return text ? std::optional(std::move(*text)) : std::nullopt;
  }

  bool shows(std::string_view conversation, std::string_view marker) {
    const auto text = prompt(conversation);
    return text && text->find(marker) != text->npos;
  }

  // True if both conversations can be rendered and their prompts differ.
  bool differs(std::string_view left, std::string_view right) {
    const auto one = prompt(left), other = prompt(right);
    return one && other && *one != *other;
  }

 private:
  const Template& parsed_;
  bool is_exhausted_ = false;
};

}  // namespace

Capabilities capabilities(const Template& parsed) {
  Trial trial(parsed);
  Capabilities can;
  can.system = trial.shows(with_system, "SystemMarker");
  can.tools = trial.shows(with_tools, "tool_marker");
  can.thinking = trial.shows(with_reasoning, "ReasonMarker") || trial.shows(with_last_reasoning, "ReasonMarker") ||
                 trial.differs(thinks, does_not_think);
  // A template without support for content parts prints their list in Python's notation.
  can.multimodal = trial.differs(with_image, without_image) && !trial.shows(with_image, "'type'");
  return can;
}

}  // namespace modelutils::jinja
