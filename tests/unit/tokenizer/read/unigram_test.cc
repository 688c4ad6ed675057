// Unigram tokenizers. Expected values were compared with llama.cpp, SentencePiece and Hugging Face's tokenizers
// (tests/llama/tokenizers).
#include <gtest/gtest.h>

#include "base/escape.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using test::charsmap;
using test::charsmap_unit;
using test::find_code;
using test::number;
using test::SpmPiece;
using tokenizer::check_charsmap;
using tokenizer::TokenizerKind;
using tokenizer::TokenType;

TEST(Charsmaps, LeadNowhereButIntoThemselves) {
  EXPECT_TRUE(check_charsmap(charsmap()));
  EXPECT_TRUE(check_charsmap(charsmap(190 << 10))) << "65 ^ 190 is unit 255";
  EXPECT_TRUE(check_charsmap(charsmap(0x80000001))) << "the last text";
  std::string open = charsmap();
  open.back() = 'x';
  std::string odd = charsmap_unit(1020) + charsmap().substr(4);
  for (const std::string& bad : {std::string(), std::string("\0\0", 2), charsmap_unit(1024), charsmap().substr(0, 1028),
                                 open, odd, charsmap_unit(0) + "x", charsmap_unit(0xFFFFFFFF) + std::string(64, '\0'),
                                 charsmap(256 << 10), charsmap((1 << 10) | (1 << 9)), charsmap(0x80000002)}) {
    const Status checked = check_charsmap(bad);
    ASSERT_FALSE(checked) << bad.size();
    EXPECT_EQ(checked.error().code, "hf-tok-charsmap");
  }
}

constexpr const char* merge_spaces = R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})";
constexpr const char* strip = R"({"type":"Strip","strip_left":false,"strip_right":true})";
constexpr const char* metaspace = R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})";

class Unigram : public test::TokenizerFolder {
 protected:
  // Ids: 0 <unk>, 1 <s>, 2 </s>, 3 <0x41>, 4 ▁, 5 a, 6 ▁a; 7 is an added token.
  void write(const std::vector<std::string>& normalizers, const std::string& pre_tokenizer) {
    dir.write("tokenizer.json", R"({"added_tokens":[{"id":1,"content":"<s>","special":true},)"
                                R"({"id":2,"content":"</s>","special":true},{"id":7,"content":"<x>"}],"normalizer":)" +
                                    test::sequence_json(normalizers, "normalizers") + R"(,"pre_tokenizer":)" +
                                    pre_tokenizer + R"(,"model":{"type":"Unigram",)" + model + "}}");
  }
  // Returns the finding about spaces; empty if there is none.
  std::string spaces(const std::vector<std::string>& normalizers, const std::string& pre_tokenizer, bool prefix,
                     bool merged) {
    write(normalizers, pre_tokenizer);
    const tokenizer::Tokenizer tokenizer = read(8);
    EXPECT_EQ(tokenizer.add_space_prefix, prefix);
    EXPECT_EQ(tokenizer.remove_extra_whitespaces, merged);
    const Finding* finding = find_code(tokenizer.findings, "hf-tok-unigram-spaces");
    return finding == nullptr ? "" : finding->message.substr(0, finding->message.find(" are "));
  }

  std::string model =
      R"("unk_id":0,"vocab":[["<unk>",0],["<s>",0],["</s>",0],["<0x41>",-4.5],["▁",-2],["a",-3],["▁a",-1.5]])";
};

TEST_F(Unigram, OfTokenizerJson) {
  const std::string map = charsmap();
  write({R"({"type":"Precompiled","precompiled_charsmap":")" + base64(map) + "\"}", strip, merge_spaces}, metaspace);
  dir.write("tokenizer_config.json", R"({"eos_token":"</s>","unk_token":"</s>"})");
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.kind, TokenizerKind::t5);
  EXPECT_EQ(tokenizer::tokenizer_kind_name(tokenizer.kind), "t5");
  EXPECT_EQ(tokenizer.pre, "default");
  EXPECT_EQ(tokenizer.charsmap, map);
  EXPECT_EQ(tokenizer.tokens[6], "\u2581a");
  EXPECT_EQ(tokenizer.tokens[8], "[PAD8]");
  EXPECT_EQ(tokenizer.scores, (std::vector<float>{0, 0, 0, -4.5F, -2, -3, -1.5F, -1000, -10000}));
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{2, 3, 3, 1, 1, 1, 1, 4, 5}));
  EXPECT_EQ(tokenizer.special.unk, 0U) << "the model's, whatever the configuration says";
  EXPECT_EQ(tokenizer.special.eos, 2U);
  EXPECT_EQ(tokenizer.add_bos, false);
  EXPECT_EQ(tokenizer.add_eos, false) << "the loader would add one";
  EXPECT_EQ(tokenizer.add_space_prefix, true);
  EXPECT_EQ(tokenizer.remove_extra_whitespaces, true);
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-charsmap-differs ");
}

