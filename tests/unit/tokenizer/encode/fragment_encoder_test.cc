#include "tokenizer/encode/fragment_encoder.h"

#include <gtest/gtest.h>

#include "tokenizer/encode/characters.h"

using namespace modelutils;
using namespace modelutils::tokenizer;

// How pre-tokenizers split texts. Expected values: the results of llama.cpp's regexes and its hand-written splitters.

namespace {

using Pieces = std::vector<std::string>;

Pieces pre_pieces(std::string_view pre, std::string_view text) {
  const auto made = PreTokenizer::make(pre);
  if (!made) return {"error " + made.error().code};
  const std::vector<char32_t> points = code_points(text);
  Pieces pieces;
  std::size_t at = 0;
  for (const u32 length : made->cut(points)) {
    std::string piece;
    for (u32 i = 0; i < length; ++i) append_point(piece, points[at++]);
    if (!piece.empty()) pieces.push_back(piece);
  }
  EXPECT_EQ(at, points.size());
  return pieces;
}

}  // namespace

TEST(PreTokenizer, Gpt2CutsContractionsInSmallLettersOnly) {
  EXPECT_EQ(pre_pieces("gpt-2", "it's IT'S 12345  x\n\n y "),
            (Pieces{"it", "'s", " IT", "'", "S", " 12345", " ", " x", "\n\n", " y", " "}));
}

TEST(PreTokenizer, Llama3TakesThreeDigitsAndAnyCase) {
  EXPECT_EQ(pre_pieces("llama-bpe", "IT'S 12345\n\nend!!\n"),
            (Pieces{"IT", "'S", " ", "123", "45", "\n\n", "end", "!!\n"}));
}

TEST(PreTokenizer, Qwen2TakesDigitsOneByOne) {
  EXPECT_EQ(pre_pieces("qwen2", "a12 b"), (Pieces{"a", "1", "2", " b"}));
}

TEST(PreTokenizer, MarksStayWithTheirLettersInQwen35Only) {
  EXPECT_EQ(pre_pieces("qwen2", "e\u0301a"), (Pieces{"e", "\u0301a"}));
  EXPECT_EQ(pre_pieces("qwen35", "e\u0301a"), (Pieces{"e\u0301a"}));
}

TEST(PreTokenizer, OutsideAsciiLettersHaveNoCase) {
  EXPECT_EQ(pre_pieces("gpt-4o", "camelCase"), (Pieces{"camel", "Case"}));
  EXPECT_EQ(pre_pieces("gpt-4o", "приветМир"), (Pieces{"приветМир"}));
}

TEST(PreTokenizer, KimiTakesHanApart) {
  EXPECT_EQ(pre_pieces("kimi-k2", "abc中文def's"), (Pieces{"abc", "中文", "def's"}));
}

TEST(PreTokenizer, DigitsFromTheRight) {
  EXPECT_EQ(pre_pieces("superbpe", "a1234567"), (Pieces{"a", "1", "234", "567"}));
  // Text before a run of digits is joined with its first group.
  EXPECT_EQ(pre_pieces("afmoe", "1234567"), (Pieces{"1", "234", "567"}));
  EXPECT_EQ(pre_pieces("tiny_aya", "ab1234"), (Pieces{"ab", "1", "234"}));
}

TEST(PreTokenizer, SpacesOutsideAsciiAreSpaces) {
  EXPECT_EQ(pre_pieces("gpt-2", "a\u3000b\u00a0\u00a0c"), (Pieces{"a", "\u3000", "b", "\u00a0", "\u00a0", "c"}));
}

TEST(PreTokenizer, DefaultCutsPunctuationApart) {
  EXPECT_EQ(pre_pieces("", "a+b, 1234"), (Pieces{"a", "+", "b", ",", " ", "123", "4"}));
  EXPECT_EQ(pre_pieces("default", "x"), pre_pieces("", "x"));
}

TEST(PreTokenizer, LinesOnly) {
  EXPECT_EQ(pre_pieces("gemma4", "a b\n\nc"), (Pieces{"a b", "\n\n", "c"}));
}

TEST(PreTokenizer, EveryNameOfThoseThatLlamaCppKnowsIsMade) {
  for (const std::string_view name : {"llama3",
                                      "deepseek-llm",
                                      "deepseek-coder",
                                      "deepseek-v3",
                                      "falcon",
                                      "mpt",
                                      "starcoder",
                                      "jina-v2-de",
                                      "refact",
                                      "command-r",
                                      "stablelm2",
                                      "olmo",
                                      "dbrx",
                                      "smaug-bpe",
                                      "poro-chat",
                                      "chatglm-bpe",
                                      "viking",
                                      "jais",
                                      "tekken",
                                      "smollm",
                                      "codeshell",
                                      "bloom",
                                      "gpt3-finnish",
                                      "exaone",
                                      "chameleon",
                                      "minerva-7b",
                                      "megrez",
                                      "trillion",
                                      "bailingmoe",
                                      "seed-coder",
                                      "hunyuan",
                                      "hunyuan-dense",
                                      "grok-2",
                                      "minimax-m2",
                                      "solar-open",
                                      "exaone4",
                                      "exaone-moe",
                                      "jais-2",
                                      "youtu",
                                      "joyai-llm",
                                      "laguna",
                                      "minicpm5",
                                      "sarvam-moe",
                                      "spark2_5",
                                      "whitespace",
                                      "granite-embed-multi-97m",
                                      "granite-embed-multi-311m",
                                      "talkie",
                                      "cohere2moe",
                                      "hy_v4",
                                      "ufakzeka"}) {
    EXPECT_TRUE(PreTokenizer::make(name).has_value()) << name;
  }
}

TEST(PreTokenizer, AnUnknownNameIsRefused) {
  EXPECT_EQ(pre_pieces("gpt-5", "x"), (Pieces{"error tok-pre"}));
}
