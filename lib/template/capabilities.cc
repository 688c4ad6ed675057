#include "template/capabilities.h"

#include "json/reader.h"
#include "template/render.h"

namespace modelutils::jinja {

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
constexpr std::string_view thinks =
    R"({"messages": [{"role": "user", "content": "Good morning"}], "enable_thinking": true, "thinking": true})";
constexpr std::string_view does_not_think =
    R"({"messages": [{"role": "user", "content": "Good morning"}], "enable_thinking": false, "thinking": false})";
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
  can.thinking = trial.shows(with_reasoning, "ReasonMarker") || trial.differs(thinks, does_not_think);
  // A template without support for content parts prints their list in Python's notation.
  can.multimodal = trial.differs(with_image, without_image) && !trial.shows(with_image, "'type'");
  return can;
}

}  // namespace modelutils::jinja
