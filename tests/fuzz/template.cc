// Any bytes -> chat template reader, verify's checks of templates, and rendering.
#include <cstdlib>

#include "json/reader.h"
#include "template/inspect.h"
#include "template/prompt_text.h"
#include "template/render.h"

using namespace modelutils;

namespace {

constexpr std::string_view conversation =
    R"({"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hé <b>\n"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5]}}}]},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "documents": null, "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"})";

// Positions must lie in the template, and errors must have a known kind.
void check_place(std::size_t offset, std::size_t size) {
  if (offset > size) std::abort();
}
void check_error(const Error& error, std::size_t size) {
  if (!error.code.starts_with("template-") || error.message.empty()) std::abort();
  if (error.offset) check_place(*error.offset, size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  for (const jinja::Remark& remark : jinja::hidden_text(source)) check_place(remark.offset, size);
  const auto parsed = jinja::parse(source);
  if (!parsed) {
    check_error(parsed.error(), size);
    return 0;
  }
  for (const jinja::Remark& remark : jinja::inspect(*parsed, source)) check_place(remark.offset, size);
  if (const auto late = jinja::late_bos(*parsed, "<s>")) check_place(late->at, size);
  (void)jinja::mentions(*parsed, "eos_token", "</s>");

  static const auto document = json::parse(std::string(conversation), "conversation");
  json::Object object;
  if (!document || !(*document)->root.get(object)) std::abort();
  jinja::RenderRequest request;
  // Far below the limits for prompts, so that many templates are tried per second.
  request.limits = {.steps = 20'000, .memory = u64{4} << 20, .output = u64{1} << 20};
  for (const json::Member member : object) request.variables.emplace_back(std::string(member.key), member.value);
  const auto text = jinja::render(*parsed, request);
  if (!text) check_error(text.error(), size);
  if (text && text->size() > request.limits.output) std::abort();
  // Rendering must not change the template: a second run gives the same text.
  if (text && *jinja::render(*parsed, request) != *text) std::abort();
  return 0;
}
