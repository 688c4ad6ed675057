// Checks chat templates, which are programs by strangers: finds suspicious constructs, and compares them with the
// vocabulary's special tokens.
#include <fmt/core.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "gguf/parse.h"
#include "rules/chat_template.h"
#include "rules/gguf/rule_parts.h"
#include "template/prompt_text.h"
#include "template/source.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";

// Reports prompts with two BOS tokens. Transformers adds no BOS to a prompt; llama.cpp removes a BOS at the start of a
// prompt before it adds its own, but not a later one.
void check_bos(const jinja::Template& parsed, const std::string& bos, bool is_added, std::string_view where,
               FindingLog& log) {
  if (bos.empty()) return;
  const auto late = jinja::late_bos(parsed, bos);
  if (!late || !(late->is_repeated || is_added)) return;
  log.note(Scope::model, "template-bos",
           fmt::format(
               "{}: {}", jinja::position(parsed.source(), late->at).text(),
               late->is_repeated
                   ? "prompts begin with two BOS tokens"
                   : "the template writes BOS after some text, and the tokenizer puts another one before the prompt"),
           where);
}

// Notes a template that never writes a token that ends a text or a turn.
void check_ending(const jinja::Template& parsed, const RoleTexts& texts, std::string_view where, FindingLog& log) {
  if (texts[1].empty() || jinja::mentions(parsed, "eos_token", {})) return;
  const auto is_written = [&](const std::string& ending) { return jinja::mentions(parsed, "eos_token", ending); };
  if (std::any_of(texts.begin() + 1, texts.end(), is_written)) return;
  log.note(Scope::model, "template-eos", "the chat template never writes a token that ends a text or a turn", where);
}

VocabularyTexts texts_of(const ByteSource& source, const gguf::Document& document, const gguf::Index& index) {
  const auto each = [&](std::string_view key) {
    const gguf::ArrayRef* array = index.array_value(key);
    return [&, array](const VocabularyTexts::Take& take) {
      if (array == nullptr || array->element_type != gguf::ValueType::string) return;
      ByteReader reader(source, array->offset);
      reader.set_big_endian(document.big_endian);
      for (u64 i = 0; i < array->count; ++i) {
        const std::string_view text = reader.read_view(reader.read<u64>());
        if (!reader.ok()) return;
        take(i, text);
      }
    };
  };
  return {.kind = index.string_value("tokenizer.ggml.model").value_or(""),
          .tokens = each("tokenizer.ggml.tokens"),
          .merges = each("tokenizer.ggml.merges"),
          .is_of_type_normal = [&](u64 token) {
            const gguf::ArrayRef* types = index.array_value("tokenizer.ggml.token_type");
            if (types == nullptr) return true;  // as llama.cpp assumes
            if (token >= types->count) return false;
            const auto type = gguf::read_numbers<i64>(source, document, *types, token, 1);
            return type && !type->empty() && type->front() == static_cast<i64>(tokenizer::TokenType::normal);
          }};
}

}  // namespace

void check_chat_templates(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                          TokenTexts texts, std::optional<RoleTexts> roles, FindingLog& log) {
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != template_key && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    const u64 text_offset = entry.value_offset + sizeof(u64);  // the text follows its length
    const auto* text = std::get_if<std::string>(&entry.value);
    if (text == nullptr) continue;
    const std::string where(at_key(entry.key));
    const auto parsed = check_chat_template(*text, where, text_offset, {}, log);
    if (!parsed || texts != TokenTexts::read) continue;
    if (!roles) roles = read_role_texts(source, document, index);
    const bool is_llama = index.string_value("tokenizer.ggml.model") == "llama";
    const bool adds_bos = index.bool_value("tokenizer.ggml.add_bos_token").value_or(is_llama);
    check_bos(*parsed, roles->front(), adds_bos, where, log);
    check_written_tokens(jinja::written_markers(*parsed), texts_of(source, document, index), where, log);
    if (entry.key == template_key) check_ending(*parsed, *roles, where, log);
  }
}

}  // namespace modelutils::gguf_rules
