// tiktoken vocabularies: tokens, and the merges implied by their ranks.
#include "tokenizer/read/tiktoken.h"

#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using test::find_code;
using test::number;
using tokenizer::TokenType;

class Tiktoken : public test::TokenizerFolder {};

// By rank: a, b, c, " ", ab, abc, bc. "abc" is ab + c, because "ab" has a lower rank than "bc".
constexpr std::string_view seven = "YQ== 0\nYg== 1\nYw== 2\nIA== 3\nYWI= 4\nYWJj 5\nYmM= 6\n";

TEST_F(Tiktoken, RanksAreIdsAndMakeMerges) {
  const auto vocabulary = tokenizer::parse_tiktoken(seven, 7);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->tokens, (std::vector<std::string>{"a", "b", "c", "\u0120", "ab", "abc", "bc"}));
  EXPECT_EQ(vocabulary->merges, (std::vector<std::string>{"a b", "ab c", "b c"}));
  const auto other = tokenizer::parse_tiktoken("YQ== 0\nYg== 1\nYw== 2\nYmM= 4\nYWI= 5\nYWJj 6\n", 7);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->merges, (std::vector<std::string>{"b c", "a b", "a bc"})) << "now bc is joined first";
  EXPECT_EQ(other->tokens[3], "") << "a rank that is not there";
}

TEST_F(Tiktoken, RefusesOtherTexts) {
  for (const char* text : {"YQ==\n", "YQ== x\n", "YQ== 1x\n", "YQ== -1\n", "?? 1\n", " 1\n", "= 1\n",
                           "YQ== 0\nYg== 0\n", "YQ== 0\nYWI= 1\n"}) {
    const auto vocabulary = tokenizer::parse_tiktoken(text, 10);
    ASSERT_FALSE(vocabulary) << text;
    EXPECT_EQ(vocabulary.error().code, "hf-tok-tiktoken") << text;
  }
  EXPECT_EQ(tokenizer::parse_tiktoken(seven, 6).error().code, "hf-tok-id-range");
  std::string longest = "YQ== 0\n";
  longest += std::string(8192, 'A') + " 1\n";
  EXPECT_EQ(tokenizer::parse_tiktoken(longest, 10).error().code, "hf-tok-tiktoken");
}

TEST_F(Tiktoken, ADirectoryWithOne) {
  dir.write("x.tiktoken", std::string(seven));
  dir.write("tokenizer_config.json",
            R"({"eos_token":"<|end|>","added_tokens_decoder":{"7":{"content":"<|end|>","special":true}}})");
  options.pre = "qwen2";
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.kind, tokenizer::TokenizerKind::gpt2);
  EXPECT_EQ(tokenizer.source, "x.tiktoken");
  EXPECT_EQ(tokenizer.pre, "qwen2");
  EXPECT_EQ(tokenizer.tokens[5], "abc");
  EXPECT_EQ(tokenizer.types[5], number(TokenType::normal));
  EXPECT_EQ(tokenizer.types[7], number(TokenType::control));
  EXPECT_EQ(tokenizer.types[8], number(TokenType::unused));
  EXPECT_EQ(tokenizer.special.eos, 7U);
  EXPECT_EQ(find_code(tokenizer.findings.findings(), "hf-tok-tiktoken-special"), nullptr);
}

TEST_F(Tiktoken, ModelTypeNamesThePreTokenizer) {
  dir.write("qwen.tiktoken", std::string(seven));
  dir.write("config.json", R"({"architectures":["QWenLMHeadModel"],"model_type":"qwen","vocab_size":9})");
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.pre, "qwen2");
  EXPECT_NE(find_code(tokenizer.findings.findings(), "hf-tok-tiktoken-special"), nullptr);
}

}  // namespace
}  // namespace modelutils
