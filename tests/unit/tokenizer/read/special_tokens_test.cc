// Special token ids, add_* flags, added tokens, and their precedence.
#include "tokenizer_fixture.h"

#include "tokenizer/read/vocabulary.h"

namespace modelutils {
namespace {

using test::find_code;
using test::number;
using test::TokenizerJson;

class SpecialTokens : public test::TokenizerFolder {
 protected:
  // 256 <bos>, 257 <eos>, 258 <pad>, 259 <|im_end|>, 260 <|endoftext|>, 261 <cls>
  static TokenizerJson json() {
    TokenizerJson json = TokenizerJson::byte_level();
    json.added = {{256, "<bos>"},      {257, "<eos>"},         {258, "<pad>"},
                  {259, "<|im_end|>"}, {260, "<|endoftext|>"}, {261, "<cls>"}};
    return json;
  }
  tokenizer::Tokenizer with_template(const std::string& single) {
    TokenizerJson with = json();
    with.post_processor_json =
        R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","single":[)" + single +
        R"(],"pair":[],"special_tokens":{}}]})";
    return read(with, 262);
  }
  static std::string item(const std::string& text) {
    return R"({"SpecialToken":{"id":")" + text + R"(","type_id":0}})";
  }
  const std::string sequence = R"({"Sequence":{"id":"A","type_id":0}})";
};

TEST_F(SpecialTokens, TextsBeforeIds) {
  dir.write("tokenizer_config.json",
            R"({"bos_token":{"content":"<bos>","special":true},"eos_token":"<eos>","cls_token":"","mask_token":7})");
  dir.write("special_tokens_map.json", R"({"bos_token":"<pad>","pad_token":"<pad>","sep_token":"a"})");
  dir.write("config.json", R"({"eos_token_id":259,"mask_token_id":3,"text_config":{"cls_token_id":261}})");
  dir.write("generation_config.json", R"({"unk_token_id":5,"eos_token_id":[260]})");
  const tokenizer::Tokenizer tokenizer = read(json(), 262);
  EXPECT_EQ(tokenizer.special.bos, 256U);
  EXPECT_EQ(tokenizer.special.eos, 257U);
  EXPECT_EQ(tokenizer.special.pad, 258U) << "from special_tokens_map.json";
  EXPECT_EQ(tokenizer.special.sep, 0x61U) << "found in the vocabulary";
  EXPECT_EQ(tokenizer.special.mask, 3U) << "from config.json";
  EXPECT_EQ(tokenizer.special.cls, 261U) << "from text_config";
  EXPECT_EQ(tokenizer.special.unk, 5U) << "from generation_config.json";
}

TEST_F(SpecialTokens, IdsFromLists) {
  dir.write("config.json", R"({"eos_token_id":[257,259],"bos_token_id":[256],"pad_token_id":null})");
  const tokenizer::Tokenizer tokenizer = read(json(), 262);
  EXPECT_EQ(tokenizer.special.eos, 257U);
  EXPECT_FALSE(tokenizer.special.bos) << "a list counts for eos only";
  EXPECT_EQ(tokenizer.special.eot, 259U) << "<|im_end|> stands in the list and is not the eos";
}

TEST_F(SpecialTokens, BadIds) {
  dir.write("config.json", R"({"pad_token_id":-2})");
  EXPECT_EQ(error(json(), 262).code, "hf-tok-special-id");
  dir.write("config.json", R"({"pad_token_id":-1})");
  EXPECT_FALSE(read(json(), 262).special.pad) << "-1 says that there is none";
  dir.write("config.json", R"({"pad_token_id":262,"eos_token_id":"x"})");
  const tokenizer::Tokenizer tokenizer = read(json(), 262);
  EXPECT_FALSE(tokenizer.special.pad);
  EXPECT_FALSE(tokenizer.special.eos);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-special-range"), nullptr);
  dir.write("config.json", R"({"eos_token_id":257})");
  dir.write("tokenizer_config.json", R"({"eos_token":"<nowhere>"})");
  const tokenizer::Tokenizer unknown = read(json(), 262);
  EXPECT_EQ(unknown.special.eos, 257U);
  EXPECT_NE(find_code(unknown.findings, "hf-tok-special-text"), nullptr);
  dir.write("config.json", R"({"eos_token_id":-5})");
  EXPECT_EQ(error(json(), 262).code, "hf-tok-special-id");
}

TEST_F(SpecialTokens, EndOfTurn) {
  dir.write("tokenizer_config.json", R"({"eos_token":"<|im_end|>"})");
  dir.write("generation_config.json", R"({"eos_token_id":[259,260]})");
  EXPECT_FALSE(read(json(), 262).special.eot) << "the eos is the chat model's stop token already";
  dir.write("tokenizer_config.json", R"({"eos_token":"<|endoftext|>"})");
  EXPECT_EQ(read(json(), 262).special.eot, 259U);
  dir.write("generation_config.json", R"({"eos_token_id":[999999,-3,"x",257]})");
  EXPECT_FALSE(read(json(), 262).special.eot) << "not ids, or no text that ends a turn";
  dir.write("generation_config.json", R"({"eos_token_id":259})");
  EXPECT_FALSE(read(json(), 262).special.eot);
}

// Ids and texts from the generation_config.json of GLM-4.5 and Apertus.
TEST_F(SpecialTokens, OtherEndsOfGeneration) {
  dir.write("tokenizer_config.json", R"({"eos_token":"<|endoftext|>"})");
  TokenizerJson glm = json();
  glm.added = {{256, "<|endoftext|>"},    {257, "<|observation|>"},   {258, "<|user|>"},
               {259, "<|tools_suffix|>"}, {260, "<|assistant_end|>"}, {261, "<|system|>"}};
  const auto ends = [&](const std::string& generation, const std::string& config = "{}") {
    dir.write("generation_config.json", generation);
    dir.write("config.json", config);
    tokenizer::Tokenizer tokenizer = read(glm, 262);
    EXPECT_EQ(tokenizer.special.eos, 256U);
    return tokenizer;
  };
  const auto expect = [&](const tokenizer::Tokenizer& tokenizer, std::optional<u32> eot, std::optional<u32> eom) {
    EXPECT_EQ(tokenizer.special.eot, eot);
    EXPECT_EQ(tokenizer.special.eom, eom);
  };
  expect(ends(R"({"eos_token_id":[256,258,257]})"), 258, 257);
  expect(ends(R"({"eos_token_id":[256,260,259]})"), 260, 259);
  expect(ends(R"({"eos_token_id":[256,259,260]})"), 260, 259);  // the end of a tool call is not an end of turn
  expect(ends(R"({"eos_token_id":[260,258,260]})"), 260, 258);
  expect(ends(R"({"eos_token_id":256})", R"({"eos_token_id":[256,258]})"), 258, {});
  expect(ends("{}", R"({"text_config":{"eos_token_id":[256,260,257]}})"), 260, 257);
  expect(ends(R"({"eos_token_id":[258]})", R"({"eos_token_id":[260]})"), 258, 260);
  expect(ends(R"({"eos_token_id":260})"), 260, {});
  expect(ends(R"({"eos_token_id":65})"), {}, {});  // an ordinary token is a mistake, not an end
  expect(ends(R"({"eos_token_id":256})", R"({"eos_token_id":258})"), {}, {});
  expect(ends(R"({"eos_token_id":[256,99999999,-1,"x",null,18446744073709551616]})"), {}, {});
  EXPECT_EQ(find_code(ends(R"({"eos_token_id":[256,258,257]})").findings, "hf-tok-end-ids"), nullptr);

  const tokenizer::Tokenizer many = ends(R"({"eos_token_id":[256,258,257,260,261]})");
  expect(many, 258, 257);
  const Finding* left = find_code(many.findings, "hf-tok-end-ids");
  ASSERT_NE(left, nullptr);
  EXPECT_EQ(left->severity, Severity::warning);
  EXPECT_NE(left->message.find("2 of the ids"), std::string::npos) << left->message;
}

TEST_F(SpecialTokens, Template) {
  dir.write("tokenizer_config.json", R"({"bos_token":{"content":"<bos>"},"eos_token":"<eos>","cls_token":"<cls>"})");
  const tokenizer::Tokenizer bos = with_template(item("<bos>") + "," + sequence);
  EXPECT_EQ(bos.add_bos, true);
  EXPECT_FALSE(bos.add_eos);
  EXPECT_EQ(with_template(item("<cls>") + "," + sequence).add_bos, true);
  const tokenizer::Tokenizer other = with_template(item("<pad>") + "," + sequence);
  EXPECT_EQ(other.add_bos, false);
  EXPECT_NE(find_code(other.findings, "hf-tok-template-first"), nullptr);
  const tokenizer::Tokenizer both = with_template(item("<bos>") + "," + sequence + "," + item("<eos>"));
  EXPECT_EQ(both.add_bos, true);
  EXPECT_EQ(both.add_eos, true);
  EXPECT_EQ(both.special.eos, 257U);
  EXPECT_FALSE(both.special.eot);
  const tokenizer::Tokenizer moved = with_template(sequence + "," + item("<|im_end|>"));
  EXPECT_EQ(moved.special.eos, 259U) << "the template's last token is the eos";
  EXPECT_EQ(moved.special.eot, 257U) << "and the former eos the eot";
  EXPECT_EQ(moved.add_bos, false);
  EXPECT_EQ(with_template(item("<bos>")).add_bos, false) << "a single item says nothing";
  EXPECT_EQ(with_template(sequence + "," + sequence).add_bos, false);
  EXPECT_EQ(with_template(R"({"SpecialToken":{}},7)").add_bos, false);
}

TEST_F(SpecialTokens, TwoTemplatesMoveTheEosTwice) {
  dir.write("tokenizer_config.json", R"({"eos_token":"<eos>"})");
  TokenizerJson with = json();
  const auto ending = [&](const std::string& last) {
    return R"({"type":"TemplateProcessing","single":[)" + sequence + "," + item(last) + "]}";
  };
  with.post_processor_json = R"({"type":"Sequence","processors":[)" + ending("<pad>") + "," + ending("<cls>") + "]}";
  const tokenizer::Tokenizer tokenizer = read(with, 262);
  EXPECT_EQ(tokenizer.special.eos, 261U);
  EXPECT_EQ(tokenizer.special.eot, 257U);
  EXPECT_EQ(tokenizer.special.eom, 258U);
}

TEST_F(SpecialTokens, TemplateWithoutConfiguration) {
  const tokenizer::Tokenizer tokenizer = with_template(item("<bos>") + "," + sequence + "," + item("<eos>"));
  EXPECT_EQ(tokenizer.special.bos, 256U);
  EXPECT_EQ(tokenizer.special.eos, 257U);
  EXPECT_EQ(tokenizer.add_bos, true);
  dir.write("config.json", R"({"bos_token_id":258,"eos_token_id":257})");
  EXPECT_EQ(with_template(item("<bos>") + "," + sequence).add_bos, false) << "config.json says that <pad> is the bos";
}

TEST_F(SpecialTokens, FlagsOfTheConfiguration) {
  const std::string flags = R"({"bos_token":"<bos>","add_bos_token":false,"add_eos_token":true,"add_sep_token":true)";
  dir.write("tokenizer_config.json", flags + "}");
  const tokenizer::Tokenizer tokenizer = with_template(item("<bos>") + "," + sequence);
  EXPECT_EQ(tokenizer.add_bos, false) << "overrides the template";
  EXPECT_EQ(tokenizer.add_eos, false) << "no eos to add";
  EXPECT_EQ(tokenizer.add_sep, false);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-add-without-id"), nullptr);
  dir.write("tokenizer_config.json", flags + R"(,"sep_token":"<cls>"})");
  const tokenizer::Tokenizer parted = with_template(item("<bos>") + "," + sequence);
  EXPECT_EQ(parted.add_eos, true) << "the sep ends a text, too";
  EXPECT_EQ(parted.special.eos, parted.special.sep);
  EXPECT_EQ(parted.add_sep, true);
  TokenizerJson roberta = json();
  roberta.post_processor_json = R"({"type":"RobertaProcessing"})";
  dir.write("tokenizer_config.json", R"({"bos_token":"<bos>","eos_token":"<eos>","sep_token":"<eos>"})");
  const tokenizer::Tokenizer all = read(roberta, 262);
  EXPECT_EQ(all.add_bos, true);
  EXPECT_EQ(all.add_eos, true);
  EXPECT_EQ(all.add_sep, true);
}

TEST_F(SpecialTokens, SmallGraniteAddsNoBos) {
  dir.write("tokenizer_config.json", R"({"bos_token":"<bos>","add_bos_token":true})");
  dir.write("config.json", R"({"architectures":["LlamaForCausalLM"],"vocab_size":49152})");
  EXPECT_EQ(read(json(), 262).add_bos, false);
  dir.write("config.json", R"({"architectures":["Qwen2ForCausalLM"],"vocab_size":49152})");
  EXPECT_EQ(read(json(), 262).add_bos, true);
}

TEST_F(SpecialTokens, LaterFilesWinAmongAddedTokens) {
  TokenizerJson with = TokenizerJson::byte_level();
  with.added = {{256, "<json>", false}};
  dir.write("added_tokens.json", R"({"<text>":256,"<old>":257,"<only>":258})");
  dir.write(
      "tokenizer_config.json",
      R"({"added_tokens_decoder":{"256":{"content":"<json>","special":true},"257":{"content":"<new>","special":true}}})");
  const tokenizer::Tokenizer tokenizer = read(with, 259);
  EXPECT_EQ(tokenizer.tokens[256], "<json>");
  EXPECT_EQ(tokenizer.types[256], number(tokenizer::TokenType::user_defined));
  EXPECT_EQ(tokenizer.tokens[257], "<new>");
  EXPECT_EQ(tokenizer.types[257], number(tokenizer::TokenType::control));
  EXPECT_EQ(tokenizer.tokens[258], "<only>");
  const Finding* conflict = find_code(tokenizer.findings, "hf-tok-added-conflict");
  ASSERT_NE(conflict, nullptr);
  EXPECT_NE(conflict->message.find("and 2 more"), std::string::npos) << conflict->message;
}

TEST_F(SpecialTokens, BrokenAddedTokens) {
  const std::string base = TokenizerJson::byte_level().text();
  for (const char* added :
       {"{}", "[7]", "[{}]", R"([{"id":1}])", R"([{"content":"x"}])", R"([{"id":-1,"content":"x"}])",
        R"([{"id":4294967296,"content":"x"}])", R"([{"id":"1","content":"x"}])"}) {
    std::string text = base;
    text.replace(text.find("[]"), 2, added);
    dir.write("tokenizer.json", text);
    EXPECT_EQ(error(256).code, "hf-tok-added") << added;
  }
  dir.write("tokenizer.json", base);
  for (const char* decoder : {R"({"x":{"content":"a"}})", R"({"1 ":{"content":"a"}})", R"({"1":{}})", R"({"1":"a"})",
                              R"({"-1":{"content":"a"}})", R"({"99999999999999999999":{"content":"a"}})"}) {
    dir.write("tokenizer_config.json", std::string(R"({"added_tokens_decoder":)") + decoder + "}");
    EXPECT_EQ(error(256).code, "hf-tok-added") << decoder;
  }
  dir.write("tokenizer_config.json", "{}");
  dir.write("added_tokens.json", R"({"a":"b"})");
  EXPECT_EQ(error(256).code, "hf-tok-added");
}

TEST(LooksSpecial, Texts) {
  for (const char* text : {"<pad>", "<mask>", "<2mass>", "[@BOS@]", "<|x|>", "<||>", "<\uff5cx\uff5c>", "<unused9>"}) {
    EXPECT_TRUE(tokenizer::looks_special(text)) << text;
  }
  for (const char* text : {"", "<", "<|>", "|>", "<s>", "<|x>", "<x|>", "<unused", "pad"}) {
    EXPECT_FALSE(tokenizer::looks_special(text)) << text;
  }
  EXPECT_EQ(tokenizer::added_token_text({0, "\u2581a\u2581\u2581", false}), " a  ");
  EXPECT_EQ(tokenizer::added_token_text({0, "\u2581a", true}), "\u2581a");
}

TEST_F(SpecialTokens, Phi3NeedsItsTokens) {
  TokenizerJson with = json();
  EXPECT_FALSE(read(with, 270).allows_phi3_name());
  with.added.insert(with.added.end(), {{262, "</s>"}, {263, "<unk>"}, {264, "<s>"}});
  EXPECT_TRUE(read(with, 270).allows_phi3_name());
}

}  // namespace
}  // namespace modelutils
