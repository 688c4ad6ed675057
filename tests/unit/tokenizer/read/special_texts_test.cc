#include "tokenizer/read/special_texts.h"

#include <fmt/core.h>

#include "tokenizer_fixture.h"

namespace modelutils {

// Tokens added around a text, and how Hugging Face's tokenizers and llama.cpp differ. The rules are from transformers'
// classes (update_post_processor before version 5) and llama.cpp's loader.

namespace {

using test::codes;
using test::find_code;
using test::TokenizerJson;

class BoundaryTokensTest : public test::TokenizerFolder {
 protected:
  // 256 <bos>, 257 <eos>, 258 <turn>
  static TokenizerJson json(const std::string& post_processor = "null") {
    TokenizerJson json = TokenizerJson::byte_level();
    json.added = {{256, "<bos>"}, {257, "<eos>"}, {258, "<turn>"}};
    json.post_processor_json = post_processor;
    return json;
  }
  static std::string item(const std::string& text) {
    return R"({"SpecialToken":{"id":")" + text + R"(","type_id":0}})";
  }
  static std::string around(const std::string& before, const std::string& after, const std::string& special = "{}") {
    return R"({"type":"TemplateProcessing","single":[)" + before + (before.empty() ? "" : ",") +
           R"({"Sequence":{"id":"A","type_id":0}})" + (after.empty() ? "" : ",") + after + R"(],"special_tokens":)" +
           special + "}";
  }
  void config(const std::string& tokenizer_class, const std::string& more = "") {
    dir.write("tokenizer_config.json", R"({"bos_token":"<bos>","eos_token":"<eos>","tokenizer_class":")" +
                                           tokenizer_class + "\"" + (more.empty() ? "" : ",") + more + "}");
  }
  std::string message(const TokenizerJson& of, u64 rows = 259) {
    const tokenizer::Tokenizer tokenizer = read(of, rows);
    const Finding* finding = find_code(tokenizer.findings, "hf-tok-around");
    return finding == nullptr ? "" : finding->message;
  }
};

TEST_F(BoundaryTokensTest, NothingIsSaidWhereAllAgree) {
  config("PreTrainedTokenizerFast");
  EXPECT_EQ(message(json()), "");
  EXPECT_EQ(message(json(around(item("<bos>"), ""))), "");
  EXPECT_EQ(message(json(around(item("<bos>"), item("<eos>")))), "");
  config("LlamaTokenizerFast", R"("add_bos_token":true,"add_eos_token":false)");
  EXPECT_EQ(message(json(around(item("<bos>"), ""))), "");
  config("GPTNeoXTokenizer");
  EXPECT_EQ(message(json()), "") << "this class adds nothing unless it is told to";
  config("GPT2Tokenizer");
  EXPECT_EQ(message(json(R"({"type":"RobertaProcessing","cls":["<bos>",256],"sep":["<eos>",257]})")), "");
}

TEST_F(BoundaryTokensTest, ClassesThatReplaceThePostProcessor) {
  config("LlamaTokenizerFast", R"("add_bos_token":true,"add_eos_token":false)");
  EXPECT_EQ(message(json(R"({"type":"ByteLevel"})")),
            "around a text, Hugging Face's tokenizers put nothing (LlamaTokenizer of transformers before version 5: "
            "'<bos>' before), llama.cpp puts '<bos>' before")
      << "DeepSeek V3";
  config("CohereTokenizer", R"("add_bos_token":true,"add_eos_token":false)");
  EXPECT_EQ(message(json(around(item("<bos>"), item("<turn>") + "," + item("<eos>")))),
            "around a text, Hugging Face's tokenizers put '<bos>' before and '<turn>' '<eos>' after (CohereTokenizer "
            "of transformers before version 5: '<bos>' before), llama.cpp puts '<bos>' before")
      << "Command R+";
  for (const char* name : {"CodeLlamaTokenizer", "GemmaTokenizerFast", "LlamaTokenizer"}) {
    config(name);
    EXPECT_NE(message(json()).find(": '<bos>' before), llama.cpp puts nothing"), std::string::npos) << name;
  }
  config("GPTNeoXTokenizerFast", R"("add_eos_token":true)");
  EXPECT_NE(message(json()).find("'<eos>' after), llama.cpp puts '<eos>' after"), std::string::npos);
}

TEST_F(BoundaryTokensTest, TheConfigurationAgainstThePostProcessor) {
  config("BaichuanTokenizer", R"("add_bos_token":false)");
  EXPECT_EQ(message(json(around(item("<bos>"), ""))),
            "around a text, Hugging Face's tokenizers put '<bos>' before, llama.cpp puts nothing");
}

TEST_F(BoundaryTokensTest, MoreThanLlamaCppCanPut) {
  config("PreTrainedTokenizerFast");
  EXPECT_EQ(message(json(around(item("<bos>") + "," + item("<turn>"), ""))),
            "around a text, Hugging Face's tokenizers put '<bos>' '<turn>' before, llama.cpp puts '<bos>' before");
  EXPECT_EQ(
      message(json(R"({"type":"BertProcessing","cls":["<bos>",256],"sep":["<turn>",258]})")),
      "around a text, Hugging Face's tokenizers put '<bos>' before and '<turn>' after, llama.cpp puts '<bos>' before "
      "and '<eos>' after");
}

TEST_F(BoundaryTokensTest, ATemplateMeansTheIdsThatItGives) {
  config("PreTrainedTokenizerFast");
  EXPECT_EQ(message(json(around(item("<bos>"), "", R"({"<bos>":{"id":"<bos>","ids":[256],"tokens":["<bos>"]}})"))), "");
  EXPECT_EQ(message(json(around(item("<bos>"), "", R"({"<bos>":{"id":"<bos>","ids":[258,9999999]}})"))),
            "around a text, Hugging Face's tokenizers put '<turn>' id 9999999 before, llama.cpp puts '<bos>' before");
}

// As llama.cpp's converter decides (gguf-py's SpecialVocab).
TEST_F(BoundaryTokensTest, TokensBetweenTwoTexts) {
  const auto between = [&](const std::string& last, const std::string& items) {
    config("PreTrainedTokenizerFast", R"("sep_token":"<turn>")");
    const std::string a = R"({"Sequence":{"id":"A","type_id":0}})", b = R"({"Sequence":{"id":"B","type_id":1}})";
    const std::string end = last.empty() ? "" : "," + item(last);
    const std::string processor = R"({"type":"TemplateProcessing","single":[)" + item("<bos>") + "," + a + end +
                                  R"(],"pair":[)" + item("<bos>") + "," + a + (items.empty() ? "" : ",") + items + "," +
                                  b + end + R"(],"special_tokens":{}})";
    const std::optional<bool> adds = read(json(processor), 259).add_sep;
    return !adds ? "-" : *adds ? "true" : "false";
  };
  EXPECT_STREQ(between("<eos>", ""), "-");
  EXPECT_STREQ(between("<eos>", item("<eos>")), "false") << "every text ends so";
  EXPECT_STREQ(between("<eos>", item("<eos>") + "," + item("<eos>")), "true") << "XLM-RoBERTa";
  EXPECT_STREQ(between("<eos>", item("<eos>") + "," + item("<turn>")), "true");
  EXPECT_STREQ(between("<eos>", item("<eos>") + "," + item("<bos>")), "false") << "Gemma";
  EXPECT_STREQ(between("", item("<bos>")), "false") << "LFM2";
  EXPECT_STREQ(between("", item("<turn>")), "true");
  EXPECT_STREQ(between("", item("<turn>") + "," + item("<turn>") + "," + item("<turn>")), "true");
}

TEST_F(BoundaryTokensTest, ClsAndSepBeginAndEndATextWithoutOtherNames) {
  dir.write("tokenizer_config.json", R"({"cls_token":"<bos>","sep_token":"<eos>"})");
  const tokenizer::Tokenizer tokenizer = read(json(around(item("<bos>"), item("<eos>"))), 259);
  EXPECT_EQ(tokenizer.special.bos, 256U);
  EXPECT_EQ(tokenizer.special.eos, 257U);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.special.eot, std::nullopt);
}

