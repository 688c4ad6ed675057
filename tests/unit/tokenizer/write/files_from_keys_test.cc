// Tokenizer keys of small GGUF files, and the expected files.
#include "tokenizer/write/files_from_keys.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/escape.h"
#include "formats/gguf/parse.h"
#include "json/reader.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "support/tokenizer_builder.h"
#include "tokenizer/read/pipeline.h"

namespace modelutils {
namespace {

using test::GgufBuilder;
using tokenizer::RebuiltKind;
using tokenizer::RebuiltTokenizer;

gguf::SplitSet set_of(const GgufBuilder& builder) {
  gguf::SplitSet set;
  const auto source = builder.source();
  set.files.push_back({"m.gguf", source, *gguf::parse(*source)});
  return set;
}

Result<RebuiltTokenizer> rebuild(const GgufBuilder& builder, const std::string& pre = {}) {
  return tokenizer::tokenizer_files_from_keys(set_of(builder), {pre});
}

std::string code_of(const GgufBuilder& builder, const std::string& pre = {}) {
  const auto rebuilt = rebuild(builder, pre);
  return rebuilt ? "none" : rebuilt.error().code;
}

std::string file(const RebuiltTokenizer& tokenizer, std::string_view name) {
  std::string text;
  tokenizer.write_file(name, [&](std::string_view piece) { text += piece; });
  return text;
}

// a, b, ab, <|end|>; the last is a control token.
GgufBuilder byte_bpe() {
  return GgufBuilder()
      .key_string("general.architecture", "llama")
      .key_string("tokenizer.ggml.model", "gpt2")
      .key_string("tokenizer.ggml.pre", "gpt-2")
      .key_strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<|end|>"})
      .key_array<i32>("tokenizer.ggml.token_type", {1, 1, 1, 3})
      .key_strings("tokenizer.ggml.merges", {"a b", "b zz"})
      .key_u32("tokenizer.ggml.eos_token_id", 3);
}

TEST(TokenizerFromKeys, ByteLevelBpe) {
  const auto rebuilt = rebuild(byte_bpe());
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(file(*rebuilt, "tokenizer.json"),
            R"({"version":"1.0","truncation":null,"padding":null,)"
            R"("added_tokens":[{"id":3,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,)"
            R"("normalized":false,"special":true}],"normalizer":null,)"
            R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},)"
            R"("post_processor":null,)"
            R"("decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},)"
            R"("model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
            R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,)"
            R"("vocab":{"a":0,"b":1,"ab":2,"<|end|>":3},"merges":[["a","b"]]}})"
            "\n");
  ASSERT_EQ(rebuilt->findings.size(), 1u);
  EXPECT_EQ(rebuilt->findings.front().code, "tok-merge-absent");
  EXPECT_EQ(rebuilt->file_names(),
            (std::vector<std::string_view>{"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}));
  EXPECT_EQ(file(*rebuilt, "special_tokens_map.json"), "{\n  \"eos_token\": \"<|end|>\"\n}\n");
}

// For this pre-tokenizer, the loader adds a BOS and takes whole words as they are.
TEST(TokenizerFromKeys, APreTokenizerImpliesMore) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("general.architecture", "llama")
                                   .key_string("tokenizer.ggml.model", "gpt2")
                                   .key_string("tokenizer.ggml.pre", "llama3")
                                   .key_strings("tokenizer.ggml.tokens", {"a", "<s>"})
                                   .key_array<i32>("tokenizer.ggml.token_type", {1, 3})
                                   .key_u32("tokenizer.ggml.bos_token_id", 1));
  ASSERT_TRUE(rebuilt);
  EXPECT_TRUE(rebuilt->ignore_merges);
  EXPECT_TRUE(rebuilt->add_bos);
  ASSERT_NE(rebuilt->pre, nullptr);
  EXPECT_EQ(rebuilt->pre->pre, "llama-bpe");
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(text.find(R"("post_processor":{"type":"TemplateProcessing",)"
                      R"("single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
                      R"("pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
                      R"({"SpecialToken":{"id":"<s>","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],)"
                      R"("special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}})"),
            std::string::npos)
      << text;
}

