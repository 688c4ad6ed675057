// Rules for the text of a chat template, whichever file it comes from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "template/template.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

/// Parses the template without rendering it. Reports a parse failure and the findings of jinja::inspect() as warnings.
/// `where` is a key or empty; `offset` is the text's position in its file if it is stored there verbatim. Returns the
/// template if it parses.
std::optional<jinja::Template> check_chat_template(std::string_view text, std::string_view where,
                                                   std::optional<u64> offset, std::string_view file, FindingLog& log);

/// A vocabulary accessed through callbacks, so that it is only read if a template needs it.
struct VocabularyTexts {
  using Take = std::function<void(u64 index, std::string_view text)>;
  std::string_view kind;                    ///< tokenizer.ggml.model
  std::function<void(const Take&)> tokens;  ///< passes the text of each token
  std::function<void(const Take&)> merges;  ///< passes each merge as "left right"
  std::function<bool(u64 token)> is_of_type_normal;
};
/// Returns callbacks over `tokenizer`, which must outlive them.
VocabularyTexts texts_of(const tokenizer::Tokenizer& tokenizer);

/// Warns about each of the texts (jinja::written_markers()) that is a token of type NORMAL which no merge produces:
/// programs split it into pieces like other text, so the model never sees the token.
void check_written_tokens(const std::vector<std::string>& written, const VocabularyTexts& vocabulary,
                          std::string_view where, FindingLog& log);

}  // namespace modelutils
