#include "arch/key_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace modelutils::arch {

namespace {

constexpr std::string_view of_architecture = "*.";

// Rows by name; rows with '#' are kept separately.
struct KeyIndex {
  std::unordered_map<std::string_view, const KeyFacts*> by_name;
  std::vector<const KeyFacts*> patterns;

  KeyIndex() {
    for (const KeyGroup& group : key_groups()) {
      for (const KeyFacts& row : group.rows) {
        by_name.emplace(row.name, &row);
        if (row.name.find('#') != std::string_view::npos) patterns.push_back(&row);
      }
    }
  }
};

bool matches_key(std::string_view pattern, std::string_view key) {
  const std::size_t mark = pattern.find('#');
  const std::string_view before = pattern.substr(0, mark), behind = pattern.substr(mark + 1);
  if (key.size() <= before.size() + behind.size() || !key.starts_with(before) || !key.ends_with(behind)) return false;
  const std::string_view between = key.substr(before.size(), key.size() - before.size() - behind.size());
  return between.find('.') == std::string_view::npos;
}

}  // namespace

std::span<const KeyGroup> key_groups() {
  static const std::array<KeyGroup, 5> groups = {{
      {"About the file", general_keys()},
      {"Vocabulary", tokenizer_keys()},
      {"Sizes, experts and layers", model_keys()},
      {"Attention and rotation", attention_keys()},
      {"States, speech and drafts", parts_keys()},
  }};
  return groups;
}

const KeyFacts* find_key_facts(std::string_view key, std::string_view architecture) {
  static const KeyIndex index;
  if (const auto found = index.by_name.find(key); found != index.by_name.end()) return found->second;
  if (!architecture.empty() && key.starts_with(architecture) && key.size() > architecture.size() &&
      key[architecture.size()] == '.') {
    const std::string name = std::string(of_architecture) + std::string(key.substr(architecture.size() + 1));
    const auto found = index.by_name.find(name);
    return found == index.by_name.end() ? nullptr : found->second;
  }
  const auto found =
      std::ranges::find_if(index.patterns, [&](const KeyFacts* row) { return matches_key(row->name, key); });
  return found == index.patterns.end() ? nullptr : *found;
}

std::optional<KeyValueType> key_value_type(std::string_view text) {
  using enum gguf::ValueType;
  static constexpr std::pair<std::string_view, gguf::ValueType> names[] = {
      {"u8", u8},   {"i8", i8},   {"u16", u16}, {"i16", i16}, {"u32", u32},      {"i32", i32},
      {"u64", u64}, {"i64", i64}, {"f32", f32}, {"f64", f64}, {"bool", boolean}, {"string", string}};
  const bool is_array = text.ends_with("[]");
  if (is_array) text.remove_suffix(2);
  for (const auto& [name, type] : names) {
    if (name != text) continue;
    return is_array ? KeyValueType{gguf::ValueType::array, type} : KeyValueType{type, std::nullopt};
  }
  return std::nullopt;
}

// Facts about the keys of any file (origin, sampling, split parts, adapters), one row per key; key_facts.h explains the
// members.

