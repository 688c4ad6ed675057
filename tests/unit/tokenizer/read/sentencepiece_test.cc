#include <gtest/gtest.h>

#include <limits>

#include "support/tokenizer_builder.h"
#include "tokenizer/read/build.h"
#include "tokenizer_fixture.h"

namespace modelutils {

namespace {

using test::piece_message;
using test::ProtoBuilder;

std::string code_of(std::string_view bytes) {
  const auto model = tokenizer::parse_sentencepiece(bytes);
  return model ? "read" : model.error().code;
}

TEST(SentencePiece, ReadsPiecesInOrder) {
  const std::string bytes = test::sentencepiece_file({{"<unk>", 0, 2}, {"<s>", 0, 3}, {"\u2581a", -1.5F, 1}});
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 3U);
  EXPECT_EQ(model->pieces[0].type, 2);
  EXPECT_EQ(model->pieces[2].text, "\u2581a");
  EXPECT_EQ(model->pieces[2].score, -1.5F);
  EXPECT_EQ(model->pieces[2].type, 1);
  EXPECT_EQ(model->model_type, 2);
  EXPECT_TRUE(model->byte_fallback);
  EXPECT_EQ(model->pad_id, -1);
  EXPECT_FALSE(model->remove_extra_whitespaces);
}

TEST(SentencePiece, DefaultsAreTheFormats) {
  const std::string bytes = ProtoBuilder().bytes(1, piece_message("a", 0)).text();
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->model_type, 1);
  EXPECT_EQ(model->unk_id, 0);
  EXPECT_EQ(model->bos_id, 1);
  EXPECT_EQ(model->eos_id, 2);
  EXPECT_EQ(model->pad_id, -1);
  EXPECT_TRUE(model->add_dummy_prefix);
  EXPECT_TRUE(model->remove_extra_whitespaces);
  EXPECT_TRUE(model->escape_whitespaces);
  EXPECT_FALSE(model->byte_fallback);
}

TEST(SentencePiece, OrderAndUnknownFieldsDoNotMatter) {
  const std::string piece =
      ProtoBuilder().fixed64(9, 7).varint(3, 6).number(2, 2).varint(77, 5).bytes(1, "<0x00>").text();
  const std::string trainer = ProtoBuilder()
                                  .varint(40, 5)
                                  .varint(41, 6)
                                  .varint(42, 7)
                                  .varint(43, 8)
                                  .varint(24, 1)
                                  .varint(3, 1)
                                  .number(9, 0.5F)
                                  .bytes(45, "<unk>")
                                  .text();
  const std::string bytes = ProtoBuilder()
                                .bytes(2, trainer)
                                .fixed32(100, 1)
                                .bytes(1, piece)
                                .varint(1, 3)  // a known field number with the wrong wire type is unknown
                                .bytes(3, ProtoBuilder().varint(3, 0).varint(5, 0).text())
                                .text();
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 1U);
  EXPECT_EQ(model->pieces[0].text, "<0x00>");
  EXPECT_EQ(model->pieces[0].type, 6);
  EXPECT_EQ(model->unk_id, 5);
  EXPECT_EQ(model->bos_id, 6);
  EXPECT_EQ(model->eos_id, 7);
  EXPECT_EQ(model->pad_id, 8);
  EXPECT_TRUE(model->treat_whitespace_as_suffix);
  EXPECT_FALSE(model->add_dummy_prefix);
  EXPECT_FALSE(model->escape_whitespaces);
}

TEST(SentencePiece, RefusesWhatIsBroken) {
  const std::string code = "hf-tok-sentencepiece";
  const std::string good = test::sentencepiece_file({{"a", 0, 1}});
  EXPECT_EQ(code_of(good), "read");
  EXPECT_EQ(code_of(""), code);
  EXPECT_EQ(code_of("IQ== 0\nIg== 1\n"), code);
  EXPECT_EQ(code_of(ProtoBuilder().bytes(2, "").text()), code) << "no pieces";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("\xff", 0)).text()), code) << "not UTF-8";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("a", 0, 7)).text()), code) << "type 7";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("a", std::numeric_limits<float>::quiet_NaN())).text()), code);
  EXPECT_EQ(code_of(test::sentencepiece_file({{"a", 0, 1}}, 3)), code) << "model type WORD";
  EXPECT_EQ(code_of(ProtoBuilder().raw("\x0b").text()), code) << "a group";
  EXPECT_EQ(code_of(ProtoBuilder().raw("\x02\x01x").text()), code) << "field number 0";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)), code) << "a huge length";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)), code) << "more than 64 bits";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13)), code) << "no end";
}

