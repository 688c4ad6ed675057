// Chat templates are programs that strangers wrote: what in them has no business there.
#include "rules/chat_template.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

void check_chat_templates(const gguf::Document& document, FindingLog& log) {
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != "tokenizer.chat_template" && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    const u64 text_offset = entry.value_offset + sizeof(u64);  // after its length
    if (const auto* text = std::get_if<std::string>(&entry.value)) {
      check_chat_template(*text, std::string(at_key(entry.key)), text_offset, {}, log);
    }
  }
}

}  // namespace modelutils::gguf_rules