// No key tells which vocabularies were made for NFC; six of Qwen's tokens of this form are not special.
TEST(TokenizerFromKeys, QwensVocabulariesInAnyModel) {
  const auto of = [](const char* architecture, const char* pre) {
    const auto rebuilt = rebuild(GgufBuilder()
                                     .key_string("general.architecture", architecture)
                                     .key_string("tokenizer.ggml.model", "gpt2")
                                     .key_string("tokenizer.ggml.pre", pre)
                                     .key_strings("tokenizer.ggml.tokens", {"a", "<|fim_prefix|>", "<|im_end|>"})
                                     .key_array<i32>("tokenizer.ggml.token_type", {1, 3, 3})
                                     .key_u32("tokenizer.ggml.unknown_token_id", 2));
    return rebuilt ? file(*rebuilt, "tokenizer.json") + file(*rebuilt, "tokenizer_config.json")
                   : rebuilt.error().message;
  };
  const std::string shown = R"("content":"<|fim_prefix|>","single_word":false,"lstrip":false,"rstrip":false,)"
                            R"("normalized":false,"special":false)";
  const std::string nfc = R"("normalizer":{"type":"NFC"})";
  const std::string mellum = of("mellum", "qwen2");
  EXPECT_NE(mellum.find(nfc), mellum.npos) << mellum;
  EXPECT_NE(mellum.find(shown), mellum.npos);
  EXPECT_NE(
      mellum.find(R"("content":"<|im_end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
                  R"("special":true)"),
      mellum.npos);
  EXPECT_NE(mellum.find(R"("unk_token": "<|im_end|>")"), mellum.npos);
  const std::string llama3 = of("gptneox", "llama-bpe");
  EXPECT_EQ(llama3.find(nfc), llama3.npos) << llama3;
  EXPECT_EQ(llama3.find(shown), llama3.npos);
  EXPECT_NE(of("gptneox", "gpt-2").find(nfc), std::string::npos);
}

// Every name in the table is recognised again, or as an equivalent split.
TEST(TokenizerFromKeys, EveryPreTokenizerIsRecognisedAgain) {
  test::TempDir folder;
  std::size_t names = 0;
  for (const tokenizer::PreRow& row : tokenizer::pre_table()) {
    const auto rebuilt = rebuild(byte_bpe(), std::string(row.pre));
    ASSERT_TRUE(rebuilt) << row.pre;
    folder.write("t.json", file(*rebuilt, "tokenizer.json"));
    const auto document = json::load(folder.file("t.json"));
    ASSERT_TRUE(document) << row.pre;
    tokenizer::PreFacts facts;
    facts.ignore_merges = rebuilt->ignore_merges;
    facts.clean_spaces = rebuilt->clean_up_spaces;
    const auto found = tokenizer::recognise_pre(tokenizer::pre_signature((*document)->root), facts);
    ASSERT_TRUE(found) << row.pre << ": " << found.error().message;
    const std::string_view first = tokenizer::find_pre_row(row.pre)->pre;
    EXPECT_EQ(tokenizer::signature_text((*found)->signature),
              tokenizer::signature_text(tokenizer::find_pre_row(first)->signature))
        << row.pre;
    ++names;
  }
  EXPECT_GT(names, 30u);
}

TEST(TokenizerFromKeys, ArchitectureAndNameDecideMore) {
  const auto qwen = rebuild(GgufBuilder()
                                .key_string("general.architecture", "qwen2")
                                .key_string("tokenizer.ggml.model", "gpt2")
                                .key_string("tokenizer.ggml.pre", "qwen2")
                                .key_strings("tokenizer.ggml.tokens", {"a"}));
  ASSERT_TRUE(qwen);
  EXPECT_NE(file(*qwen, "tokenizer.json").find(R"("normalizer":{"type":"NFC"})"), std::string::npos);
  const auto phi = rebuild(byte_bpe().key_string("general.name", "My Phi-3 mini"));
  ASSERT_TRUE(phi);
  EXPECT_NE(file(*phi, "tokenizer.json").find(R"("lstrip":false,"rstrip":true)"), std::string::npos);
}

