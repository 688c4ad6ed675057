// Rows that encoders share: models that see a whole text at once and give a vector, or scores, instead of a next token.
// docs/embeddings.md has their names, keys and limits.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/common_rows.h"
#include "arch/common_tensors.h"
#include "arch/family.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

/// The values that an encoder's class assumes for fields that config.json lacks.
struct EncoderDefaults {
  std::string_view context = "512";
  std::string_view epsilon = "1e-12";
  bool rms_norm = false;  ///< RMSNorm instead of LayerNorm
};

/// The tokens with which a reranker answers (Qwen3-Reranker). Their rows of the output head are its scores, in the
/// order in which llama.cpp's converter writes them.
inline constexpr std::array<std::string_view, 2> answer_texts = {"yes", "no"};

/// The number of labels: entries of id2label, or num_labels; only for classes of sequence classification.
std::optional<u64> label_count(const hf::Config& config, const Sizes& sizes);
/// Returns the texts of id2label in the order of its numbers; empty without that field.
std::vector<std::string> label_texts(const hf::Config& config);
/// Writes classifier.output_labels: id2label in the order of its numbers, or LABEL_0 and so on.
Status write_labels(KeyWriter& out, const Key& key);
/// Writes id2label and label2id.
Status read_labels(ConfigWriter& out, const Key& key);

/// Sizes of an encoder. Symbol N: labels of a classifier.
constexpr std::array<Key, 9> encoder_sizes(EncoderDefaults defaults = {}) {
  const std::string_view norm = defaults.rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  return {{
      {.name = "block_count", .fields = hf::fields::layers, .symbol = "L", .need = Need::required},
      {.name = "context_length",
       .fields = hf::fields::context,
       .fallback = defaults.context,
       .missing = Missing::warn,
       .need = Need::required},
      {.name = "embedding_length", .fields = hf::fields::width, .symbol = "E", .need = Need::required},
      {.name = "feed_forward_length", .fields = hf::fields::feed_forward, .symbol = "F", .need = Need::required},
      {.name = "attention.head_count",
       .fields = hf::fields::heads,
       .symbol = "H",
       .missing = Missing::refuse,
       .need = Need::required},
      {.name = norm,
       .type = KeyType::f32,
       .fields = "layer_norm_eps|layer_norm_epsilon|norm_eps|rms_norm_eps",
       .fallback = defaults.epsilon,
       .missing = Missing::assume,
       .need = Need::required},
      {.name = "vocab_size", .fields = "vocab_size", .symbol = "V", .loader_default = "0"},
      {.name = "attention.causal", .type = KeyType::flag, .fallback = "false", .missing = Missing::assume},
      {.name = "classifier.output_labels",
       .type = KeyType::texts,
       .fields = "num_labels",
       .symbol = "N",
       .fallback = "0",
       .loader_default = "0",
       .derive = label_count,
       .write = write_labels,
       .read = read_labels},
  }};
}

/// Types of tokens, such as first and second text. The loader refuses a file without the number.
inline constexpr std::array<Key, 1> token_types = {{
    {.name = "tokenizer.ggml.token_type_count",
     .fields = "type_vocab_size",
     .symbol = "T",
     .fallback = "1",
     .need = Need::required},
}};
/// For architectures without a tensor of token types.
inline constexpr std::array<Key, 1> no_token_types = {{
    {.name = "tokenizer.ggml.token_type_count", .fallback = "1", .missing = Missing::assume},
}};

/// Embeddings with their norm, with the names of BERT's classes.
inline constexpr std::array<Tensor, 3> typed_embeddings = {{
    {"token_embd", "E,V", "embeddings.word_embeddings"},
    {"token_types", "E,T", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "E", "embeddings.LayerNorm", Need::required, Need::required},
}};

/// A head over the first token: a layer with tanh, and the scores of the labels.
inline constexpr std::array<Tensor, 2> classifier_head = {{
    {"cls", "E,E", "[N] pooler.dense | [N] classifier.dense", Need::optional, Need::optional},
    {"cls.output", "E,N", "classifier | classifier.out_proj", Need::optional, Need::optional},
}};

/// Warns that llama.cpp gives second texts the type of the first.
Status warn_of_second_texts(KeyWriter& out);

/// Refuses decoders: models of these classes that see only what precedes a token.
inline constexpr Fixed sees_everything = {"is_decoder", "false", Severity::error,
                                          "llama.cpp computes attention over the whole text for this architecture"};

/// The names of the tasks for which the model's own tensors have adapters (Jina v3); empty if the field lists none or
/// contains anything but names.
inline constexpr std::string_view tasks_field = "lora_adaptations";
std::vector<std::string> task_names(const hf::Config& config);
/// Notes that they are left out.
Status note_tasks(KeyWriter& out);

/// True if the model's class is for sequence classification.
bool is_classifier(const hf::Config& config);

}  // namespace modelutils::arch
