// Rules for the vocabulary and the chat template.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/gguf/parse.h"
#include "rules/gguf/rules.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "support/tokenizer_builder.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

using test::GgufBuilder;
using Texts = std::vector<std::string>;

FindingLog token_rules(const GgufBuilder& builder, unsigned threads = 1) {
  auto source = builder.source();
  gguf::SplitSet set;
  set.files.push_back({"built.gguf", source, *gguf::parse(*source)});
  return gguf_structure_rules(set, TokenTexts::read, threads);
}

std::string token_findings(const GgufBuilder& builder) {
  std::string text;
  for (const Finding& finding : token_rules(builder).findings()) {
    if (finding.severity == Severity::note) continue;
    if (!text.empty()) text += ", ";
    text += std::string(severity_name(finding.severity)) + " " + finding.code;
  }
  return text;
}

GgufBuilder vocabulary(const Texts& tokens) {
  return GgufBuilder().key_string("general.architecture", "test").key_strings("tokenizer.ggml.tokens", tokens);
}

// Every kind of problem, in a vocabulary large enough for several threads: checks the first of each and their number.
TEST(GgufTokens, ThreadsFindTheSame) {
  Texts tokens, merges;
  for (int i = 0; i < 12000; ++i) tokens.push_back("t" + std::to_string(100000 + i));
  for (const char* half : {"a", "b", "ab"}) tokens.push_back(half);
  for (int i = 0; i < 9000; ++i) merges.push_back("a b");
  tokens[400] = tokens[11000] = "same";
  tokens[700] = tokens[11500] = "";
  tokens[7000] = tokens[7100] = "\xFF";
  merges[5000] = "a\xFF b";
  merges[6000] = "ab";
  merges[4400] = "a missing";
  merges[8999] = "b missing";
  std::vector<i32> types(tokens.size(), 1);
  types[3] = 4;
  const GgufBuilder builder = vocabulary(tokens)
                                  .key_string("tokenizer.ggml.model", "gpt2")
                                  .key_string("tokenizer.ggml.pre", "llama-bpe")
                                  .key_strings("tokenizer.ggml.merges", merges)
                                  .key_array<i32>("tokenizer.ggml.token_type", types);
  const auto text = [&](unsigned threads) {
    std::string all;
    for (const Finding& finding : token_rules(builder, threads).findings()) {
      all += std::to_string(finding.offset.value_or(0)) + " " + finding.code + ": " + finding.message + "\n";
    }
    return all;
  };
  const std::string alone = text(1);
  for (const std::string_view said :
       {"gguf-token-duplicate: token 7100", "token 11000 has the same text as token 400", "2 tokens without text",
        "the first is token 700", "the first is element 7000", "the first is merge 6000", "the first is merge 4400"}) {
    EXPECT_NE(alone.find(said), std::string::npos) << said << "\n" << alone;
  }
  for (const unsigned threads : {0u, 2u, 3u, 16u}) EXPECT_EQ(text(threads), alone);
}

TEST(GgufTokens, LengthsOfTheArrays) {
  const Texts three = {"a", "b", "c"};
  EXPECT_EQ(token_findings(vocabulary(three)
                               .key_array<float>("tokenizer.ggml.scores", {0, 0, 0})
                               .key_array<i32>("tokenizer.ggml.token_type", {1, 1, 1})),
            "");
  EXPECT_EQ(token_findings(vocabulary(three).key_array<float>("tokenizer.ggml.scores", {0, 0})),
            "error gguf-token-array-length");
  EXPECT_EQ(token_findings(vocabulary(three).key_array<i32>("tokenizer.ggml.token_type", {1, 1, 1, 1})),
            "warning gguf-token-array-length");
  EXPECT_EQ(token_findings(vocabulary(three).key_array<i32>("tokenizer.ggml.token_type", {1, 7, -1})),
            "warning gguf-token-type");
}

