// The rules for GGUF files. Every row of the table in docs/formats/gguf.md ("What a reader must check") is here or,
// where reading itself depends on it, in the parser (gguf/parse.h), whose findings are handed on.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"
#include "rules/formats.h"

namespace modelutils {

/// The parser's findings, and what the header alone says of names, dimensions, types, sizes, alignment and layout.
/// Reads nothing. All of scope container. Time: linear, but for sorting the tensors of a file that is not contiguous.
FindingLog gguf_container_rules(const gguf::Document& document);

/// The same as plain findings: for dumpers, which fail on the first error among them (first_container_error).
Findings gguf_container_findings(const gguf::Document& document);
/// For every file of a set, each finding with its file's base name where there are several, and the set's own findings.
Findings gguf_container_findings(const gguf::SplitSet& set);

/// Are the texts of tokens and merges read, which takes most of the time of the rules? Not where they are known to be
/// those of a model that has been judged.
enum class TokenTexts { read, known };

/// All that can be said without reading tensor data: container, keys, hyper-parameters, tokens, merges, chat templates,
/// padding bytes and what stands behind the last tensor.
FindingLog gguf_structure_rules(const gguf::SplitSet& set, TokenTexts texts = TokenTexts::read, unsigned threads = 1);

/// What llama.cpp demands of a whole model, a projector and a model that only runs (loader_rules.h, projector_rules.h),
/// for files without errors of the container. verify reports them; converters refuse their errors (first_error), but
/// for gguf2bump, whose engine has rules of its own.
FindingLog gguf_loader_rules(const gguf::SplitSet& set);

/// The row of the table of formats (formats.cc).
Result<CheckedModel> check_gguf(const Model& model, unsigned threads = 1);
Catalog catalog_of_gguf(const Model& model);

}  // namespace modelutils
