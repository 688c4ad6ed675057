#include "tokenizer/read/special_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "formats/hf/config_members.h"
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

// Reads what a template puts between two texts. llama.cpp adds a sep there if it is the second token, or if the first
// one is not an end that every text gets.
void read_pair(json::Element processor, const SpecialTexts& texts, bool adds_last, AddSpecial& add) {
  const auto pair = json::array_member(processor, "pair");
  if (!pair) return;
  std::vector<std::optional<std::string>> between;
  bool is_behind_first = false, is_before_second = false;
  for (const json::Element item : *pair) {
    const auto sequence = json::member(item, "Sequence");
    is_before_second = sequence && json::string_member(*sequence, "id") == "B";
    if (is_before_second) break;
    if (is_behind_first && between.size() < 3) between.push_back(special_item(item));
    is_behind_first = is_behind_first || sequence;
  }
  if (!is_behind_first || !is_before_second || between.empty()) return;
  const auto parts = [&](const std::optional<std::string>& text) {
    return text && (text == texts.sep || text == texts.eos);
  };
  add.sep = (between.size() == 2 && parts(between[1])) || (parts(between[0]) && !adds_last);
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
    if (!texts.bos) texts.bos = first;
    add.bos = first == texts.bos || first == texts.cls;
    if (!*add.bos) {
      findings.warning(
          Scope::model, "hf-tok-template-first",
          fmt::format("the post-processor puts '{}' first, which is not the bos token; llama.cpp can add only bos",
                      *first),
          "post_processor");
    }
  }
  if (last) add.eos = true;
  if (last && last != texts.eos) {
    if (texts.eos) {
      auto& place = texts.eot ? texts.eom : texts.eot;
      if (!place) place = texts.eos;
    }
    texts.eos = last;
  }
  read_pair(processor, texts, last.has_value(), add);
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
  const std::vector<Component> components = post_processors(tokenizer_json);
  if (!components.empty()) name_ends(texts);
  for (const Component& component : components) {
    if (component.type == "RobertaProcessing") {
      add.bos = add.eos = add.sep = true;
    } else if (component.type == "BertProcessing") {
      add.bos = add.eos = true;
    } else if (component.type == "TemplateProcessing") {
      if (!texts.bos) texts.bos = bos_by_id;
      if (!texts.eos) texts.eos = eos_by_id;
      read_template(component.value, texts, add, findings);
    }
  }
  if (add.sep == true && !texts.sep) texts.sep = texts.eos;
  return add;
}

void name_ends(SpecialTexts& texts) {
  if (!texts.bos) texts.bos = texts.cls;
  if (!texts.eos) texts.eos = texts.sep;
}

