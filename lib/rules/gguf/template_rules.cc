// Chat templates are programs that strangers wrote: what in them has no business there, and whether they go with the
// special tokens of the vocabulary.
#include <algorithm>
#include <array>

#include "gguf/parse.h"
#include "rules/chat_template.h"
#include "rules/gguf/rule_parts.h"
#include "template/inspect.h"
#include "tokenizer/token_roles.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";
constexpr std::array<std::string_view, 3> role_names = {"eos", "eot", "eom"};

// The texts of those roles; empty where there is none.
std::array<std::string, 3> ending_texts(const ByteSource& source, const gguf::Document& document,
                                        const gguf::Index& index) {
  std::array<std::string, 3> texts;
  std::array<std::optional<u64>, 3> ids;
  std::optional<u64> highest;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = index.unsigned_value(tokenizer::find_token_role(role_names[i])->key);
    if (ids[i]) highest = std::max(highest.value_or(0), *ids[i]);
  }
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  const bool is_text = tokens != nullptr && tokens->element_type == gguf::ValueType::string;
  if (!is_text || !highest || *highest >= tokens->count) return texts;
  const Status read = gguf::visit_strings(source, document, *tokens, [&](u64 id, std::string_view text, u64) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == id) texts[i] = text;
    }
    return id < *highest;
  });
  return read ? texts : std::array<std::string, 3>();
}

}  // namespace

void check_chat_templates(const gguf::Document& document, FindingLog& log) {
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != template_key && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    const u64 text_offset = entry.value_offset + sizeof(u64);  // after its length
    if (const auto* text = std::get_if<std::string>(&entry.value)) {
      check_chat_template(*text, std::string(at_key(entry.key)), text_offset, {}, log);
    }
  }
}

void check_template_tokens(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                           FindingLog& log) {
  const auto text = index.string_value(template_key);
  if (!text) return;
  const auto parsed = jinja::parse(*text);
  if (!parsed) return;
  if (jinja::mentions(*parsed, "eos_token", {})) return;
  const auto texts = ending_texts(source, document, index);
  if (texts.front().empty()) return;
  for (const std::string& ending : texts) {
    if (jinja::mentions(*parsed, "eos_token", ending)) return;
  }
  log.note(Scope::model, "template-eos", "the chat template never writes a token that ends a text or a turn",
           at_key(template_key));
}

}  // namespace modelutils::gguf_rules
