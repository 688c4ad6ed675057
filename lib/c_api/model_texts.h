// The tokenizer and the chat templates of an open model.
#pragma once

#include <string_view>

#include "base/error.h"
#include "listing/chat_source.h"
#include "model/model.h"
#include "tokenizer/encode/keys.h"

namespace modelutils::c_api {

/// Returns the tokenizer's settings. Fails with "hf-tok-missing" or "tok-missing" if there is none, or if reading
/// fails.
Result<tokenizer::EncodeKeys> tokenizer_keys(const Model& model);
/// Returns the chat template of that name; see chat_source().
Result<ChatSource> chat_of(const Model& model, std::string_view name);

}  // namespace modelutils::c_api