TEST(GgufTokens, ScoresThatDecideNothing) {
  const auto scored = [](std::string_view model, const std::vector<float>& scores, const std::vector<i32>& types) {
    return token_findings(vocabulary({"<unk>", "a", "b", "ab"})
                              .key_string("tokenizer.ggml.model", model)
                              .key_array<float>("tokenizer.ggml.scores", scores)
                              .key_array<i32>("tokenizer.ggml.token_type", types));
  };
  EXPECT_EQ(scored("llama", {0, -1, -2, -3}, {2, 1, 1, 1}), "");
  for (const std::string_view model : {"llama", "t5", "plamo2"}) {
    EXPECT_EQ(scored(model, {0, -1000, -1000, -1000}, {2, 1, 1, 1}), "warning gguf-token-scores") << model;
  }
  EXPECT_EQ(scored("llama", {0, 0, 0, 0}, {2, 1, 3, 6}), "") << "one normal token needs no order";
  EXPECT_EQ(scored("llama", {0, 5, 0, -5}, {2, 3, 1, 3}), "");
  EXPECT_EQ(scored("rwkv", {0, 0, 0, 0}, {2, 1, 1, 1}), "") << "has no use for scores";
  EXPECT_EQ(token_findings(vocabulary({"<unk>", "a"}).key_string("tokenizer.ggml.model", "t5")),
            "error gguf-token-scores");
}

// llama.cpp takes 101, 102 and 100 where a key is missing or no token's id.
TEST(GgufTokens, WordPieceNeedsItsEnds) {
  const auto of_bert = [](std::size_t tokens) {
    Texts texts;
    for (std::size_t i = 0; i < tokens; ++i) texts.push_back("t" + std::to_string(i));
    return vocabulary(texts).key_string("tokenizer.ggml.model", "bert");
  };
  EXPECT_EQ(token_findings(of_bert(103)), "");
  EXPECT_EQ(token_findings(of_bert(102)), "error gguf-token-id");
  const auto stated = [&](u32 sep) {
    return of_bert(3)
        .key_u32("tokenizer.ggml.bos_token_id", 0)
        .key_u32("tokenizer.ggml.unknown_token_id", 1)
        .key_u32("tokenizer.ggml.seperator_token_id", sep);
  };
  EXPECT_EQ(token_findings(stated(2)), "");
  const Findings beyond = token_rules(stated(3)).findings();
  EXPECT_TRUE(std::any_of(beyond.begin(), beyond.end(), [](const Finding& finding) {
    return finding.severity == Severity::error && finding.where == "key 'tokenizer.ggml.seperator_token_id'";
  }));
}

TEST(GgufTokens, SpecialIds) {
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).key_u32("tokenizer.ggml.eos_token_id", 1)), "");
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).key_u32("tokenizer.ggml.eos_token_id", 2)), "warning gguf-token-id");
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).key_u32("tokenizer.ggml.fim_pad_token_id", 99)),
            "warning gguf-token-id");
}

TEST(GgufTokens, SpecialTokensAreControlTokens) {
  const auto with_types = [](const std::vector<i32>& types) {
    return vocabulary({"a", "b", "c"})
        .key_u32("tokenizer.ggml.eos_token_id", 1)
        .key_array<i32>("tokenizer.ggml.token_type", types);
  };
  EXPECT_EQ(token_findings(with_types({1, 3, 1})), "");
  EXPECT_EQ(token_findings(with_types({1, 2, 1})), "") << "unknown";
  EXPECT_EQ(token_findings(with_types({1, 4, 1})), "") << "user-defined: llama.cpp looks for those as well";
  EXPECT_EQ(token_findings(with_types({3, 1, 3})), "warning gguf-token-special-type");
  EXPECT_EQ(token_findings(with_types({3, 6, 3})), "warning gguf-token-special-type");
  const auto normal = [](const char* model, const char* key) {
    return vocabulary({"a", "b"})
        .key_string("tokenizer.ggml.model", model)
        .key_u32(key, 1)
        .key_array<i32>("tokenizer.ggml.token_type", {1, 1});
  };
  const Findings padding = token_rules(normal("llama", "tokenizer.ggml.padding_token_id")).findings();
  const auto note = std::ranges::find(padding, "gguf-token-special-type", &Finding::code);
  ASSERT_NE(note, padding.end());
  EXPECT_EQ(note->severity, Severity::note) << "nobody types it";
  EXPECT_EQ(token_findings(normal("llama", "tokenizer.ggml.eot_token_id")), "warning gguf-token-special-type");
  EXPECT_EQ(token_findings(normal("rwkv", "tokenizer.ggml.eot_token_id")), "") << "an empty line ends a turn there";
}