TEST_F(Unigram, SpacesAsLlamaCppCanTreatThem) {
  const std::string mark = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
  const std::string prepend = R"({"type":"Prepend","prepend":"▁"})";
  const std::string never = R"({"type":"Metaspace","prepend_scheme":"never"})";
  EXPECT_EQ(spaces({strip, merge_spaces}, metaspace, true, true), "");
  EXPECT_EQ(spaces({}, test::sequence_json({R"({"type":"WhitespaceSplit"})", metaspace}), true, true), "");
  EXPECT_EQ(spaces({merge_spaces}, metaspace, true, true), "texts that end with spaces");
  EXPECT_EQ(spaces({}, metaspace, true, false),
            "texts that begin with spaces, or continue with one after an added token");
  EXPECT_EQ(spaces({}, R"({"type":"Metaspace"})", true, false),
            "texts that begin with spaces, or continue with one after an added token");
  EXPECT_EQ(spaces({prepend, mark}, "null", true, false), "texts of spaces only");
  EXPECT_EQ(spaces({mark}, "null", false, false), "");
  EXPECT_EQ(spaces({}, never, false, false), "");
  EXPECT_EQ(spaces({}, R"({"type":"Metaspace","add_prefix_space":false})", false, false), "");
  EXPECT_EQ(spaces({strip, merge_spaces}, never, false, false), "texts with leading, trailing or repeated white space");
  EXPECT_EQ(spaces({strip, merge_spaces}, R"({"type":"Metaspace","prepend_scheme":"first"})", true, true),
            "texts that continue directly after an added token");
  model = R"("unk_id":0,"vocab":[["<unk>",0],["<s>",0],["</s>",0],["▁a▁b",-1]])";
  EXPECT_EQ(spaces({strip, merge_spaces}, metaspace, true, true), "texts with a piece that contains spaces");
}

TEST_F(Unigram, WhatLlamaCppCannotFollow) {
  model += R"(,"byte_fallback":true)";
  write({R"({"type":"NFKC"})", R"({"type":"Replace","pattern":{"String":"x"},"content":"y"})"}, metaspace);
  const tokenizer::Tokenizer tokenizer = read(8);
  EXPECT_EQ(tokenizer.types[3], number(TokenType::byte));
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-byte-fallback"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-normalizer"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-no-eos")->message.find("token 1"), std::string::npos);

  const auto refused = [&] { return error(8); };
  write({}, "null");
  EXPECT_EQ(refused().code, "hf-tok-unigram") << "spaces stay spaces";
  write({}, test::sequence_json({R"({"type":"Digits"})", metaspace}));
  EXPECT_NE(refused().message.find("Digits"), std::string::npos);
  model = R"("unk_id":null,"vocab":[["a",-1]])";
  write({}, metaspace);
  EXPECT_EQ(refused().where, "model.unk_id");
  EXPECT_EQ(refused().code, "hf-tok-unigram");
}

TEST_F(Unigram, ABrokenOneIsRefused) {
  const auto code = [&](const std::string& text, const std::vector<std::string>& normalizers = {}) {
    model = text;
    write(normalizers, metaspace);
    return error(8).code;
  };
  EXPECT_EQ(code(R"("unk_id":0)"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":0,"vocab":{"a":0})"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":0,"vocab":[["a"]])"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":0,"vocab":[["a","b"]])"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":0,"vocab":[["a",1e300]])"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":0,"vocab":[["a",1],["a",2]])"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":1,"vocab":[["a",1]])"), "hf-tok-vocab");
  EXPECT_EQ(code(R"("unk_id":-1,"vocab":[["a",1]])"), "hf-tok-vocab");
  const std::string nine =
      R"("unk_id":0,"vocab":[["a",1],["b",1],["c",1],["d",1],["e",1],["f",1],["g",1],["h",1],["i",1]])";
  EXPECT_EQ(code(nine), "hf-tok-id-range");
  const std::string good = R"("unk_id":0,"vocab":[["a",1]])";
  EXPECT_EQ(code(good, {R"({"type":"Precompiled","precompiled_charsmap":"?"})"}), "hf-tok-charsmap");
  EXPECT_EQ(code(good, {R"({"type":"Precompiled","precompiled_charsmap":"AAAA"})"}), "hf-tok-charsmap");
  EXPECT_EQ(code(good, {R"({"type":"Precompiled"})"}), "hf-tok-charsmap");
}

