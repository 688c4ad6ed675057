#include "tokenizer/read/boundary_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tokenizer/read/pipeline.h"

namespace modelutils::tokenizer {

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