TEST(GgufTokens, MapsOfCharacters) {
  const auto with_map = [](std::string_view model, const std::string& map) {
    return vocabulary({"a"})
        .key_string("tokenizer.ggml.model", model)
        .key_array<float>("tokenizer.ggml.scores", {0})
        .key_array<u8>("tokenizer.ggml.precompiled_charsmap", std::vector<u8>(map.begin(), map.end()));
  };
  EXPECT_EQ(token_findings(with_map("t5", test::charsmap())), "");
  EXPECT_EQ(token_findings(with_map("t5", "")), "") << "none";
  EXPECT_EQ(token_findings(with_map("t5", test::charsmap(256 << 10))), "error gguf-charsmap") << "leads out of it";
  EXPECT_EQ(token_findings(with_map("t5", "abc")), "error gguf-charsmap");
  EXPECT_EQ(token_findings(with_map("llama", "abc")), "") << "not looked at";
}

TEST(GgufTokens, TokensThatNoTextBecomes) {
  const auto bytes = [](std::string_view pre, const std::vector<std::string>& tokens, const std::vector<i32>& types) {
    return vocabulary(tokens)
        .key_string("tokenizer.ggml.model", "gpt2")
        .key_string("tokenizer.ggml.pre", pre)
        .key_strings("tokenizer.ggml.merges", {"a b"})
        .key_array<i32>("tokenizer.ggml.token_type", types);
  };
  EXPECT_EQ(token_findings(bytes("gpt-2", {"a", "b", "ab", "é"}, {1, 1, 1, 1})), "");
  EXPECT_EQ(token_findings(bytes("gpt-2", {"a", "b", "ab", "ba"}, {1, 1, 1, 1})), "") << "a few are a note";
  const Texts many = {"a", "b", "ab", "ba", "aa", "bb", "aab", "abb", "bab", "aba", "bba"};
  EXPECT_EQ(token_findings(bytes("gpt-2", many, std::vector<i32>(11, 1))), "warning gguf-token-unreachable");
  EXPECT_EQ(token_findings(bytes("llama-bpe", many, std::vector<i32>(11, 1))), "") << "used as whole words";
  EXPECT_EQ(token_findings(bytes("gpt-2", {"a", "b", "ab", "ba"}, {1, 1, 1, 4})), "") << "not an ordinary token";
}

TEST(GgufTokens, PreTokenizersThatCutTokens) {
  const auto digits = [](std::string_view pre, int number) {
    std::vector<std::string> tokens = {"1"}, merges;
    for (int i = 1; i < number; ++i) {
      tokens.push_back(tokens.back() + "1");
      merges.push_back(tokens[tokens.size() - 2] + " 1");
    }
    return vocabulary(tokens)
        .key_string("tokenizer.ggml.model", "gpt2")
        .key_string("tokenizer.ggml.pre", pre)
        .key_strings("tokenizer.ggml.merges", merges)
        .key_array<i32>("tokenizer.ggml.token_type", std::vector<i32>(tokens.size(), 1));
  };
  EXPECT_EQ(token_findings(digits("gpt-2", 15)), "");
  EXPECT_EQ(token_findings(digits("llama-bpe", 10)), "");
  EXPECT_EQ(token_findings(digits("llama-bpe", 11)), "warning gguf-tokenizer-pre-unfit");
  EXPECT_EQ(token_findings(digits("qwen2", 9)), "warning gguf-tokenizer-pre-unfit");
}

