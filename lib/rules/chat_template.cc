#include "rules/chat_template.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <unordered_set>

#include "template/inspect.h"

namespace modelutils {

std::optional<jinja::Template> check_chat_template(std::string_view text, std::string_view where,
                                                   std::optional<u64> offset, std::string_view file, FindingLog& log) {
  const auto add = [&](const std::vector<jinja::Remark>& remarks) {
    for (const jinja::Remark& remark : remarks) {
      const std::optional<u64> at = offset ? std::optional<u64>(*offset + remark.offset) : std::nullopt;
      log.add(remark.is_note ? Severity::note : Severity::warning, Scope::model, remark.code, remark.message, where, at,
              file);
    }
  };
  add(jinja::hidden_text(text));
  auto parsed = jinja::parse(text);
  if (parsed) {
    add(jinja::inspect(*parsed, text));
    return std::move(*parsed);
  }
  const Error& error = parsed.error();
  const std::string place = error.where.empty() ? std::string() : error.where + ": ";
  const std::optional<u64> at = offset && error.offset ? std::optional<u64>(*offset + *error.offset) : std::nullopt;
  // A construct that only our parser lacks is a note, since Jinja renders it.
  log.add(error.code == "template-unsupported" ? Severity::note : Severity::warning, Scope::model, error.code,
          "the chat template does not parse: " + place + error.message, where, at, file);
  return std::nullopt;
}

VocabularyTexts texts_of(const tokenizer::Tokenizer& tokenizer) {
  const auto each = [](const std::vector<std::string>& texts) {
    return [&texts](const VocabularyTexts::Take& take) {
      for (std::size_t i = 0; i < texts.size(); ++i) take(i, texts[i]);
    };
  };
  return {.kind = tokenizer::tokenizer_kind_name(tokenizer.kind),
          .tokens = each(tokenizer.tokens),
          .merges = each(tokenizer.merges),
          .is_of_type_normal = [&types = tokenizer.types](u64 token) {
            return types[static_cast<std::size_t>(token)] == static_cast<i32>(tokenizer::TokenType::normal);
          }};
}

namespace {

// Texts and the tokens that have them.
using Found = std::map<std::string, u64, std::less<>>;

// Removes tokens whose text is made of two other tokens: SentencePiece-like vocabularies join any two tokens whose
// joined text is a token.
void drop_joined(const VocabularyTexts& vocabulary, Found& found) {
  std::set<std::string, std::less<>> halves, present;
  for (const auto& [text, token] : found) {
    for (std::size_t at = 1; at < text.size(); ++at) {
      halves.insert(text.substr(0, at));
      halves.insert(text.substr(at));
    }
  }
  vocabulary.tokens([&](u64, std::string_view text) {
    if (const auto half = halves.find(text); half != halves.end()) present.insert(*half);
  });
  std::erase_if(found, [&](const auto& one) {
    const std::string& text = one.first;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (present.contains(text.substr(0, at)) && present.contains(text.substr(at))) return true;
    }
    return false;
  });
}

void drop_merged(const VocabularyTexts& vocabulary, Found& found) {
  vocabulary.merges([&](u64, std::string_view merge) {
    const std::size_t space = merge.find(' ');
    if (space == merge.npos) return;
    std::erase_if(found, [&](const auto& one) {
      const std::string_view text = one.first;
      return text.size() + 1 == merge.size() && text.starts_with(merge.substr(0, space)) &&
             text.ends_with(merge.substr(space + 1));
    });
  });
}

}  // namespace

void check_written_tokens(const std::vector<std::string>& written, const VocabularyTexts& vocabulary,
                          std::string_view where, FindingLog& log) {
  const bool is_joined = vocabulary.kind == "llama";
  const bool is_merged = vocabulary.kind == "gpt2" || vocabulary.kind == "gemma4";
  if (written.empty() || !(is_joined || is_merged)) return;  // other kinds match all tokens in a text directly
  const std::unordered_set<std::string_view> wanted(written.begin(), written.end());
  Found found;
  vocabulary.tokens([&](u64 token, std::string_view text) {
    if (wanted.contains(text) && vocabulary.is_of_type_normal(token)) found.emplace(text, token);
  });
  if (found.empty()) return;
  is_joined ? drop_joined(vocabulary, found) : drop_merged(vocabulary, found);
  for (const auto& [text, token] : found) {
    log.warning(Scope::model, "template-normal-token",
                fmt::format("the chat template writes '{}', but token {} with this text has type NORMAL: prompts "
                            "contain its pieces instead of the token",
                            text, token),
                where);
  }
}

}  // namespace modelutils
