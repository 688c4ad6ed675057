// Rerankers that answer "yes" or "no" (Qwen3-Reranker): a GGUF has the two rows of the output head for these tokens as
// its scores, in place of the head.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "model/hf_model.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::to_gguf {

/// Finds out whether the model is such a reranker and sets HfModel::answers. `wanted` decides; without a value, the
/// heading of README.md and the folder's name do, which a note in `remarks` reports. Errors: "convert-rerank" (wanted
/// for another architecture, or the vocabulary lacks the tokens), read errors.
Status find_answers(HfModel& model, std::optional<bool> wanted, FindingLog& remarks);

/// True if the family has a place for scores that no tensor of a directory fills.
bool takes_answers(const arch::Family& family);

/// Adds the template "rerank", unless the directory has one.
void add_rerank_template(tokenizer::Tokenizer& tokenizer);

}  // namespace modelutils::to_gguf