TEST_F(Unigram, PiecesBeyondTheEmbeddingMayBeAddedTokens) {
  dir.write("added_tokens.json", R"({"<extra>":7})");
  model.insert(model.size() - 1, R"(,["<extra>",0])");
  write({strip, merge_spaces}, metaspace);
  dir.write("tokenizer.json", R"({"normalizer":{"type":"Sequence","normalizers":[]},"pre_tokenizer":)" +
                                  std::string(metaspace) + R"(,"model":{"type":"Unigram",)" + model + "}}");
  EXPECT_NE(find_code(read(7).findings, "hf-tok-id-range"), nullptr);
}

class UnigramModel : public test::TokenizerFolder {
 protected:
  static std::string file(const std::string& trainer, const std::string& normalizer, i32 unknown_type = 2) {
    test::ProtoBuilder file;
    for (const SpmPiece& piece : std::vector<SpmPiece>{{"<s>", 0, 3},
                                                       {"<unk>", 0, unknown_type},
                                                       {"</s>", 0, 3},
                                                       {"\u2581", -2, 1},
                                                       {"\u2581a", -1, 1},
                                                       {"zz", -1, 5},
                                                       {"<u>", 0, 4}}) {
      file.bytes(1, test::piece_message(piece.text, piece.score, piece.type));
    }
    return file.bytes(2, trainer).bytes(3, normalizer).text();
  }
  const std::string trainer = test::ProtoBuilder().varint(3, 1).varint(40, 1).varint(41, 0).varint(42, 2).text();
};

// Source of the ids: the classes of transformers 4.
TEST_F(UnigramModel, OfXlmRobertaHasOtherIds) {
  test::ProtoBuilder file;
  for (const SpmPiece& piece :
       std::vector<SpmPiece>{{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"\u2581", -2, 1}, {"\u2581a", -1, 1}}) {
    file.bytes(1, test::piece_message(piece.text, piece.score, piece.type));
  }
  const std::string usual = test::ProtoBuilder().varint(3, 1).text();
  dir.write("sentencepiece.bpe.model", file.bytes(2, usual).text());
  const tokenizer::Tokenizer tokenizer = read(8);
  EXPECT_EQ(tokenizer.tokens,
            (std::vector<std::string>{"<s>", "<pad>", "</s>", "<unk>", "\u2581", "\u2581a", "<mask>", "[PAD7]"}));
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{3, 3, 3, 2, 1, 1, 3, 5}));
  EXPECT_EQ(tokenizer.scores, (std::vector<float>{0, 0, 0, 0, -2, -1, 0, -10000}));
  const tokenizer::SpecialIds& ids = tokenizer.special;
  EXPECT_EQ(ids.bos, 0U);
  EXPECT_EQ(ids.pad, 1U);
  EXPECT_EQ(ids.eos, 2U);
  EXPECT_EQ(ids.sep, 2U);
  EXPECT_EQ(ids.unk, 3U);
  EXPECT_EQ(ids.mask, 6U);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, true);
  EXPECT_EQ(tokenizer.add_sep, true);
  EXPECT_EQ(test::codes(tokenizer.findings), "");

  dir.write("tokenizer_config.json", R"({"tokenizer_class":"CamembertTokenizer"})");
  EXPECT_EQ(read(11).tokens, (std::vector<std::string>{"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED",
                                                       "<s>", "</s>", "\u2581", "\u2581a", "<mask>", "[PAD10]"}));
  EXPECT_EQ(read(11).special.unk, 3U);
  EXPECT_EQ(read(11).special.bos, 5U);
  dir.write("tokenizer_config.json", R"({"tokenizer_class":"MBartTokenizer"})");
  EXPECT_EQ(error(8).code, "hf-tok-unigram");
}