TEST(SentencePiece, EveryCutIsAnErrorOrFewerPieces) {
  const std::string good = test::sentencepiece_file({{"<unk>", 0, 2}, {"abc", -1, 1}, {"de", -2, 4}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto model = tokenizer::parse_sentencepiece(std::string_view(good).substr(0, size));
    if (model) {
      EXPECT_LE(model->pieces.size(), 3U);
    } else {
      EXPECT_EQ(model.error().code, "hf-tok-sentencepiece");
      EXPECT_TRUE(model.error().offset);
      EXPECT_LE(*model.error().offset, size);
    }
  }
}

}  // namespace

// SentencePiece-like tokenizers in tokenizer.json and tokenizer.model.

namespace {

using test::find_code;
using test::number;
using test::SpmPiece;
using test::TokenizerJson;
using tokenizer::TokenType;

class Spm : public test::TokenizerFolder {
 protected:
  // Ids: 259 ▁, 260 a, 261 b, 262 c, 263 ab, 264 ▁a, 265 ▁ab, 266 zz (no merge).
  static TokenizerJson small() {
    TokenizerJson json = TokenizerJson::sentencepiece_like("\u2581abc");
    json.merge("a", "b").merge("\u2581", "a").merge("\u2581a", "b");
    json.merges.emplace_back("\u2581", "ab");
    json.normalizer_json =
        R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
    json.added = {{0, "<unk>", true}, {1, "<s>", true}, {2, "</s>", true}};
    return json;
  }
  static std::vector<SpmPiece> pieces() {
    std::vector<SpmPiece> pieces;
    for (const auto& [text, id] : small().vocab) {
      const i32 type = id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1;
      pieces.push_back({text, id < 259 ? 0.0F : -static_cast<float>(id), type});
    }
    return pieces;
  }
};

TEST_F(Spm, EqualScoresAreToldOf) {
  std::vector<SpmPiece> flat = pieces();
  for (SpmPiece& piece : flat) piece.score = -7;
  dir.write("tokenizer.model", test::sentencepiece_file(flat));
  const u64 rows = flat.size();
  const tokenizer::Tokenizer tokenizer = read(rows);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-scores"), nullptr);
  EXPECT_NE(find_code(tokenizer::check_tokenizer(dir.path(), rows), "hf-tok-scores"), nullptr);
  dir.write("tokenizer.model", test::sentencepiece_file(pieces()));
  EXPECT_EQ(find_code(read(rows).findings, "hf-tok-scores"), nullptr);
  EXPECT_EQ(find_code(tokenizer::check_tokenizer(dir.path(), rows), "hf-tok-scores"), nullptr);
}

TEST_F(Spm, ScoresAreTheOrderOfTheMerges) {
  TokenizerJson json = small();
  json.word("zz");
  const tokenizer::Tokenizer tokenizer = read(json, 269);
  EXPECT_EQ(tokenizer.kind, tokenizer::TokenizerKind::llama);
  EXPECT_EQ(tokenizer.pre, "default");
  EXPECT_EQ(tokenizer.scores[263], 0.0F);
  EXPECT_EQ(tokenizer.scores[264], -1.0F);
  EXPECT_EQ(tokenizer.scores[265], -2.0F) << "the first merge that gives it counts";
  EXPECT_EQ(tokenizer.scores[259], -4.0F) << "never merged";
  EXPECT_EQ(tokenizer.scores[266], -4.0F);
  EXPECT_EQ(tokenizer.scores[3], 0.0F);
  EXPECT_EQ(tokenizer.types[3], number(TokenType::byte));
  EXPECT_EQ(tokenizer.types[1], number(TokenType::control));
  EXPECT_EQ(tokenizer.scores[1], -1000.0F) << "added tokens";
  EXPECT_EQ(tokenizer.types[0], number(TokenType::control));
  EXPECT_EQ(tokenizer.tokens[268], "[PAD268]");
  EXPECT_EQ(tokenizer.types[268], number(TokenType::unused));
  EXPECT_EQ(tokenizer.scores[268], -10000.0F);
  EXPECT_EQ(tokenizer.special.unk, 0U) << "from model.unk_token";
  EXPECT_EQ(tokenizer.add_space_prefix, true);
  EXPECT_FALSE(tokenizer.add_bos) << "the loader's default holds";
  EXPECT_TRUE(tokenizer.merges.empty());
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-around ") << "which puts a bos before texts";
}

// Yi-1.5: every user-defined SentencePiece piece is an added token, including runs of U+2581. Hugging Face's tokenizers
// search for those in the raw text, where they do not occur; the vocabulary's merges produce them.
TEST_F(Spm, AddedTokensForRunsOfSpacesAreLeftToMerging) {
  TokenizerJson json = small();
  json.merge("\u2581", "\u2581");
  json.added.push_back({260, "a", false});
  json.added.push_back({266, "\u2581\u2581", false});
  const tokenizer::Tokenizer tokenizer = read(json, 267);
  EXPECT_EQ(tokenizer.tokens[266], "\u2581\u2581");
  EXPECT_EQ(tokenizer.types[266], number(TokenType::normal));
  EXPECT_EQ(tokenizer.scores[266], -4.0F) << "the rank of its merge";
  EXPECT_EQ(tokenizer.types[260], number(TokenType::user_defined));
  ASSERT_NE(find_code(tokenizer.findings, "hf-tok-space-mark"), nullptr);
  EXPECT_EQ(find_code(tokenizer.findings, "hf-tok-space-mark")->severity, Severity::note);

  json.added.back().normalized = true;  // searched for in the normalised text, where runs of spaces are runs of U+2581
  const tokenizer::Tokenizer normalised = read(json, 267);
  EXPECT_EQ(normalised.tokens[266], "  ");
  EXPECT_EQ(normalised.types[266], number(TokenType::user_defined));
  EXPECT_EQ(find_code(normalised.findings, "hf-tok-space-mark"), nullptr);
}

TEST_F(Spm, UnknownTokenThatIsNotAdded) {
  TokenizerJson json = small();
  json.added.erase(json.added.begin());
  const tokenizer::Tokenizer tokenizer = read(json, 266);
  EXPECT_EQ(tokenizer.types[0], number(TokenType::unknown));
  EXPECT_EQ(tokenizer.scores[0], 0.0F);
}

TEST_F(Spm, AllByteTokensMakeItSpmWithoutByteFallback) {
  TokenizerJson json = small();
  json.byte_fallback = false;
  EXPECT_EQ(read(json, 266).kind, tokenizer::TokenizerKind::llama);
  json.vocab.erase(json.vocab.begin() + 10);
  EXPECT_EQ(error(json, 266).code, "hf-tok-kind");
  json.byte_fallback = true;
  const tokenizer::Tokenizer tokenizer = read(json, 266);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-bytes")->message.find("<0x07>"), std::string::npos);
}

TEST_F(Spm, TrainedBpeIsWarnedOf) {
  TokenizerJson json = small();
  json.merges.pop_back();  // ▁ + ab is possible, but not listed
  const tokenizer::Tokenizer tokenizer = read(json, 266);
  const Finding* finding = find_code(tokenizer.findings, "hf-tok-trained-bpe");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->message.find("'\u2581' + 'ab'"), std::string::npos) << finding->message;
  json.merges.clear();
  EXPECT_NE(find_code(read(json, 266).findings, "hf-tok-no-merges"), nullptr);
}

