// The pieces of gguf_rules.h, one for each file gguf_*_rules.cc.
#pragma once

#include "base/finding_log.h"
#include "gguf/document.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "rules/gguf/role_texts.h"
#include "rules/gguf/rules.h"

namespace modelutils::gguf_rules {

// Container: from the document alone.
void check_key_names(const gguf::Document& document, FindingLog& log);
void check_alignment(const gguf::Document& document, FindingLog& log);
void check_tensor_names(const gguf::Document& document, FindingLog& log);
void check_tensor_infos(const gguf::Document& document, FindingLog& log);
/// Offsets, order, gaps, overlaps, the end of the file. Only for complete documents.
void check_layout(const gguf::Document& document, FindingLog& log);

// Bytes that belong to no tensor: reads only those. Only for complete documents.
void check_padding(const ByteSource& source, const gguf::Document& document, FindingLog& log);
void check_tail(const ByteSource& source, const gguf::Document& document, FindingLog& log);

// Keys and values. `document` is the file that holds the model's keys (the first of a set).
void check_values(const ByteSource& source, const gguf::Document& document, FindingLog& log);
void check_known_keys(const gguf::SetFile& file, const gguf::Index& index, FindingLog& log);
/// Chat templates, each parsed once; with TokenTexts::read also whether they go with the special tokens. `roles`: their
/// texts; read if they are not known.
void check_chat_templates(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                          TokenTexts texts, std::optional<RoleTexts> roles, FindingLog& log);

/// What the tensors of all files of the model say about the hyper-parameters.
struct TensorFacts {
  bool any = false;
  bool any_quantized = false;
  std::optional<u64> blocks;          ///< 1 + the highest N of blk.N.
  std::optional<u64> embedding_size;  ///< ne0 of token_embd.weight
  std::optional<u64> embedding_rows;  ///< its ne1
};
/// The pairs of tensors of importance matrices and LoRA adapters.
void check_companion(const gguf::Document& document, const gguf::Index& index, FindingLog& log);
/// Does general.file_type name the type that most weights have?
void check_file_type(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log);
void check_hyper_parameters(const gguf::Index& index, const TensorFacts& facts, FindingLog& log);
/// What it read of the special tokens on its way; nothing where it did not read the vocabulary.
std::optional<RoleTexts> check_tokens(const ByteSource& source, const gguf::Document& document,
                                      const gguf::Index& index, const TensorFacts& facts, TokenTexts texts,
                                      unsigned threads, FindingLog& log);

}  // namespace modelutils::gguf_rules
