#include "tokenizer/read/special_texts.h"

#include <algorithm>
#include <array>

#include "hf/remarks.h"
#include "tokenizer/read/pipeline.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::array variables = {
    SpecialVariable{"bos_token", &SpecialTexts::bos},   SpecialVariable{"eos_token", &SpecialTexts::eos},
    SpecialVariable{"unk_token", &SpecialTexts::unk},   SpecialVariable{"sep_token", &SpecialTexts::sep},
    SpecialVariable{"pad_token", &SpecialTexts::pad},   SpecialVariable{"cls_token", &SpecialTexts::cls},
    SpecialVariable{"mask_token", &SpecialTexts::mask},
};

// Reads "text" or {"content": "text", …}.
std::optional<std::string> token_text(json::Element object, std::string_view key) {
  const auto value = json::member(object, key);
  if (!value) return std::nullopt;
  std::string_view text;
  if (!value->get(text)) {
    const auto content = json::string_member(*value, "content");
    if (!content) return std::nullopt;
    text = *content;
  }
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

// Returns the text of a template item that is a SpecialToken; nullopt for a sequence.
std::optional<std::string> special_item(json::Element item) {
  const auto special = json::member(item, "SpecialToken");
  if (!special) return std::nullopt;
  const auto id = json::string_member(*special, "id");
  return id ? std::optional(std::string(*id)) : std::nullopt;
}

void read_template(json::Element processor, SpecialTexts& texts, AddSpecial& add, FindingLog& findings) {
  const auto single = json::array_member(processor, "single");
  if (!single || single->size() < 2) return;
  std::optional<std::string> first, last;
  bool at_first = true;
  for (const json::Element item : *single) {
    last = special_item(item);
    if (at_first) first = last;
    at_first = false;
  }
  if (first) {
    if (!texts.bos && !texts.cls) texts.bos = first;
    add.bos = first == texts.bos || first == texts.cls;
    if (!*add.bos) {
      findings.warning(
          Scope::model, "hf-tok-template-first",
          fmt::format("the post-processor puts '{}' first, which is not the bos token; llama.cpp can add only bos",
                      *first),
          "post_processor");
    }
  }
  if (!last) return;
  add.eos = true;
  if (last == texts.eos) return;
  if (texts.eos) {
    auto& place = texts.eot ? texts.eom : texts.eot;
    if (!place) place = texts.eos;
  }
  texts.eos = last;
}

}  // namespace

std::span<const SpecialVariable> special_variables() {
  return variables;
}

const SpecialVariable* find_special_variable(std::string_view name) {
  const auto* found =
      std::find_if(variables.begin(), variables.end(), [&](const SpecialVariable& one) { return one.name == name; });
  return found == variables.end() ? nullptr : found;
}

SpecialTexts read_special_texts(const TokenizerFiles& files) {
  const auto text = [&](std::string_view key) {
    std::optional<std::string> found;
    if (files.tokenizer_config) found = token_text(files.tokenizer_config->root, key);
    if (!found && files.special_tokens_map) found = token_text(files.special_tokens_map->root, key);
    return found;
  };
  SpecialTexts texts;
  for (const SpecialVariable& variable : special_variables()) texts.*variable.text = text(variable.name);
  return texts;
}

AddSpecial read_post_processor(json::Element tokenizer_json, SpecialTexts& texts,
                               const std::optional<std::string>& bos_by_id, const std::optional<std::string>& eos_by_id,
                               FindingLog& findings) {
  AddSpecial add;
  for (const Component& component : post_processors(tokenizer_json)) {
    if (component.type == "RobertaProcessing") {
      add.bos = add.eos = add.sep = true;
    } else if (component.type == "TemplateProcessing") {
      if (!texts.bos) texts.bos = bos_by_id;
      if (!texts.eos) texts.eos = eos_by_id;
      read_template(component.value, texts, add, findings);
    }
  }
  return add;
}

}  // namespace modelutils::tokenizer