namespace {

constexpr std::size_t max_ids = 16;     // per side; llama.cpp can add one
constexpr std::size_t max_items = 256;  // in all templates; each is looked up in lists that may be long

struct OldClass {
  std::string_view name;  // without "Fast"
  bool adds_bos;          // default if add_bos_token is absent
};
constexpr std::array<OldClass, 5> old_classes = {{{"LlamaTokenizer", true},
                                                  {"CodeLlamaTokenizer", true},
                                                  {"GemmaTokenizer", true},
                                                  {"CohereTokenizer", true},
                                                  {"GPTNeoXTokenizer", false}}};

std::string_view class_of(json::Element tokenizer_config) {
  std::string_view name = json::string_member(tokenizer_config, "tokenizer_class").value_or("");
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

void add(std::vector<u32>& side, std::optional<u32> id) {
  if (id && side.size() < max_ids) side.push_back(*id);
}

void add_element(std::optional<json::Element> element, std::vector<u32>& side) {
  u64 id = 0;
  if (element && element->get(id) && id <= std::numeric_limits<u32>::max()) add(side, static_cast<u32>(id));
}

// Reads a pair ["<s>", 1].
void add_pair(json::Element processor, std::string_view key, std::vector<u32>& side) {
  const auto pair = json::array_member(processor, key);
  const auto second = pair ? pair->at(1) : std::nullopt;
  add_element(second, side);
}

// Adds a template's special token: the ids listed for it in special_tokens.
void add_item(json::Element processor, json::Element special, std::vector<u32>& side, const TokenFinder& find) {
  const auto name = json::string_member(special, "id");
  if (!name) return;
  const auto known = json::member(processor, "special_tokens");
  const auto entry = known ? json::member(*known, *name) : std::nullopt;
  const auto ids = entry ? json::array_member(*entry, "ids") : std::nullopt;
  if (!ids) return add(side, find(std::string(*name)));
  for (u64 index = 0; index < max_ids; ++index) add_element(ids->at(index), side);
}

BoundaryTokens template_boundaries(json::Element processor, const TokenFinder& find, std::size_t& items) {
  BoundaryTokens tokens;
  const auto single = json::array_member(processor, "single");
  if (!single) return tokens;
  bool is_after = false;
  for (const json::Element item : *single) {
    if (++items > max_items) break;
    if (json::member(item, "Sequence")) is_after = true;
    const auto special = json::member(item, "SpecialToken");
    if (special) add_item(processor, *special, is_after ? tokens.after : tokens.before, find);
  }
  return tokens;
}

BoundaryTokens llama_cpp_boundaries(const Tokenizer& tokenizer) {
  // The loader's defaults if keys are missing.
  const bool is_llama = tokenizer.kind == TokenizerKind::llama;
  const auto id_of = [&](std::optional<u32> id, u32 usual) { return !id && is_llama ? usual : id; };
  BoundaryTokens tokens;
  if (tokenizer.kind == TokenizerKind::bert) {  // adds both whatever the keys say
    add(tokens.before, tokenizer.special.bos);
    add(tokens.after, tokenizer.special.sep);
    return tokens;
  }
  if (tokenizer.add_bos.value_or(is_llama)) add(tokens.before, id_of(tokenizer.special.bos, 1));
  if (tokenizer.add_eos.value_or(false)) add(tokens.after, id_of(tokenizer.special.eos, 2));
  return tokens;
}

std::string described(const BoundaryTokens& tokens, const Tokenizer& tokenizer) {
  const auto texts = [&](const std::vector<u32>& ids, std::string_view where) {
    std::string text;
    for (const u32 id : ids) {
      text += id < tokenizer.tokens.size() ? fmt::format("'{}' ", tokenizer.tokens[id]) : fmt::format("id {} ", id);
    }
    return text.empty() ? text : text + std::string(where);
  };
  const std::string before = texts(tokens.before, "before"), after = texts(tokens.after, "after");
  if (before.empty() && after.empty()) return "nothing";
  return before + (before.empty() || after.empty() ? "" : " and ") + after;
}

}  // namespace

BoundaryTokens post_processor_boundaries(json::Element tokenizer_json, const TokenFinder& find) {
  BoundaryTokens tokens;
  std::size_t items = 0;
  for (const Component& component : post_processors(tokenizer_json)) {
    BoundaryTokens more;
    if (component.type == "TemplateProcessing") {
      more = template_boundaries(component.value, find, items);
    } else if (component.type == "RobertaProcessing" || component.type == "BertProcessing") {
      add_pair(component.value, "cls", more.before);
      add_pair(component.value, "sep", more.after);
    }
    // A later post-processor sees the tokens added by earlier ones as part of the text.
    for (const u32 id : tokens.before) add(more.before, id);
    for (const u32 id : more.after) add(tokens.after, id);
    tokens.before = std::move(more.before);
  }
  return tokens;
}

std::optional<BoundaryTokens> class_boundaries(json::Element tokenizer_config, const SpecialIds& special) {
  const std::string_view name = class_of(tokenizer_config);
  const auto row =
      std::find_if(old_classes.begin(), old_classes.end(), [&](const OldClass& one) { return one.name == name; });
  if (row == old_classes.end()) return std::nullopt;
  BoundaryTokens tokens;
  if (json::bool_member(tokenizer_config, "add_bos_token").value_or(row->adds_bos)) add(tokens.before, special.bos);
  if (json::bool_member(tokenizer_config, "add_eos_token").value_or(false)) add(tokens.after, special.eos);
  return tokens;
}

bool leaves_it_to_post_processor(std::string_view tokenizer_class) {
  return tokenizer_class == "PreTrainedTokenizerFast" || tokenizer_class == "TokenizersBackend";
}

void warn_of_boundary_tokens(json::Element tokenizer_json, std::optional<json::Element> tokenizer_config,
                             const TokenFinder& find, Tokenizer& tokenizer) {
  const BoundaryTokens theirs = post_processor_boundaries(tokenizer_json, find);
  const BoundaryTokens ours = llama_cpp_boundaries(tokenizer);
  std::optional<BoundaryTokens> old;
  if (tokenizer_config) old = class_boundaries(*tokenizer_config, tokenizer.special);
  if (ours == theirs && (!old || *old == theirs)) return;
  std::string message =
      fmt::format("around a text, Hugging Face's tokenizers put {}{}, llama.cpp puts {}", described(theirs, tokenizer),
                  old && *old != theirs ? fmt::format(" ({} of transformers before version 5: {})",
                                                      class_of(*tokenizer_config), described(*old, tokenizer))
                                        : "",
                  described(ours, tokenizer));
  tokenizer.findings.warning(Scope::model, "hf-tok-around", std::move(message), "post_processor");
}

}  // namespace modelutils::tokenizer