TEST(TokenizerFromKeys, WithoutAPreTokenizerTextIsSplitAsTheRuntimeDoes) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "gpt2")
                                   .key_strings("tokenizer.ggml.tokens", {"a", "[PAD1]"})
                                   .key_array<i32>("tokenizer.ggml.token_type", {1, 5}));
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->tokens, std::vector<std::string>{"a"});  // padding may be dropped
  ASSERT_EQ(rebuilt->findings.size(), 1u);
  EXPECT_EQ(rebuilt->findings.front().code, "tok-pre-default");
  EXPECT_NE(file(*rebuilt, "tokenizer.json")
                .find(R"({"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false})"),
            std::string::npos);
}

// ab has two splits: scores decide, then the longer left part.
TEST(TokenizerFromKeys, SentencePieceMergesAreRebuilt) {
  const auto rebuilt = rebuild(
      GgufBuilder()
          .key_string("tokenizer.ggml.model", "llama")
          .key_strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x41>", "a", "é", "aé", "aéa", "éa", "x  y"})
          .key_array<i32>("tokenizer.ggml.token_type", {2, 3, 3, 6, 1, 1, 1, 1, 1, 4})
          .key_array<float>("tokenizer.ggml.scores", {0, 0, 0, 0, -9, -9, -2, -3, -2, -1000}));
  ASSERT_TRUE(rebuilt);
  std::vector<std::pair<u32, u32>> merges;
  for (const tokenizer::RebuiltMerge& merge : rebuilt->merges) merges.emplace_back(merge.left, merge.right);
  const std::vector<std::pair<u32, u32>> expected = {{4, 5}, {5, 4}, {6, 4}, {4, 8}};
  EXPECT_EQ(merges, expected);
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(text.find(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
                      R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("decoder":{"type":"Sequence","decoders":[)"
                      R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},)"
                      R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("unk_token":"<unk>",)"), std::string::npos);
  EXPECT_NE(text.find(R"("fuse_unk":true,"byte_fallback":true)"), std::string::npos);
  EXPECT_NE(text.find(R"({"id":9,"content":"x  y","single_word":false,"lstrip":false,"rstrip":false,)"
                      R"("normalized":false,"special":false})"),
            std::string::npos);
  EXPECT_TRUE(rebuilt->add_bos);  // the loader's default
  EXPECT_EQ(rebuilt->special.eos, 2u);
}

// NaN has no order, but the file must be valid JSON.
TEST(TokenizerFromKeys, ScoresThatAreNoNumbersComeLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "llama")
                                   .key_strings("tokenizer.ggml.tokens", {"a", "b", "ab", "ba"})
                                   .key_array<float>("tokenizer.ggml.scores", {0, 0, nan, -1}));
  ASSERT_TRUE(rebuilt);
  ASSERT_EQ(rebuilt->merges.size(), 2u);
  EXPECT_EQ(rebuilt->merges[0].left, 1u);  // "ba"
  EXPECT_EQ(rebuilt->scores[2], std::numeric_limits<float>::lowest());
}

TEST(TokenizerFromKeys, EqualScoresAreToldOf) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "llama")
                                   .key_strings("tokenizer.ggml.tokens", {"<unk>", "a", "b", "ab"})
                                   .key_array<float>("tokenizer.ggml.scores", {0, -1, -1, -1})
                                   .key_array<i32>("tokenizer.ggml.token_type", {2, 1, 1, 1}));
  ASSERT_TRUE(rebuilt);
  ASSERT_EQ(rebuilt->findings.size(), 1u);
  EXPECT_EQ(rebuilt->findings.front().code, "tok-scores");
}

