// Rerankers that answer by tokens (Qwen3-Reranker): the scores of their GGUF are rows of an output head that the file
// need not have.
#pragma once

#include "base/error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"
#include "model/catalog.h"

namespace modelutils::to_directory {

/// Checks that the rows of `scores` are those of the output head, or of the embedding if the file has no head, for the
/// tokens that the labels name. Only then can a directory do without them. The rules have checked the tensors. Errors:
/// "convert-rerank", read errors.
Status check_answers(const gguf::SplitSet& set, const gguf::Index& index, const Catalog& catalog, const Tensor& scores);

}  // namespace modelutils::to_directory
