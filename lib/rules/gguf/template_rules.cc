// Chat templates are programs that strangers wrote: what in them has no business there.
#include <fmt/core.h>

#include <array>

#include "base/escape.h"
#include "base/utf8.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Position of the first `__name__`, or npos. Linear: every underscore is looked at once.
std::size_t find_dunder(std::string_view text) {
  for (std::size_t begin = text.find("__"); begin != std::string_view::npos; begin = text.find("__", begin)) {
    std::size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    if (word.size() > 4 && word.ends_with("__") && word.find_first_not_of('_') != std::string_view::npos) return begin;
    begin = end;
  }
  return std::string_view::npos;
}

// The word at `at` is alone, not inside a longer one.
bool is_whole_word(std::string_view text, std::size_t at, std::size_t size) {
  return (at == 0 || !is_word(text[at - 1])) && (at + size == text.size() || !is_word(text[at + size]));
}

// Position of the word "import" inside {{ }} or {% %}, or of "import MODULE" anywhere for a module that runs things.
std::size_t find_import(std::string_view text) {
  constexpr std::string_view word = "import";
  constexpr std::array modules = {"os", "sys", "subprocess", "shutil", "socket", "builtins", "importlib", "pickle"};
  bool in_code = false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '{' && (text[i + 1] == '{' || text[i + 1] == '%')) in_code = true;
    if ((text[i] == '}' || text[i] == '%') && text[i + 1] == '}') in_code = false;
    if (text[i] != 'i' || text.substr(i, word.size()) != word || !is_whole_word(text, i, word.size())) continue;
    if (in_code) return i;
    const std::size_t module = text.find_first_not_of(" \t", i + word.size());
    if (module == std::string_view::npos) continue;
    for (const std::string_view name : modules) {
      if (text.substr(module).starts_with(name) && is_whole_word(text, module, name.size())) return i;
    }
  }
  return std::string_view::npos;
}

// What a reader does not see. Variation selectors choose how the character before them looks: emoji have them.
bool is_hidden(char32_t c) {
  return is_invisible(c) && !(c >= 0xFE00 && c <= 0xFE0F);
}

struct Hidden {
  std::size_t at;
  char32_t character;
};
std::optional<Hidden> find_hidden(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<u8>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint point = decode_utf8(text.substr(i));
    if (point.valid && is_hidden(point.value)) return Hidden{i, point.value};
    i += point.size;
  }
  return std::nullopt;
}

class TemplateRules {
 public:
  TemplateRules(const gguf::KeyValue& entry, FindingLog& log) : entry_(entry), log_(log) {}

  void check(std::string_view text) {
    const u64 text_offset = entry_.value_offset + sizeof(u64);  // after its length
    if (const std::size_t at = find_dunder(text); at != std::string_view::npos) {
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      log_.warning(
          Scope::model, "gguf-template-dunder",
          fmt::format("the chat template accesses Python's '{}'", text.substr(at, std::min<std::size_t>(end - at, 64))),
          at_key(entry_.key), text_offset + at);
    }
    if (const std::size_t at = find_import(text); at != std::string_view::npos) {
      log_.warning(Scope::model, "gguf-template-import", "the chat template imports a module or file",
                   at_key(entry_.key), text_offset + at);
    }
    if (const auto hidden = find_hidden(text)) {
      log_.warning(Scope::model, "gguf-template-hidden",
                   fmt::format("the chat template contains the invisible character U+{:04X}",
                               static_cast<u32>(hidden->character)),
                   at_key(entry_.key), text_offset + hidden->at);
    }
  }

 private:
  const gguf::KeyValue& entry_;
  FindingLog& log_;
};

}  // namespace

void check_chat_templates(const gguf::Document& document, FindingLog& log) {
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != "tokenizer.chat_template" && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    if (const auto* text = std::get_if<std::string>(&entry.value)) TemplateRules(entry, log).check(*text);
  }
}

}  // namespace modelutils::gguf_rules
