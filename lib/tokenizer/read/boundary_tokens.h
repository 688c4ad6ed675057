// What is put around a text: by Hugging Face's tokenizers, and by llama.cpp of the keys that are written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// Ids before and after a text.
struct BoundaryTokens {
  std::vector<u32> before, after;
  bool operator==(const BoundaryTokens&) const = default;
};

/// The id of a token's text, if there is such a token.
using TokenFinder = std::function<std::optional<u32>(const std::optional<std::string>&)>;

/// What the post-processor of tokenizer.json puts around a single text; at most 16 ids on each side and
/// 256 items of templates are looked at. transformers does just this from version 5 on, and before it in most classes.
BoundaryTokens post_processor_boundaries(json::Element tokenizer_json, const TokenFinder& find);

/// The classes that transformers before version 5 let put something else there: LlamaTokenizer and its like replace the
/// post-processor by what tokenizer_config.json's add_bos_token and add_eos_token say. Nothing for other classes.
/// Source: their update_post_processor().
std::optional<BoundaryTokens> class_boundaries(json::Element tokenizer_config, const SpecialIds& special);

/// Does a class of tokenizer_config.json leave what is put around texts to the post-processor, in every version?
bool leaves_it_to_post_processor(std::string_view tokenizer_class);

/// A warning "hf-tok-around" where llama.cpp will put something else around a text than Hugging Face's tokenizers, or
/// these do not agree among themselves. `tokenizer` is complete but for its templates.
void warn_of_boundary_tokens(json::Element tokenizer_json, std::optional<json::Element> tokenizer_config,
                             const TokenFinder& find, Tokenizer& tokenizer);

}  // namespace modelutils::tokenizer
