// The tokens added before and after a text: by Hugging Face's tokenizers, and by llama.cpp from the keys to be written.
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

/// Returns the id of a token's text; nullopt if there is no such token.
using TokenFinder = std::function<std::optional<u32>(const std::optional<std::string>&)>;

/// Returns the tokens that tokenizer.json's post-processor adds to a single text. Considers at most 16 ids on each side
/// and 256 template items. transformers adds the same from version 5 on, and in most classes before it.
BoundaryTokens post_processor_boundaries(json::Element tokenizer_json, const TokenFinder& find);

/// Returns the boundary tokens of classes in which transformers before version 5 adds something else: LlamaTokenizer
/// and similar ones replace the post-processor according to add_bos_token and add_eos_token in tokenizer_config.json.
/// Returns nullopt for other classes. Source: their update_post_processor().
std::optional<BoundaryTokens> class_boundaries(json::Element tokenizer_config, const SpecialIds& special);

/// True if this class of tokenizer_config.json uses the post-processor in every version.
bool leaves_it_to_post_processor(std::string_view tokenizer_class);

/// Warns ("hf-tok-around") if llama.cpp will add other boundary tokens than Hugging Face's tokenizers, or if those
/// disagree with each other. `tokenizer` must be complete except for its templates.
void warn_of_boundary_tokens(json::Element tokenizer_json, std::optional<json::Element> tokenizer_config,
                             const TokenFinder& find, Tokenizer& tokenizer);

}  // namespace modelutils::tokenizer