TEST_F(UnigramModel, OfT5HasExtraTokens) {
  test::ProtoBuilder file;
  for (const SpmPiece& piece :
       std::vector<SpmPiece>{{"<pad>", 0, 3}, {"</s>", 0, 3}, {"<unk>", 0, 2}, {"\u2581", -2, 1}, {"\u2581a", -1, 1}}) {
    file.bytes(1, test::piece_message(piece.text, piece.score, piece.type));
  }
  const std::string of_t5 =
      test::ProtoBuilder().varint(3, 1).varint(40, 2).varint(41, ~u64{0}).varint(42, 1).varint(43, 0).text();
  dir.write("spiece.model", file.bytes(2, of_t5).text());
  EXPECT_EQ(read(8).tokens[5], "[PAD5]") << "a hundred do not fit";
  EXPECT_EQ(read(8).special.eos, 1U);
  EXPECT_EQ(read(8).special.pad, 0U);
  EXPECT_EQ(read(8).add_bos, false);
  EXPECT_EQ(read(8).add_eos, true);
  EXPECT_EQ(read(110).tokens[104], "<extra_id_0>");
  EXPECT_EQ(read(110).tokens[5], "<extra_id_99>");
  EXPECT_EQ(read(110).types[5], number(TokenType::control));
  dir.write("tokenizer_config.json", R"({"extra_ids":2})");
  EXPECT_EQ(read(8).tokens[5], "<extra_id_1>");
  EXPECT_EQ(read(8).tokens[6], "<extra_id_0>");
  dir.write("tokenizer_config.json", R"({"extra_ids":18446744073709551615})");
  EXPECT_EQ(read(8).tokens[6], "[PAD6]");
  dir.write("tokenizer_config.json", R"({"extra_ids":2,"added_tokens_decoder":{"7":{"content":"<extra_id_0>"}}})");
  EXPECT_EQ(read(8).tokens[5], "[PAD5]") << "the files list them themselves";
  EXPECT_EQ(read(8).tokens[7], "<extra_id_0>");
}

TEST_F(UnigramModel, IsReadAsSentencePieceMeansIt) {
  const std::string map = charsmap();
  dir.write("spiece.model", file(trainer, test::ProtoBuilder().bytes(2, map).text()));
  const tokenizer::Tokenizer tokenizer = read(8);
  EXPECT_EQ(tokenizer.kind, TokenizerKind::t5);
  EXPECT_EQ(tokenizer.source, "spiece.model");
  EXPECT_EQ(tokenizer.charsmap, map);
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{3, 2, 3, 1, 1, 5, 1, 5}));
  EXPECT_EQ(tokenizer.scores, (std::vector<float>{0, 0, 0, -2, -1, -10000, 0, -10000}))
      << "SentencePiece never takes an unused piece";
  EXPECT_EQ(tokenizer.special.unk, 1U);
  EXPECT_EQ(tokenizer.special.bos, 0U);
  EXPECT_EQ(tokenizer.special.eos, 2U);
  EXPECT_EQ(tokenizer.add_space_prefix, true);
  EXPECT_EQ(tokenizer.remove_extra_whitespaces, true);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, false);
  EXPECT_EQ(test::codes(tokenizer.findings), "");
  dir.write("tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
  EXPECT_EQ(read(8).add_bos, false);
  EXPECT_EQ(read(8).add_eos, true);
  // tokenizer.model takes precedence.
  dir.write("tokenizer.model", file(trainer, test::ProtoBuilder().varint(3, 0).varint(4, 0).text()));
  const tokenizer::Tokenizer plain = read(8);
  EXPECT_EQ(plain.source, "tokenizer.model");
  EXPECT_EQ(plain.charsmap, "");
  EXPECT_EQ(plain.add_space_prefix, false);
  EXPECT_EQ(plain.remove_extra_whitespaces, false);
}

TEST_F(UnigramModel, WhatLlamaCppCannotFollowIsRefused) {
  const auto code = [&](const std::string& bytes) {
    dir.write("tokenizer.model", bytes);
    const Error failed = error(8);
    EXPECT_TRUE(failed.file.ends_with("tokenizer.model"));
    return failed.code;
  };
  EXPECT_EQ(code(file(test::ProtoBuilder().varint(3, 1).varint(24, 1).text(), "")), "hf-tok-unigram");
  EXPECT_EQ(code(file(trainer, test::ProtoBuilder().varint(5, 0).text())), "hf-tok-unigram");
  EXPECT_EQ(code(file(trainer, "", 1)), "hf-tok-unigram") << "no unknown piece";
  EXPECT_EQ(code(file(trainer, test::ProtoBuilder().bytes(2, "map").text())), "hf-tok-charsmap");
}

}  // namespace
}  // namespace modelutils
