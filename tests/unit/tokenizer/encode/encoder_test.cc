// Tokenises texts with small vocabularies. Expected values come from llama.cpp (tests/llama/encoding compares many
// more).
#include "tokenizer/encode/encoder.h"

#include <gtest/gtest.h>

#include "tokenizer/tokenizer.h"

using namespace modelutils;
using namespace modelutils::tokenizer;

namespace {

using Ids = std::vector<u32>;

std::string code_of(const Result<Encoder>& made) {
  return made ? "made" : made.error().code;
}

Ids encode(const EncodeKeys& keys, std::string_view text, const EncodeOptions& options = {}) {
  const auto encoder = Encoder::make(keys);
  if (!encoder) return {9999};
  const auto ids = encoder->encode(text, options);
  return ids ? *ids : Ids{8888};
}

std::string error_of(const EncodeKeys& keys, std::string_view text, const EncodeOptions& options = {}) {
  const auto encoder = Encoder::make(keys);
  if (!encoder) return encoder.error().code;
  const auto ids = encoder->encode(text, options);
  return ids ? "" : ids.error().code;
}

constexpr i32 normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6;

// <unk> <s> </s>; "<0x00>" … have ids 3 to 258; then ▁ a b ab ▁ab.
EncodeKeys sentencepiece_keys() {
  EncodeKeys keys;
  keys.model = "llama";
  keys.tokens = {"<unk>", "<s>", "</s>"};
  keys.types = {unknown, control, control};
  for (int i = 0; i < 256; ++i) {
    keys.tokens.push_back(byte_token(static_cast<u8>(i)));
    keys.types.push_back(byte);
  }
  for (const char* text : {"\u2581", "a", "b", "ab", "\u2581ab"}) {
    keys.tokens.emplace_back(text);
    keys.types.push_back(normal);
  }
  keys.scores.assign(keys.tokens.size(), 0.0F);
  keys.scores[262] = -1.0F;
  keys.scores[263] = -2.0F;
  return keys;
}

// The 256 byte symbols, then "he" "ll" "hell" and <|end|>.
EncodeKeys byte_keys() {
  EncodeKeys keys;
  keys.model = "gpt2";
  keys.pre = "gpt-2";
  keys.has_merges = true;
  for (int i = 0; i < 256; ++i) keys.tokens.push_back(byte_symbol(static_cast<u8>(i)));
  keys.tokens.insert(keys.tokens.end(), {"he", "ll", "hell", "<|end|>", "\u0120he"});
  keys.types.assign(keys.tokens.size(), normal);
  keys.types[259] = control;
  keys.merges = {"h e", "l l", "he ll", "\u0120 he"};
  return keys;
}

EncodeKeys wordpiece_keys() {
  EncodeKeys keys;
  keys.model = "bert";
  keys.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581un", "\u2581", "aff", "able", "\u2581!", "un"};
  keys.types = {control, control, control, control, normal, normal, normal, normal, normal, normal};
  keys.special.unk = 1;
  keys.special.bos = 2;
  keys.special.sep = 3;
  return keys;
}

EncodeKeys unigram_keys() {
  EncodeKeys keys;
  keys.model = "t5";
  keys.tokens = {"<pad>", "</s>", "<unk>", "\u2581a", "\u2581ab", "b", "c", "bc"};
  keys.types = {control, control, unknown, normal, normal, normal, normal, normal};
  keys.scores = {0, 0, 0, -1, -3, -1, -1, -1.5F};
  keys.add_space_prefix = true;
  return keys;
}

}  // namespace

TEST(Encoder, SentencePieceJoinsByScore) {
  EXPECT_EQ(encode(sentencepiece_keys(), "ab"), (Ids{263}));
  EXPECT_EQ(encode(sentencepiece_keys(), "ab ab"), (Ids{263, 263}));
  EXPECT_EQ(encode(sentencepiece_keys(), "aab"), (Ids{259, 260, 262}));
}

TEST(Encoder, SentencePieceFallsBackToBytes) {
  EXPECT_EQ(encode(sentencepiece_keys(), "\u00e9"), (Ids{259, 3 + 0xc3, 3 + 0xa9}));
  EXPECT_EQ(encode(sentencepiece_keys(), "\xff"), (Ids{259, 3 + 0xff})) << "a byte that is not UTF-8";
}

TEST(Encoder, SpecialTokensOnlyWhereAskedFor) {
  const EncodeKeys keys = sentencepiece_keys();
  EXPECT_EQ(encode(keys, "<s>ab", {false, true}), (Ids{1, 263})) << "a space follows a special token, too";
  EXPECT_EQ(encode(keys, "ab", {true, false}), (Ids{1, 263}));
  EXPECT_EQ(encode(keys, "<s>", {}).size(), 4U) << "▁ < s >";
}

TEST(Encoder, UserDefinedTokensAreAlwaysFound) {
  EncodeKeys keys = byte_keys();
  keys.tokens.insert(keys.tokens.end(), {"@@", "@@@"});
  keys.types.insert(keys.types.end(), {user_defined, user_defined});
  EXPECT_EQ(encode(keys, "he@@@@he"), (Ids{256, 262, '@' - 0, 256})) << "the longest first";
}