TEST_F(Spm, SpaceBeforeTheText) {
  TokenizerJson json = small();
  const auto prefix = [&] { return *read(json, 266).add_space_prefix; };
  json.normalizer_json = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
  EXPECT_FALSE(prefix());
  for (const auto& [metaspace, expected] : std::vector<std::pair<std::string, bool>>{
           {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false})", true},
           {R"({"type":"Metaspace","prepend_scheme":"always"})", true},
           {R"({"type":"Metaspace","prepend_scheme":"never","add_prefix_space":true})", false},
           {R"({"type":"Metaspace","add_prefix_space":true})", true},
           {R"({"type":"Metaspace"})", false}}) {
    json.pre_tokenizer_json = metaspace;
    EXPECT_EQ(prefix(), expected) << metaspace;
  }
  json.pre_tokenizer_json = R"({"type":"Metaspace","prepend_scheme":"first"})";
  dir.write("tokenizer_config.json", R"({"add_prefix_space":false})");
  EXPECT_FALSE(prefix()) << "the configuration wins";
  dir.write("tokenizer_config.json", R"({"add_prefix_space":true})");
  dir.write("config.json", R"({"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3"})");
  EXPECT_FALSE(prefix()) << "Gemma never";
  dir.write("config.json", "{}");
  json.normalizer_json = R"({"type":"NFKC"})";
  EXPECT_NE(find_code(read(json, 266).findings, "hf-tok-normalizer"), nullptr);
}