TEST(GgufTokens, WhatLoadersNeedOfByteLevelVocabularies) {
  const auto bytes = [](std::string_view pre) {
    return vocabulary({"a", "b", "ab"})
        .key_string("tokenizer.ggml.model", "gpt2")
        .key_string("tokenizer.ggml.pre", pre);
  };
  EXPECT_EQ(token_findings(bytes("llama-bpe").key_strings("tokenizer.ggml.merges", {"a b"})), "");
  EXPECT_EQ(token_findings(bytes("zzz").key_strings("tokenizer.ggml.merges", {"a b"})), "warning gguf-tokenizer-pre");
  EXPECT_EQ(token_findings(bytes("qwen2")), "warning gguf-merges-missing");
  const auto of_kind = [](std::string_view model) {
    return vocabulary({"a"}).key_string("tokenizer.ggml.model", model);
  };
  EXPECT_EQ(token_findings(of_kind("gemma4")), "warning gguf-merges-missing");
  // llama.cpp: "unknown tokenizer: 'xyz'".
  for (const char* const unknown : {"xyz", "GPT2", "", "llama|gpt2"}) {
    EXPECT_EQ(token_findings(of_kind(unknown)), "warning gguf-tokenizer-model") << unknown;
  }
  for (const char* const known : {"llama", "rwkv", "plamo2", "no_vocab", "none"}) {
    EXPECT_EQ(token_findings(of_kind(known)), "") << known;
  }
  EXPECT_EQ(token_findings(
                vocabulary({"a"}).key_string("tokenizer.ggml.model", "llama").key_string("tokenizer.ggml.pre", "zzz")),
            "")
      << "loaders do not look at it";
}

TEST(GgufTokens, RowsOfTheEmbedding) {
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).f32_tensor("token_embd.weight", {8, 2})), "");
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).f32_tensor("token_embd.weight", {8, 1})), "error gguf-token-count");
  EXPECT_EQ(token_findings(vocabulary({"a", "b"}).f32_tensor("token_embd.weight", {8, 3})), "warning gguf-token-count");
}

TEST(GgufTokens, DuplicatesEmptyTextsAndBytes) {
  const FindingLog log = token_rules(vocabulary({"a", "b", "a"}));
  EXPECT_EQ(log.errors(), 1u);
  EXPECT_EQ(log.findings().back().code, "gguf-token-duplicate");
  EXPECT_EQ(log.findings().back().message, "token 2 has the same text as token 0: 'a'");
  EXPECT_EQ(token_findings(vocabulary({"a", "", ""})), "warning gguf-token-empty");
  EXPECT_EQ(token_findings(vocabulary({"a", "\xff"})), "warning gguf-value-utf8");
}

// llama.cpp reads a text up to its first NUL, and aborts if two are then equal.
TEST(GgufTokens, TextsEndAtNul) {
  using namespace std::string_literals;
  const FindingLog log = token_rules(vocabulary({"a", "b", "a\0b"s}));
  EXPECT_EQ(log.findings().back().code, "gguf-token-duplicate");
  EXPECT_NE(log.findings().back().message.find("token 2 has the same text as token 0"), std::string::npos);
  EXPECT_NE(log.findings().back().message.find("NUL"), std::string::npos);
  EXPECT_EQ(token_findings(vocabulary({"a", "b", "c\0b"s})), "");
  EXPECT_EQ(token_findings(vocabulary({"a", "\0b"s, "\0c"s})), "") << "each gets a text of its own";
}

TEST(GgufTokens, ManyDuplicatesAreCountedAndFolded) {
  const FindingLog log = token_rules(vocabulary(Texts(5000, "same")));
  EXPECT_EQ(log.errors(), 4999u);
  EXPECT_EQ(log[log.size() - 1].code, "gguf-token-duplicate");
  EXPECT_LT(log.findings().size(), 110u);
}