TEST(TokenizerFromKeys, WithoutASpaceInFrontNothingIsStripped) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "llama")
                                   .key_strings("tokenizer.ggml.tokens", {"<unk>", std::string(300, 'x')})
                                   .key_array<float>("tokenizer.ggml.scores", {0, -1})
                                   .key_bool("tokenizer.ggml.add_space_prefix", 0)
                                   .key_bool("tokenizer.ggml.add_bos_token", 0));
  ASSERT_TRUE(rebuilt);
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(text.find(R"("normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"})"), std::string::npos);
  EXPECT_EQ(text.find("Strip"), std::string::npos);
  EXPECT_NE(text.find(R"("post_processor":null)"), std::string::npos);
  ASSERT_EQ(rebuilt->findings.size(), 1u);
  EXPECT_EQ(rebuilt->findings.front().code, "tok-long-token");
}

std::vector<u8> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(TokenizerFromKeys, Unigram) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "t5")
                                   .key_strings("tokenizer.ggml.tokens", {"<pad>", "</s>", "<unk>", "▁a"})
                                   .key_array<i32>("tokenizer.ggml.token_type", {3, 3, 2, 1})
                                   .key_array<float>("tokenizer.ggml.scores", {0, 0, 0, -1.5f})
                                   .key_bool("tokenizer.ggml.remove_extra_whitespaces", 1)
                                   .key_bool("tokenizer.ggml.add_space_prefix", 0)
                                   .key_array<u8>("tokenizer.ggml.precompiled_charsmap", bytes_of(test::charsmap())));
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->kind, RebuiltKind::unigram);
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(
      text.find(R"("model":{"type":"Unigram","unk_id":2,"vocab":[["<pad>",0],["</s>",0],["<unk>",0],["▁a",-1.5]],)"
                R"("byte_fallback":false})"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"type":"Precompiled","precompiled_charsmap":")" + base64(test::charsmap()) + "\"}"),
            std::string::npos);
  EXPECT_NE(text.find(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})"), std::string::npos);
  EXPECT_NE(text.find(R"({"type":"Prepend","prepend":"▁"})"), std::string::npos) << "merging puts one there";
  ASSERT_EQ(rebuilt->findings.size(), 1u);
  EXPECT_EQ(rebuilt->findings.front().code, "tok-charsmap-differs");
  // The loader adds the end by default, but not the beginning.
  EXPECT_NE(text.find(R"("single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}])"),
            std::string::npos);
}

TEST(TokenizerFromKeys, WordPiece) {
  const auto rebuilt =
      rebuild(GgufBuilder()
                  .key_string("tokenizer.ggml.model", "bert")
                  .key_strings("tokenizer.ggml.tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "[unused0]"})
                  .key_array<i32>("tokenizer.ggml.token_type", {3, 3, 3, 3, 1, 1, 5})
                  .key_u32("tokenizer.ggml.unknown_token_id", 1)
                  .key_u32("tokenizer.ggml.cls_token_id", 2)
                  .key_u32("tokenizer.ggml.seperator_token_id", 3));
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->tokens, (std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "[unused0]"}));
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(text.find(R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
                      R"("max_input_chars_per_word":100,)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
                      R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
                      R"({"SpecialToken":{"id":"[SEP]","type_id":1}}])"),
            std::string::npos);
  EXPECT_NE(text.find(R"("pre_tokenizer":{"type":"BertPreTokenizer"})"), std::string::npos);
}

TEST(TokenizerFromKeys, BpeOfSpacedTexts) {
  const auto rebuilt = rebuild(GgufBuilder()
                                   .key_string("tokenizer.ggml.model", "gemma4")
                                   .key_strings("tokenizer.ggml.tokens", {"<unk>", "▁", "a", "▁a"})
                                   .key_strings("tokenizer.ggml.merges", {"▁ a"})
                                   .key_u32("tokenizer.ggml.unknown_token_id", 0));
  ASSERT_TRUE(rebuilt);
  const std::string text = file(*rebuilt, "tokenizer.json");
  EXPECT_NE(text.find(R"("byte_fallback":true,"ignore_merges":false,)"), std::string::npos);
  EXPECT_NE(text.find(R"("merges":[["▁","a"]])"), std::string::npos);
}

