// Chat templates are programs that strangers wrote: what in them has no business there, and whether they go with the
// special tokens of the vocabulary.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gguf/parse.h"
#include "rules/chat_template.h"
#include "rules/gguf/rule_parts.h"
#include "template/prompt_text.h"
#include "template/source.h"
#include "tokenizer/token_roles.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";
constexpr std::array<std::string_view, 4> role_names = {"bos", "eos", "eot", "eom"};
using RoleTexts = std::array<std::string, role_names.size()>;

// The texts of those roles; empty where there is none.
RoleTexts role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index) {
  RoleTexts texts;
  std::array<std::optional<u64>, role_names.size()> ids;
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
  return read ? texts : RoleTexts();
}

// Transformers adds no BOS to a prompt; llama.cpp takes away the one that a prompt begins with before it adds its own.
void check_bos(const jinja::Template& parsed, const std::string& bos, bool is_added, std::string_view where,
               FindingLog& log) {
  if (bos.empty()) return;
  const auto late = jinja::late_bos(parsed, bos);
  if (!late || !(late->is_repeated || is_added)) return;
  log.note(Scope::model, "template-bos",
           fmt::format("{}: {}", jinja::position(parsed.source(), late->at).text(),
                       late->is_repeated ? "prompts begin with two tokens bos"
                                         : "the template writes text and then the token bos, while the tokenizer puts "
                                           "one before the prompt: there are two"),
           where);
}

// Does it write a token that ends a text or a turn?
void check_ending(const jinja::Template& parsed, const RoleTexts& texts, std::string_view where, FindingLog& log) {
  if (texts[1].empty() || jinja::mentions(parsed, "eos_token", {})) return;
  const auto is_written = [&](const std::string& ending) { return jinja::mentions(parsed, "eos_token", ending); };
  if (std::any_of(texts.begin() + 1, texts.end(), is_written)) return;
  log.note(Scope::model, "template-eos", "the chat template never writes a token that ends a text or a turn", where);
}

}  // namespace

void check_chat_templates(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                          TokenTexts texts, FindingLog& log) {
  std::optional<RoleTexts> roles;
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != template_key && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    const u64 text_offset = entry.value_offset + sizeof(u64);  // after its length
    const auto* text = std::get_if<std::string>(&entry.value);
    if (text == nullptr) continue;
    const std::string where(at_key(entry.key));
    const auto parsed = check_chat_template(*text, where, text_offset, {}, log);
    if (!parsed || texts != TokenTexts::read) continue;
    if (!roles) roles = role_texts(source, document, index);
    const bool is_llama = index.string_value("tokenizer.ggml.model") == "llama";
    const bool adds_bos = index.bool_value("tokenizer.ggml.add_bos_token").value_or(is_llama);
    check_bos(*parsed, roles->front(), adds_bos, where, log);
    if (entry.key == template_key) check_ending(*parsed, *roles, where, log);
  }
}

}  // namespace modelutils::gguf_rules
