// The rules for GGUF files. Each row of the table in docs/formats/gguf.md ("What a reader must check") is implemented
// here or, if parsing itself depends on it, in the parser (formats/gguf/parse.h), whose findings are passed on.
#pragma once

#include "base/log.h"
#include "formats/gguf/split_set.h"
#include "rules/formats.h"

namespace modelutils {

/// Returns the limits that apply to a model: those of image and video models, or ggml's.
gguf::Limits gguf_limits(const gguf::SplitSet& set);

/// Returns the parser's findings and those that follow from the header: names, dimensions, types, sizes, alignment and
/// layout. All of scope container. Reads nothing. Linear time, except for sorting the tensors of a file that is not
/// contiguous. `limits`: gguf_limits() of the file's model.
FindingLog gguf_container_rules(const gguf::Document& document, gguf::Limits limits);

/// Returns gguf_container_rules() for every file of a set, plus the set's own findings, for dumpers, which fail on the
/// first error among them (first_container_error). With several files, each finding has its file's base name.
Findings gguf_container_findings(const gguf::SplitSet& set);

/// Refuses models with tensors of types that only forks of ggml know, because nothing here decodes them. For everything
/// that reads values or writes GGUFs. Error "convert-fork-type".
Status refuse_foreign_types(const gguf::SplitSet& set);

/// Whether to read the texts of tokens and merges, the slowest of the rules. `known` skips them if they are copied from
/// a model that was already checked.
enum class TokenTexts { read, known };

/// Checks everything that needs no tensor data: container, keys, hyper-parameters, tokens, merges, chat templates,
/// padding, and bytes after the last tensor.
FindingLog gguf_structure_rules(const gguf::SplitSet& set, TokenTexts texts = TokenTexts::read, unsigned threads = 1);

/// Returns llama.cpp's requirements for whole models, projectors and runtime-only models (loader_rules.h,
/// component_rules.h), and those of the programs for image models (image_rules.h). Only for files without container
/// errors. verify reports them; converters refuse the errors (first_error), except gguf2bump, whose engine has its own
/// rules.
FindingLog gguf_loader_rules(const gguf::SplitSet& set);

/// The functions for GGUF in the table of formats (formats.cc).
Result<CheckedModel> check_gguf(const Model& model, unsigned threads = 1);

}  // namespace modelutils