TEST(TokenizerFromKeys, Templates) {
  const auto one =
      rebuild(byte_bpe().key_string("tokenizer.chat_template", "{{ x }}\n").key_u32("llama.context_length", 32));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->file_names().back(), "chat_template.jinja");
  EXPECT_EQ(file(*one, "chat_template.jinja"), "{{ x }}\n");
  EXPECT_EQ(file(*one, "tokenizer_config.json"),
            "{\n"
            "  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
            "  \"eos_token\": \"<|end|>\",\n"
            "  \"add_bos_token\": false,\n"
            "  \"add_eos_token\": false,\n"
            "  \"clean_up_tokenization_spaces\": false,\n"
            "  \"model_max_length\": 32,\n"
            "  \"chat_template\": \"{{ x }}\\n\"\n"
            "}\n");
  const auto two = rebuild(byte_bpe()
                               .key_string("tokenizer.chat_template", "d")
                               .key_strings("tokenizer.chat_templates", {"tool_use", "absent"})
                               .key_string("tokenizer.chat_template.tool_use", "t"));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->file_names().size(), 3u);
  EXPECT_NE(file(*two, "tokenizer_config.json").find("\"name\": \"default\",\n      \"template\": \"d\""),
            std::string::npos)
      << file(*two, "tokenizer_config.json");
  EXPECT_EQ(two->templates.named.size(), 1u);
}

TEST(TokenizerFromKeys, WhatCannotBeRebuiltIsRefused) {
  const auto model = [](const char* name) {
    return GgufBuilder().key_string("tokenizer.ggml.model", name).key_strings("tokenizer.ggml.tokens", {"a"});
  };
  EXPECT_EQ(code_of(GgufBuilder()), "tok-missing");
  EXPECT_EQ(code_of(GgufBuilder().key_string("tokenizer.ggml.model", "gpt2")), "tok-missing");
  for (const char* name : {"plamo2", "rwkv", "none", "no_vocab"}) EXPECT_EQ(code_of(model(name)), "tok-model") << name;
  EXPECT_NE(rebuild(model("plamo2")).error().message.find("'plamo2'"), std::string::npos);
  EXPECT_EQ(code_of(model("gpt2").key_string("tokenizer.ggml.pre", "whitespace")), "tok-pre");
  EXPECT_EQ(code_of(model("gpt2"), "whitespace"), "usage");
  EXPECT_EQ(code_of(model("llama")), "tok-keys");  // without scores
  EXPECT_EQ(code_of(model("gpt2").key_array<i32>("tokenizer.ggml.token_type", {})), "tok-keys");
  EXPECT_EQ(code_of(model("gpt2").key_array<i32>("tokenizer.ggml.merges", {1})), "tok-keys");
  const auto unigram = [&] { return model("t5").key_array<float>("tokenizer.ggml.scores", {0}); };
  constexpr const char* charsmap = "tokenizer.ggml.precompiled_charsmap";
  EXPECT_EQ(code_of(unigram()), "none");
  EXPECT_EQ(code_of(unigram().key_array<i32>(charsmap, {1})), "tok-charsmap");
  EXPECT_EQ(code_of(unigram().key_array<u8>(charsmap, {1, 2, 3})), "tok-charsmap");
  EXPECT_EQ(code_of(unigram().key_array<u8>(charsmap, bytes_of(test::charsmap(256 << 10)))), "tok-charsmap");
  EXPECT_EQ(code_of(model("gpt2").key_array<u8>(charsmap, {1, 2, 3})), "none") << "nobody looks at it";
  const auto tokens = [](const std::vector<std::string>& texts) {
    return GgufBuilder().key_string("tokenizer.ggml.model", "gpt2").key_strings("tokenizer.ggml.tokens", texts);
  };
  EXPECT_EQ(code_of(tokens({"a", "a"})), "tok-text");
  EXPECT_EQ(code_of(tokens({"\xff"})), "tok-text");
  EXPECT_EQ(code_of(byte_bpe().key_string("tokenizer.chat_template", "\xff")), "tok-text");
  EXPECT_EQ(
      code_of(GgufBuilder().key_string("tokenizer.ggml.model", "gpt2").key_array<i32>("tokenizer.ggml.tokens", {1})),
      "tok-keys");
}

}  // namespace
}  // namespace modelutils