namespace {

// clang-format off
constexpr KeyFacts rows_of_general[] = {
    {.name = "general.type", .types = "string", .readers = "*", .absent = "a model",
     .means = "kind of file: model, adapter, mmproj, imatrix"},
    {.name = "general.architecture", .types = "string", .readers = "*", .needed_by = "*", .absent = "refused",
     .means = "architecture, which determines the other keys and the tensors"},
    {.name = "general.quantization_version", .types = "u32", .absent = "not stated",
     .means = "version of the block types", .least = 0},
    {.name = "general.alignment", .types = "u32", .readers = "*", .absent = "32",
     .means = "alignment of tensor data in bytes, a power of two", .least = 8},
    {.name = "general.file_type", .types = "u32", .readers = "*", .absent = "guessed from the tensors",
     .means = "mix of tensor types", .least = 0, .most = 2000},
    {.name = "general.name", .types = "string", .readers = "*", .absent = "no name is shown",
     .means = "name of the model"},
    {.name = "general.author", .types = "string", .absent = "not stated", .means = "author of the model"},
    {.name = "general.organization", .types = "string", .absent = "not stated",
     .means = "organization that owns the model"},
    {.name = "general.version", .types = "string", .absent = "not stated", .means = "version of the model"},
    {.name = "general.basename", .types = "string", .absent = "not stated",
     .means = "name without size and version"},
    {.name = "general.finetune", .types = "string", .absent = "not stated",
     .means = "purpose of the fine-tuning"},
    {.name = "general.description", .types = "string", .absent = "not stated", .means = "description of the model"},
    {.name = "general.quantized_by", .types = "string", .absent = "not stated", .means = "author of the quantisation"},
    {.name = "general.size_label", .types = "string", .absent = "not stated",
     .means = "size label, such as \"7B\" or \"8x7B\""},
    {.name = "general.license", .types = "string", .absent = "not stated", .means = "SPDX name of the licence"},
    {.name = "general.license.name", .types = "string", .absent = "not stated", .means = "name of the licence"},
    {.name = "general.license.link", .types = "string", .absent = "not stated", .means = "URL of the licence"},
    {.name = "general.url", .types = "string", .absent = "not stated", .means = "home page of the model"},
    {.name = "general.doi", .types = "string", .absent = "not stated", .means = "DOI of the model"},
    {.name = "general.uuid", .types = "string", .absent = "not stated", .means = "UUID of the model"},
    {.name = "general.repo_url", .types = "string", .absent = "not stated", .means = "repository of the model"},
    {.name = "general.source.url", .types = "string", .absent = "not stated",
     .means = "home page of the model it was converted from"},
    {.name = "general.source.doi", .types = "string", .absent = "not stated",
     .means = "DOI of the model it was converted from"},
    {.name = "general.source.uuid", .types = "string", .absent = "not stated",
     .means = "UUID of the model it was converted from"},
    {.name = "general.source.repo_url", .types = "string", .absent = "not stated",
     .means = "repository of the model it was converted from"},
    {.name = "general.source.huggingface.repository", .types = "string", .absent = "not stated",
     .means = "Hugging Face repository of the model it was converted from"},
    {.name = "general.base_model.count", .types = "u32", .absent = "not stated",
     .means = "number of base models", .least = 0},
    {.name = "general.dataset.count", .types = "u32", .absent = "not stated",
     .means = "number of training data sets", .least = 0},
    {.name = "general.base_model.#.name", .types = "string", .absent = "not stated",
     .means = "name of a base model"},
    {.name = "general.base_model.#.author", .types = "string", .absent = "not stated",
     .means = "author of a base model"},
    {.name = "general.base_model.#.version", .types = "string", .absent = "not stated",
     .means = "version of a base model"},
    {.name = "general.base_model.#.organization", .types = "string", .absent = "not stated",
     .means = "organization of a base model"},
    {.name = "general.base_model.#.description", .types = "string", .absent = "not stated",
     .means = "description of a base model"},
    {.name = "general.base_model.#.url", .types = "string", .absent = "not stated",
     .means = "home page of a base model"},
    {.name = "general.base_model.#.doi", .types = "string", .absent = "not stated",
     .means = "DOI of a base model"},
    {.name = "general.base_model.#.uuid", .types = "string", .absent = "not stated",
     .means = "UUID of a base model"},
    {.name = "general.base_model.#.repo_url", .types = "string", .absent = "not stated",
     .means = "repository of a base model"},
    {.name = "general.dataset.#.name", .types = "string", .absent = "not stated",
     .means = "name of a training data set"},
    {.name = "general.dataset.#.author", .types = "string", .absent = "not stated",
     .means = "author of a training data set"},
    {.name = "general.dataset.#.version", .types = "string", .absent = "not stated",
     .means = "version of a training data set"},
    {.name = "general.dataset.#.organization", .types = "string", .absent = "not stated",
     .means = "organization of a training data set"},
    {.name = "general.dataset.#.description", .types = "string", .absent = "not stated",
     .means = "description of a training data set"},
    {.name = "general.dataset.#.url", .types = "string", .absent = "not stated",
     .means = "home page of a training data set"},
    {.name = "general.dataset.#.doi", .types = "string", .absent = "not stated",
     .means = "DOI of a training data set"},
    {.name = "general.dataset.#.uuid", .types = "string", .absent = "not stated",
     .means = "UUID of a training data set"},
    {.name = "general.dataset.#.repo_url", .types = "string", .absent = "not stated",
     .means = "repository of a training data set"},
    {.name = "general.tags", .types = "string[]", .length = "any", .absent = "not stated",
     .means = "tags"},
    {.name = "general.languages", .types = "string[]", .length = "any", .absent = "not stated",
     .means = "languages it was trained on"},
    {.name = "general.sampling.sequence", .types = "string", .readers = "*", .absent = "the program's default",
     .means = "order of the samplers"},
    {.name = "general.sampling.top_k", .types = "i32", .readers = "*", .absent = "the program's default",
     .means = "sampling: top-k"},
    {.name = "general.sampling.top_p", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "sampling: top-p", .least = 0, .most = 1},
    {.name = "general.sampling.min_p", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "sampling: min-p", .least = 0, .most = 1},
    {.name = "general.sampling.xtc_probability", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "sampling: probability of XTC", .least = 0, .most = 1},
    {.name = "general.sampling.xtc_threshold", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "sampling: threshold of XTC", .least = 0, .most = 1},
    {.name = "general.sampling.temp", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "temperature"},
    {.name = "general.sampling.penalty_last_n", .types = "i32", .readers = "*", .absent = "the program's default",
     .means = "sampling: number of last tokens checked for repetition", .least = -1},
    {.name = "general.sampling.penalty_repeat", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "sampling: repetition penalty"},
    {.name = "general.sampling.mirostat", .types = "i32", .readers = "*", .absent = "the program's default",
     .means = "sampling: Mirostat (0 off, 1 Mirostat, 2 Mirostat 2)", .least = 0, .most = 2},
    {.name = "general.sampling.mirostat_tau", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "Mirostat's target entropy"},
    {.name = "general.sampling.mirostat_eta", .types = "f32", .readers = "*", .absent = "the program's default",
     .means = "Mirostat's learning rate"},
    {.name = "split.no", .types = "u16", .readers = "*", .absent = "one file", .means = "number of this file, from 0",
     .least = 0},
    {.name = "split.count", .types = "u16", .readers = "*", .absent = "one file", .means = "number of files",
     .least = 0},
    {.name = "split.tensors.count", .types = "i32", .readers = "*", .absent = "one file",
     .means = "number of tensors in all files", .least = 0},
    {.name = "adapter.type", .types = "string", .readers = "*", .needed_by = "*", .absent = "refused",
     .means = "kind of adapter: lora"},
    {.name = "adapter.lora.alpha", .types = "f32", .readers = "*", .absent = "0: not scaled by rank",
     .means = "LoRA alpha; the adapter's factor is alpha / rank"},
    {.name = "adapter.lora.task_name", .types = "string", .absent = "not stated",
     .means = "task of the adapter"},
    {.name = "adapter.lora.prompt_prefix", .types = "string", .absent = "no prefix",
     .means = "prefix of prompts for the adapter"},
    {.name = "adapter.alora.invocation_tokens", .types = "u32[]|i32[]", .length = "any", .readers = "*",
     .absent = "the adapter is always on", .means = "tokens that activate the adapter", .least = 0},
    {.name = "modelutils.mtp.after", .types = "string[]", .length = "any",
     .absent = "blocks are added after the last layer",
     .means = "in a file of MTP blocks only: the tensor that each followed in the model"},
    {.name = "modelutils.reserve", .types = "string", .absent = "no reserved space",
     .means = "space reserved for in-place edits"},
    {.name = "imatrix.datasets", .types = "string[]", .length = "any", .readers = "*", .absent = "not stated",
     .means = "texts used for an importance matrix"},
    {.name = "imatrix.chunk_count", .types = "u32", .readers = "*", .absent = "not stated",
     .means = "number of chunks used for the importance matrix", .least = 0},
    {.name = "imatrix.chunk_size", .types = "u32", .readers = "*", .absent = "not stated",
     .means = "tokens per chunk", .least = 0},
};
// clang-format on

}  // namespace