TEST_F(BoundaryTokensTest, LaterPostProcessorsAreOutside) {
  dir.write("tokenizer.json", R"({"post_processor":{"type":"Sequence","processors":[)" + around(item("1"), item("2")) +
                                  "," + around(item("3"), item("4")) + "]}}");
  const auto document = json::load(dir.file("tokenizer.json"));
  ASSERT_TRUE(document);
  const auto find = [](const std::optional<std::string>& text) { return std::optional(u32(text->front() - '0')); };
  const tokenizer::BoundaryTokens found = tokenizer::post_processor_boundaries((*document)->root, find);
  EXPECT_EQ(found.before, (std::vector<u32>{3, 1}));
  EXPECT_EQ(found.after, (std::vector<u32>{2, 4}));
}

TEST_F(BoundaryTokensTest, LongTemplatesAreCut) {
  std::string many = item("1");
  for (int i = 0; i < 999; ++i) many += "," + item("1");
  dir.write("tokenizer.json", R"({"post_processor":)" + around(many, many) + "}");
  const auto document = json::load(dir.file("tokenizer.json"));
  ASSERT_TRUE(document);
  int asked = 0;
  const auto find = [&](const std::optional<std::string>&) { return ++asked, std::optional(u32{1}); };
  const tokenizer::BoundaryTokens found = tokenizer::post_processor_boundaries((*document)->root, find);
  EXPECT_EQ(found.before.size(), 16U);
  EXPECT_EQ(asked, 256);
}

TEST_F(BoundaryTokensTest, ASentencePieceLikeVocabularyWithoutABos) {
  TokenizerJson spm = TokenizerJson::sentencepiece_like("ab");
  spm.merge("a", "b").added = {{1, "<bos>"}, {2, "<eos>"}};
  config("PreTrainedTokenizerFast");
  const tokenizer::Tokenizer none = read(spm, 262);
  EXPECT_EQ(none.add_bos, false) << "the loader would add one";
  EXPECT_EQ(codes(none.findings), "");
  config("LlamaTokenizer");
  const tokenizer::Tokenizer bos = read(spm, 262);
  EXPECT_FALSE(bos.add_bos) << "the loader adds one, as this class does";
  EXPECT_EQ(codes(bos.findings), "hf-tok-around ") << "but not from version 5 on";
}

}  // namespace

}  // namespace modelutils