TEST_F(Spm, FromTokenizerModelAlone) {
  std::vector<SpmPiece> list = pieces();
  list[265].type = 4;
  dir.write("tokenizer.model", test::sentencepiece_file(list));
  dir.write("added_tokens.json", R"({"<extra>":266,"<pad>":267})");
  dir.write(
      "tokenizer_config.json",
      R"({"added_tokens_decoder":{"268":{"content":"<tool>","special":true}},"add_bos_token":true,"add_eos_token":false})");
  const tokenizer::Tokenizer tokenizer = read(270);
  EXPECT_EQ(tokenizer.source, "tokenizer.model");
  EXPECT_EQ(tokenizer.types[0], number(TokenType::unknown));
  EXPECT_EQ(tokenizer.types[1], number(TokenType::control));
  EXPECT_EQ(tokenizer.scores[1], 0.0F);
  EXPECT_EQ(tokenizer.types[3], number(TokenType::byte));
  EXPECT_EQ(tokenizer.tokens[265], "\u2581ab");
  EXPECT_EQ(tokenizer.types[265], number(TokenType::normal)) << "a user-defined piece";
  EXPECT_EQ(tokenizer.scores[265], -265.0F);
  EXPECT_EQ(tokenizer.types[266], number(TokenType::user_defined));
  EXPECT_EQ(tokenizer.types[267], number(TokenType::control));
  EXPECT_EQ(tokenizer.scores[268], -1000.0F);
  EXPECT_EQ(tokenizer.tokens[269], "[PAD269]");
  EXPECT_EQ(tokenizer.special.bos, 1U);
  EXPECT_EQ(tokenizer.special.eos, 2U);
  EXPECT_EQ(tokenizer.special.unk, 0U);
  EXPECT_FALSE(tokenizer.special.pad) << "-1 in the file";
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, false);
  EXPECT_EQ(tokenizer.add_space_prefix, true);
  EXPECT_EQ(test::codes(tokenizer.findings), "");
  dir.write("tokenizer.model", test::sentencepiece_file(list, 2, false));
  const tokenizer::Tokenizer fewer = read(260);
  EXPECT_NE(find_code(fewer.findings, "hf-tok-id-range"), nullptr) << "pieces beyond the embedding are dropped";
  EXPECT_EQ(fewer.add_space_prefix, false);
}