TEST(Encoder, BytePairsByRank) {
  EXPECT_EQ(encode(byte_keys(), "hell"), (Ids{258}));
  EXPECT_EQ(encode(byte_keys(), " he"), (Ids{260}));
  EXPECT_EQ(encode(byte_keys(), "<|end|>", {false, true}), (Ids{259}));
  EXPECT_EQ(encode(byte_keys(), "\xc3"), (Ids{0xef, 0xbf, 0xbd})) << "what is not UTF-8 becomes U+FFFD";
}

TEST(Encoder, AWholeWordIsTakenWhereThePreTokenizerSaysSo) {
  EncodeKeys keys = byte_keys();
  keys.merges = {"h e"};
  EXPECT_EQ(encode(keys, "hell"), (Ids{256, 'l', 'l'}));
  keys.pre = "llama-bpe";
  EXPECT_EQ(encode(keys, "hell"), (Ids{258}));
}

TEST(Encoder, TextsEndAtAZeroByteAsInC) {
  EncodeKeys keys = byte_keys();
  keys.tokens.emplace_back("he\0x", 4);
  keys.types.push_back(normal);
  EXPECT_EQ(error_of(keys, "x"), "tok-text") << "then two are 'he'";
}

TEST(Encoder, WordPieceTakesTheLongestTokens) {
  EXPECT_EQ(encode(wordpiece_keys(), "Unaffable!"), (Ids{4, 6, 7, 8}));
  EXPECT_EQ(encode(wordpiece_keys(), "unknown"), (Ids{1})) << "unknown as a whole";
  EXPECT_EQ(encode(wordpiece_keys(), "\u00fcn"), (Ids{4})) << "accents go";
  EXPECT_EQ(encode(wordpiece_keys(), "un", {true, false}), (Ids{2, 4, 3}));
  EncodeKeys cased = wordpiece_keys();
  cased.lowercase = false;
  EXPECT_EQ(encode(cased, "Un"), (Ids{1}));
}

TEST(Encoder, UnigramTakesTheBestSum) {
  EXPECT_EQ(encode(unigram_keys(), "abc"), (Ids{3, 7})) << "-1 - 1.5, not -1 - 1 - 1";
  EXPECT_EQ(encode(unigram_keys(), "axxc"), (Ids{3, 2, 6})) << "neighbours that are unknown are one";
  EXPECT_EQ(encode(unigram_keys(), "a", {true, false}), (Ids{3, 1}));
}

TEST(Encoder, RwkvTakesTheLongestTokenAtEachPlace) {
  EncodeKeys keys;
  keys.model = "rwkv";
  keys.tokens = {"<s>", "a", "b", "ab", "\\n", "\\xc3\\xa9"};
  EXPECT_EQ(encode(keys, "aba\n\u00e9"), (Ids{3, 1, 4, 5}));
  EXPECT_EQ(error_of(keys, "z"), "tok-uncut");
  EXPECT_EQ(error_of(keys, "\xc3"), "tok-uncut") << "a byte that only begins a longer token";
}

TEST(Encoder, Plamo2TakesTheBestSumAndBytes) {
  EncodeKeys keys = sentencepiece_keys();
  keys.model = "plamo2";
  keys.scores[262] = -5.0F;
  keys.scores[260] = keys.scores[261] = -1.0F;
  EXPECT_EQ(encode(keys, "ab"), (Ids{260, 261}));
  EXPECT_EQ(encode(keys, "\ufeff\u00e9"), (Ids{3 + 0xc3, 3 + 0xa9})) << "without the mark of byte order";
  keys.tokens[10] = "<0x0>";
  EXPECT_EQ(error_of(keys, "ab"), "tok-uncut");
}

TEST(Encoder, WhatCannotRunIsRefused) {
  EncodeKeys keys = byte_keys();
  keys.model = "none";
  EXPECT_EQ(code_of(Encoder::make(keys)), "tok-model");
  keys = byte_keys();
  keys.has_merges = false;
  EXPECT_EQ(code_of(Encoder::make(keys)), "tok-missing");
  keys = byte_keys();
  keys.pre = "from-the-future";
  EXPECT_EQ(code_of(Encoder::make(keys)), "tok-pre");
  keys = wordpiece_keys();
  keys.special.sep = std::nullopt;
  keys.tokens.resize(10);
  EXPECT_EQ(error_of(keys, "un", {true, false}), "tok-special-missing");
  keys = sentencepiece_keys();
  keys.tokens[3 + 'z'] = "other";
  EXPECT_EQ(error_of(keys, "z"), "tok-uncut");
}

TEST(Encoder, TokensBecomeTextAgain) {
  const auto spaced = Encoder::make(sentencepiece_keys());
  ASSERT_TRUE(spaced.has_value());
  EXPECT_EQ(spaced->decode(Ids{1, 263, 263}), "<s> ab ab");
  EXPECT_EQ(spaced->decode(Ids{263, 3 + 0xc3, 3 + 0xa9}), "ab\u00e9") << "without the space that was put before it";
  EXPECT_EQ(spaced->piece(3 + 0xc3), "\xc3");
  const auto bytes = Encoder::make(byte_keys());
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->decode(Ids{258, 'o', 220}).size(), 6U);
  EXPECT_EQ(bytes->decode(Ids{'a', ' ', '.', ' ', '\'', 's'}), "a.'s") << "as llama.cpp tidies spaces";
}
