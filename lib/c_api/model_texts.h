// What an open model says of its tokenizer and its prompts.
#pragma once

#include <string_view>

#include "base/error.h"
#include "listing/chat_source.h"
#include "model/model.h"
#include "tokenizer/encode/keys.h"

namespace modelutils::c_api {

/// Errors: "hf-tok-missing" and "tok-missing" where there is none, those of reading.
Result<tokenizer::EncodeKeys> tokenizer_keys(const Model& model);
/// The chat template of that name, as chat_source().
Result<ChatSource> chat_of(const Model& model, std::string_view name);

}  // namespace modelutils::c_api