std::span<const KeyFacts> general_keys() {
  return rows_of_general;
}

// Facts about the keys of the vocabulary, one row per key; key_facts.h explains the members.

namespace {

// clang-format off
constexpr KeyFacts rows_of_tokenizer[] = {
    {.name = "tokenizer.ggml.model", .types = "string", .readers = "*", .needed_by = "*", .absent = "refused",
     .means = "kind of tokenizer: llama, gpt2, bert, t5, rwkv, plamo2, gemma4, hybriddna, whitespace, no_vocab"},
    {.name = "tokenizer.ggml.pre", .types = "string", .readers = "*",
     .absent = "the default pre-tokenizer, with a warning",
     .means = "pre-tokenizer: how text is split before encoding"},
    {.name = "tokenizer.ggml.tokens", .types = "string[]", .length = "tokens", .readers = "*", .needed_by = "*",
     .absent = "refused", .means = "texts of the tokens"},
    {.name = "tokenizer.ggml.token_type", .types = "i32[]", .length = "tokens", .readers = "*",
     .absent = "every token is a normal one",
     .means = "types of the tokens: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte", .least = 0,
     .most = 6},
    {.name = "tokenizer.ggml.token_type_count", .types = "u32", .readers = "*", .absent = "0",
     .means = "number of token types with an embedding (BERT)", .least = 0},
    {.name = "tokenizer.ggml.scores", .types = "f32[]|i32[]", .length = "tokens", .readers = "*",
     .absent = "0 for every token", .means = "scores of the tokens"},
    {.name = "tokenizer.ggml.merges", .types = "string[]", .length = "any", .readers = "*",
     .absent = "refused for byte-level vocabularies", .means = "merges, in order of priority"},
    {.name = "tokenizer.ggml.bos_token_id", .types = "u32", .readers = "*",
     .absent = "the tokenizer's default", .means = "token that begins a text", .least = 0},
    {.name = "tokenizer.ggml.eos_token_id", .types = "u32", .readers = "*",
     .absent = "the tokenizer's default", .means = "token that ends a text", .least = 0},
    {.name = "tokenizer.ggml.eot_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token that ends a turn", .least = 0},
    {.name = "tokenizer.ggml.eom_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token that ends a message", .least = 0},
    {.name = "tokenizer.ggml.unknown_token_id", .types = "u32", .readers = "*",
     .absent = "the tokenizer's default", .means = "token for text outside the vocabulary",
     .least = 0},
    {.name = "tokenizer.ggml.seperator_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "separator between two texts", .least = 0},
    {.name = "tokenizer.ggml.padding_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "padding token", .least = 0},
    {.name = "tokenizer.ggml.cls_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "classification token", .least = 0},
    {.name = "tokenizer.ggml.mask_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "mask token", .least = 0},
    {.name = "tokenizer.ggml.add_bos_token", .types = "bool", .readers = "*",
     .absent = "the tokenizer's default", .means = "add the token that begins a text"},
    {.name = "tokenizer.ggml.add_eos_token", .types = "bool", .readers = "*",
     .absent = "the tokenizer's default", .means = "add the token that ends a text"},
    {.name = "tokenizer.ggml.add_sep_token", .types = "bool", .readers = "*", .absent = "false",
     .means = "add the separator between two texts"},
    {.name = "tokenizer.ggml.add_space_prefix", .types = "bool", .readers = "*", .absent = "true for SentencePiece",
     .means = "put a space before the text"},
    {.name = "tokenizer.ggml.remove_extra_whitespaces", .types = "bool", .readers = "*", .absent = "false",
     .means = "merge repeated spaces"},
    {.name = "tokenizer.ggml.precompiled_charsmap", .types = "u8[]|i8[]", .length = "any", .readers = "*",
     .absent = "text is not normalised", .means = "SentencePiece's precompiled normalisation map"},
    {.name = "tokenizer.ggml.normalizer.lowercase", .types = "bool", .readers = "*", .absent = "true for BERT",
     .means = "convert to lower case"},
    {.name = "tokenizer.ggml.normalizer.strip_accents", .types = "bool", .readers = "*", .absent = "true for BERT",
     .means = "remove accents"},
    {.name = "tokenizer.ggml.fim_pre_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: token before the prefix", .least = 0},
    {.name = "tokenizer.ggml.fim_suf_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: token before the suffix", .least = 0},
    {.name = "tokenizer.ggml.fim_mid_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: token before the middle", .least = 0},
    {.name = "tokenizer.ggml.fim_pad_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: padding token", .least = 0},
    {.name = "tokenizer.ggml.fim_rep_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: token before a repository's name", .least = 0},
    {.name = "tokenizer.ggml.fim_sep_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "fill in the middle: token between files", .least = 0},
    {.name = "tokenizer.ggml.prefix_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_pre_token_id", .least = 0},
    {.name = "tokenizer.ggml.suffix_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_suf_token_id", .least = 0},
    {.name = "tokenizer.ggml.middle_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_mid_token_id", .least = 0},
    {.name = "tokenizer.ggml.suppress_tokens", .types = "u32[]|i32[]", .length = "any", .readers = "*",
     .absent = "every token may be sampled", .means = "tokens to suppress in sampling", .least = 0},
    {.name = "tokenizer.huggingface.json", .types = "string", .absent = "unused",
     .means = "a whole tokenizer.json"},
    {.name = "tokenizer.rwkv.world", .types = "string", .absent = "unused", .means = "RWKV's vocabulary as text"},
    {.name = "tokenizer.chat_template", .types = "string", .readers = "*", .absent = "a simple chat format",
     .means = "chat template (Jinja)"},
    {.name = "tokenizer.chat_templates", .types = "string[]", .length = "any", .readers = "*",
     .absent = "a single template", .means = "names of additional templates, stored in tokenizer.chat_template.NAME"},
    {.name = "tokenizer.chat_template.#", .types = "string", .readers = "*", .absent = "a single template",
     .means = "an additional template"},
    {.name = "tokenizer.ggml.#_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token of some other role", .least = 0},
};
// clang-format on

}  // namespace

std::span<const KeyFacts> tokenizer_keys() {
  return rows_of_tokenizer;
}

}  // namespace modelutils::arch