TEST_F(Spm, TokenizerModelGivesTheScoresBesideTokenizerJson) {
  dir.write("tokenizer.model", test::sentencepiece_file(pieces()));
  const tokenizer::Tokenizer both = read(small(), 266);
  EXPECT_EQ(both.source, "tokenizer.model");
  EXPECT_EQ(both.scores[265], -265.0F);
  EXPECT_EQ(both.types[0], number(TokenType::control)) << "the added tokens of tokenizer.json are laid over it";
  EXPECT_EQ(test::codes(both.findings), "hf-tok-around ");
  // Other texts, one piece too many or too few: tokenizer.json takes precedence.
  const std::vector<SpmPiece> good = pieces();
  std::vector<SpmPiece> other = good;
  other[260].text = "q";
  std::vector<SpmPiece> more = good;
  more.push_back({"more", -9, 1});
  const std::vector<SpmPiece> fewer(good.begin(), good.end() - 1);
  for (const auto& list : {other, more, fewer}) {
    dir.write("tokenizer.model", test::sentencepiece_file(list));
    const tokenizer::Tokenizer stale = read(small(), 267);
    EXPECT_EQ(stale.source, "tokenizer.json");
    EXPECT_EQ(stale.scores[265], -2.0F);
    EXPECT_NE(find_code(stale.findings, "hf-tok-model-differs"), nullptr);
  }
  dir.write("tokenizer.model", test::sentencepiece_file(good, 1));
  const tokenizer::Tokenizer unigram = read(small(), 266);
  EXPECT_EQ(unigram.kind, tokenizer::TokenizerKind::llama);
  EXPECT_EQ(unigram.source, "tokenizer.json") << "which merges";
  EXPECT_NE(find_code(unigram.findings, "hf-tok-model-differs")->message.find("UNIGRAM"), std::string::npos);
  dir.write("tokenizer.model", "IQ== 0\nIg== 1\n");
  EXPECT_NE(find_code(read(small(), 266).findings, "hf-tok-model-other"), nullptr);
  const std::string bytes = test::sentencepiece_file(good);
  dir.write("tokenizer.model", bytes.substr(0, bytes.size() - 3));
  EXPECT_EQ(error(266).code, "hf-tok-sentencepiece");
  dir.write("tokenizer.model", test::sentencepiece_file(good, 2, false));
  const tokenizer::Tokenizer prefix = read(small(), 266);
  EXPECT_EQ(prefix.add_space_prefix, false) << "tokenizer.model is followed";
  EXPECT_NE(find_code(prefix.findings, "hf-tok-prefix-space"), nullptr);
}

TEST_F(Spm, WhitespaceAsSuffix) {
  const std::string trainer = test::ProtoBuilder().varint(3, 2).varint(24, 1).text();
  test::ProtoBuilder file;
  for (const SpmPiece& piece : pieces()) file.bytes(1, test::piece_message(piece.text, piece.score, piece.type));
  dir.write("tokenizer.model", file.bytes(2, trainer).text());
  EXPECT_NE(find_code(read(266).findings, "hf-tok-spm-suffix"), nullptr);
}

TEST_F(Spm, TokenizerModelOfAnotherKind) {
  dir.write("tokenizer.model", "IQ== 0\nIg==\n");
  const Error tiktoken = error(10);
  EXPECT_EQ(tiktoken.code, "hf-tok-tiktoken");
  EXPECT_TRUE(tiktoken.file.ends_with("tokenizer.model"));
  dir.write("tokenizer.model", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_EQ(error(10).code, "hf-tok-pointer");
  dir.write("tokenizer.model", "");
  EXPECT_EQ(error(10).code, "hf-tok-sentencepiece");
}

TEST_F(Spm, CodeLlamaInfill) {
  dir.write("tokenizer.json", small().text());
  dir.write("config.json", R"({"architectures":["LlamaForCausalLM"],"vocab_size":32016})");
  const tokenizer::Tokenizer tokenizer = read(32016);
  EXPECT_EQ(tokenizer.special.fim_pre, 32007U);
  EXPECT_EQ(tokenizer.special.fim_suf, 32008U);
  EXPECT_EQ(tokenizer.special.fim_mid, 32009U);
  EXPECT_EQ(tokenizer.special.eot, 32010U);
  EXPECT_FALSE(read(300).special.fim_pre) << "ids that do not exist";
}

TEST_F(Spm, GemmaInfill) {
  TokenizerJson json = small();
  dir.write("config.json", R"({"architectures":["GemmaForCausalLM"],"eos_token_id":2})");
  const auto added = [&](std::vector<const char*> texts) {
    json.added.clear();
    for (u32 id = 301; const char* text : texts) json.added.push_back({id++, text});
    return read(json, 310).special;
  };
  const tokenizer::SpecialIds code =
      added({"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>", "<end_of_turn>"});
  EXPECT_EQ(code.fim_pre, 301U);
  EXPECT_EQ(code.fim_mid, 302U);
  EXPECT_EQ(code.fim_suf, 303U);
  EXPECT_EQ(code.fim_sep, 304U);
  EXPECT_EQ(code.eot, 305U);
  const tokenizer::SpecialIds other = added({"<unused60>", "<unused61>", "<unused62>", "<unused63>"});
  EXPECT_FALSE(other.fim_pre || other.fim_mid || other.fim_suf || other.fim_sep || other.eot);
}

}  // namespace

}  // namespace modelutils