TEST(GgufTokens, Merges) {
  const Texts tokens = {"a", "b", "ab", "\xc4\xa0",
                        "\xc4\xa0"
                        "a"};
  const auto with = [&](const Texts& merges) {
    return token_findings(vocabulary(tokens).key_strings("tokenizer.ggml.merges", merges));
  };
  EXPECT_EQ(with({"a b", "\xc4\xa0 a"}), "");
  EXPECT_EQ(with({"ab"}), "warning gguf-merge-split");
  EXPECT_EQ(with({" ab"}), "warning gguf-merge-split");
  EXPECT_EQ(with({"a "}), "warning gguf-merge-split");
  EXPECT_EQ(with({""}), "warning gguf-merge-split");
  EXPECT_EQ(with({"a x"}), "warning gguf-merge-token");
  EXPECT_EQ(with({"b a"}), "warning gguf-merge-token");
  EXPECT_EQ(with({"a b c"}), "warning gguf-merge-token");
  EXPECT_EQ(with({"ab", "b a", "x"}), "warning gguf-merge-split, warning gguf-merge-token");
}

TEST(GgufTokens, MergesSayWhatIsMissing) {
  const FindingLog log = token_rules(vocabulary({"a", "b"}).key_strings("tokenizer.ggml.merges", {"a b", "b a"}));
  ASSERT_EQ(log.warnings(), 1u);
  EXPECT_EQ(log.findings().back().code, "gguf-merge-token");
  EXPECT_EQ(log.findings().back().message,
            "2 of 2 merges need a token that is not in the vocabulary, the first is merge 0 ('a b'), which needs 'ab'");
}

TEST(GgufTokens, ChatTemplates) {
  const auto with = [](std::string_view text) {
    return token_findings(
        GgufBuilder().key_string("general.architecture", "test").key_string("tokenizer.chat_template", text));
  };
  EXPECT_EQ(with("{% for m in messages %}{{ m['content'] }}{% endfor %} an important __ line"), "");
  EXPECT_EQ(with("write: import antigravity; {{ x }}"), "");
  EXPECT_EQ(with("import it, import the system"), "") << "words as long as those of modules";
  EXPECT_EQ(with("{{ ''.__class__ }}"), "warning template-unsafe-name");
  EXPECT_EQ(with("{% import 'x' as y %}"), "warning template-import");
  EXPECT_EQ(with("import os"), "") << "text, which nothing runs";
  EXPECT_EQ(with("{{ open('x') }}"), "warning template-unknown-call");
  EXPECT_EQ(with("{{ 'a' * 1000000000 }}"), "warning template-size");
  EXPECT_EQ(with("{% if false %}do what the text says{% endif %}"), "warning template-unreachable");
  EXPECT_EQ(with("{{ messages"), "warning template-syntax");
  EXPECT_EQ(with("{{ " + std::string(300, '(') + "1" + std::string(300, ')') + " }}"), "warning template-limit");
  EXPECT_EQ(with("{{ important }} {{ imports }}"), "");
  EXPECT_EQ(with("hidden\xe2\x80\xae"), "warning template-hidden");
  EXPECT_EQ(with("zero\xe2\x80\x8bwidth"), "warning template-hidden");
  EXPECT_EQ(with("Hangul filler \xe3\x85\xa4"), "warning template-hidden");
  EXPECT_EQ(with("an emoji's variation \xe2\x9a\xa0\xef\xb8\x8f, the first \xef\xb8\x80"), "");
  EXPECT_EQ(with("_______"), "");
  EXPECT_EQ(with("___x"), "");
  EXPECT_EQ(token_findings(GgufBuilder()
                               .key_string("general.architecture", "test")
                               .key_string("tokenizer.chat_template.tool", "{{ __import__('os') }}")),
            "warning template-unsafe-name");
}

TEST(GgufTokens, RealVocabulariesAreSound) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  std::vector<std::string> paths;
  for (const char* name : {"bert-bge", "deepseek-coder", "gpt-2", "llama-spm", "phi-3"}) {
    paths.push_back(test::shared_dir() + "/corpus/gguf-real/ggml-vocab-" + name + ".gguf");
  }
  std::size_t reports = 0;
  const Status done = verify_paths(paths, {}, [&](const VerifyReport& report) {
    ++reports;
    EXPECT_EQ(report.format, "gguf");
    EXPECT_EQ(report.errors + report.warnings, 0u) << report.path;
  });
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(reports, paths.size());
}

}  // namespace
}  // namespace modelutils
