// What verify says of the text of a chat template, wherever it comes from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "template/template.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

/// A template that does not parse, and what jinja::inspect() finds, as warnings. Parses and does not render. `where`: a
/// key, or empty; `offset`: of the text in its file, if it stands there verbatim. The template, if it parses.
std::optional<jinja::Template> check_chat_template(std::string_view text, std::string_view where,
                                                   std::optional<u64> offset, std::string_view file, FindingLog& log);

/// A vocabulary that is read only where a template asks for it.
struct VocabularyTexts {
  using Take = std::function<void(u64 index, std::string_view text)>;
  std::string_view kind;                    ///< tokenizer.ggml.model
  std::function<void(const Take&)> tokens;  ///< gives the text of each token
  std::function<void(const Take&)> merges;  ///< gives each merge, "left right"
  std::function<bool(u64 token)> is_of_type_normal;
};
VocabularyTexts texts_of(const tokenizer::Tokenizer& tokenizer);

/// A warning for each of the texts (jinja::written_markers()) that is a token of type NORMAL which no merge makes:
/// programs cut it into pieces as any other text, so that the model never sees the token.
void check_written_tokens(const std::vector<std::string>& written, const VocabularyTexts& vocabulary,
                          std::string_view where, FindingLog& log);

}  // namespace modelutils
