// The parts of rules.h, one per source file.
#pragma once

#include "arch/projectors.h"
#include "base/log.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"
#include "rules/gguf/rules.h"
#include "rules/gguf/vocabulary.h"

namespace modelutils::gguf_rules {

// Container: these use only the document and the limits of the model's readers.
void check_key_names(const gguf::Document& document, FindingLog& log);
void check_alignment(const gguf::Document& document, FindingLog& log);
void check_tensor_names(const gguf::Document& document, gguf::Limits limits, FindingLog& log);
void check_tensor_infos(const gguf::Document& document, gguf::Limits limits, FindingLog& log);
/// Checks offsets, order, gaps, overlaps and the end of the file. Only for complete documents.
void check_layout(const gguf::Document& document, FindingLog& log);

// Bytes that belong to no tensor: these read only those bytes. Only for complete documents.
void check_padding(const ByteSource& source, const gguf::Document& document, FindingLog& log);
void check_tail(const ByteSource& source, const gguf::Document& document, FindingLog& log);

// Keys and values. `document` is the file that holds the model's keys (the first of a set).
void check_values(const ByteSource& source, const gguf::Document& document, FindingLog& log);
void check_known_keys(const gguf::SetFile& file, const gguf::Index& index, FindingLog& log);
/// Parses each chat template and checks it. With TokenTexts::read also checks it against the special tokens. `roles`
/// are their texts; if nullopt, they are read when needed.
void check_chat_templates(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                          TokenTexts texts, std::optional<RoleTexts> roles, FindingLog& log);

/// Facts about the hyper-parameters that the tensors of all files imply.
struct TensorFacts {
  bool any = false;
  bool any_quantized = false;
  std::optional<u64> blocks;          ///< 1 + the highest N of "blk.N."
  std::optional<u64> embedding_size;  ///< ne0 of token_embd.weight
  std::optional<u64> embedding_rows;  ///< ne1 of token_embd.weight
  std::string_view image_model;       ///< arch::image_model_of()
};
/// Checks the tensor pairs of importance matrices and LoRA adapters.
void check_companion(const gguf::Document& document, const gguf::Index& index, FindingLog& log);
/// Checks that general.file_type matches the type of most weights.
void check_file_type(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log);
void check_hyper_parameters(const gguf::Index& index, const gguf::SetFile& first, const TensorFacts& facts,
                            FindingLog& log);
/// Checks pooling, classifiers and the special tokens of models that give vectors or scores.
void check_embedding(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log);
/// Checks the vocabulary. Returns the texts of the special tokens; nullopt if the vocabulary's texts were not read.
std::optional<RoleTexts> check_tokens(const ByteSource& source, const gguf::Document& document,
                                      const gguf::Index& index, const TensorFacts& facts, TokenTexts texts,
                                      unsigned threads, FindingLog& log);

// The towers of a projector: rules that concern more than the names and shapes of layers.
void check_tower(const gguf::SetFile& file, const gguf::Index& index, const arch::Encoder& encoder,
                 const arch::Projector& row, FindingLog& log);
/// Checks that two towers, if the file has two, produce embeddings of the same length.
void check_towers(const gguf::Index& index, FindingLog& log);

}  // namespace modelutils::gguf_rules
