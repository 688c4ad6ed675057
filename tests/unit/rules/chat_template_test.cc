// Texts in a template that equal tokens which can never occur in a prompt.
#include "rules/chat_template.h"

#include <gtest/gtest.h>

#include "template/prompt_text.h"

namespace modelutils {
namespace {

TEST(WrittenMarkers, AreTextsThatLookSpecial) {
  const auto markers = [](std::string_view source) {
    const auto parsed = jinja::parse(source);
    std::string all;
    if (!parsed) return parsed.error().message;
    for (const std::string& marker : jinja::written_markers(*parsed)) all += marker + " ";
    return all;
  };
  EXPECT_EQ(markers("<|im_start|>user\n[INST]<\xef\xbd\x9cUser\xef\xbd\x9c> <s>"),
            "<|im_start|> [INST] <\xef\xbd\x9cUser\xef\xbd\x9c> <s> ");
  EXPECT_EQ(markers("{{ '<a>' + x }}{{ '<b>' ~ y }}{{ '<c>' if z else '<d>' }}{% set n = '<e>' %}{{ m('<f>') }}"),
            "<a> <b> <c> <d> <e> <f> ");
  EXPECT_EQ(markers("{% if '<a>' in x %}{{ x.split('<b>')[0] }}{{ x|replace('<c>', '') }}{% endif %}"), "")
      << "looked for, not written";
  EXPECT_EQ(markers("a < b > c, [1], [ ], <>, 1 <2> 3, <a b>, [a\nb]<<x>"), "[1] <2> <x> ");
  EXPECT_EQ(markers("<" + std::string(100, 'a') + ">"), "") << "too long for a token";
  EXPECT_EQ(markers("{% macro m() %}<a>{% endmacro %}{% for x in y %}<b>{% endfor %}<a>"), "<a> <b> ");
}

// Returns the findings for a template that writes "<ab>"; token ids are the indices in `tokens`.
std::string said(tokenizer::TokenizerKind kind, const std::vector<std::string>& tokens,
                 const std::vector<std::string>& merges = {},
                 tokenizer::TokenType type = tokenizer::TokenType::normal) {
  tokenizer::Tokenizer vocabulary;
  vocabulary.kind = kind;
  vocabulary.tokens = tokens;
  vocabulary.types.assign(tokens.size(), static_cast<i32>(type));
  vocabulary.merges = merges;
  FindingLog log;
  check_written_tokens({"<ab>"}, texts_of(vocabulary), "chat template", log);
  std::string all;
  for (const Finding& finding : log) {
    EXPECT_EQ(finding.code, "template-normal-token");
    EXPECT_EQ(finding.severity, Severity::warning);
    all += finding.message;
  }
  return all;
}

TEST(WrittenTokens, OfTypeNormalNeverAppear) {
  using tokenizer::TokenizerKind, tokenizer::TokenType;
  constexpr std::string_view message =
      "the chat template writes '<ab>', but token 1 with this text has type NORMAL: prompts contain its pieces instead "
      "of "
      "the token";
  EXPECT_EQ(said(TokenizerKind::gpt2, {"a", "<ab>"}), message);
  EXPECT_EQ(said(TokenizerKind::llama, {"a", "<ab>"}), message);
  EXPECT_EQ(said(TokenizerKind::gpt2, {"a", "<ab>"}, {"< a", "a <ab>"}), message);
  for (const TokenType type : {TokenType::control, TokenType::user_defined, TokenType::unused}) {
    EXPECT_EQ(said(TokenizerKind::gpt2, {"a", "<ab>"}, {}, type), "");
  }
  EXPECT_EQ(said(TokenizerKind::gpt2, {"a", "<abc>"}), "");
  // A vocabulary may contain words in brackets.
  EXPECT_EQ(said(TokenizerKind::gpt2, {"a", "<ab>"}, {"<a b>"}), "");
  EXPECT_EQ(said(TokenizerKind::llama, {"<a", "<ab>", "b>"}), "");
  EXPECT_EQ(said(TokenizerKind::llama, {"<a", "<ab>", ">"}).empty(), false);
  // These kinds find any token in text.
  EXPECT_EQ(said(TokenizerKind::t5, {"a", "<ab>"}), "");
  EXPECT_EQ(said(TokenizerKind::rwkv, {"a", "<ab>"}), "");
}

}  // namespace
}  // namespace modelutils
