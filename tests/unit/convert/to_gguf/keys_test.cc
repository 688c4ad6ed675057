#include "convert/to_gguf/keys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "support/temp_dir.h"
#include "unit/convert/to_gguf/written_keys.h"
#include "written_keys.h"

namespace modelutils {

namespace {

using test::Written;

TEST(ModelCardKeys, OnlyWhatIsKnown) {
  EXPECT_TRUE(to_gguf::model_card_keys({}).empty());
  hf::ModelCard card;
  card.license = "other";
  card.license_name = "the name";
  card.license_link = "https://example.org/licence";
  card.tags = {"a", "b"};
  card.languages = {"en"};
  card.datasets = {"org/set"};
  card.base_models = {"org/base-7B-v0.2", "plain", "https://example.org/people/model", "https://example.org/model",
                      "a/"};
  const Written written(to_gguf::model_card_keys(card));
  EXPECT_EQ(written.index().string_value("general.license"), "other");
  EXPECT_EQ(written.index().string_value("general.license.name"), "the name");
  EXPECT_EQ(written.index().string_value("general.license.link"), "https://example.org/licence");
  EXPECT_EQ(written.strings("general.tags"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(written.strings("general.languages"), std::vector<std::string>{"en"});
  EXPECT_EQ(written.strings("general.datasets"), std::vector<std::string>{"org/set"});
  EXPECT_EQ(written.key("general.base_model.count")->type(), gguf::ValueType::u32);
  EXPECT_EQ(written.index().unsigned_value("general.base_model.count"), 5U);
  const auto base = [&](int i, const char* what) {
    return written.index().string_value("general.base_model." + std::to_string(i) + "." + what);
  };
  EXPECT_EQ(base(0, "name"), "Base 7B v0.2");
  EXPECT_EQ(base(0, "version"), "v0.2");
  EXPECT_EQ(base(0, "organization"), "Org");
  EXPECT_EQ(base(0, "repo_url"), "https://huggingface.co/org/base-7B-v0.2");
  EXPECT_EQ(base(1, "name"), "Plain");
  EXPECT_FALSE(base(1, "organization"));
  EXPECT_FALSE(base(1, "repo_url"));
  EXPECT_EQ(base(2, "name"), "Model");
  EXPECT_EQ(base(2, "organization"), "People");
  EXPECT_EQ(base(2, "repo_url"), "https://example.org/people/model");
  EXPECT_FALSE(base(3, "organization")) << "a host is no organisation";
  EXPECT_EQ(base(4, "name"), "a/");
  EXPECT_EQ(written.key("general.dataset.count")->type(), gguf::ValueType::u32);
  EXPECT_EQ(written.index().unsigned_value("general.dataset.count"), 1U);
  EXPECT_EQ(written.index().string_value("general.dataset.0.name"), "Set");
  EXPECT_EQ(written.index().string_value("general.dataset.0.organization"), "Org");
  EXPECT_EQ(written.index().string_value("general.dataset.0.repo_url"), "https://huggingface.co/org/set");
}

TEST(ModelCardKeys, ThePipelineIsATag) {
  hf::ModelCard card;
  card.pipeline_tag = "text-generation";
  const auto tags = [&] { return Written(to_gguf::model_card_keys(card)).strings("general.tags"); };
  EXPECT_EQ(tags(), std::vector<std::string>{"text-generation"});
  card.tags = {"mlx"};
  EXPECT_EQ(tags(), (std::vector<std::string>{"mlx", "text-generation"}));
  card.tags = {"text-generation", "mlx"};
  EXPECT_EQ(tags(), (std::vector<std::string>{"text-generation", "mlx"})) << "said once";
}

class FindIdentity : public testing::Test {
 protected:
  // "organization|name|basename|size|finetune|version"
  std::string find(const std::string& folder, const std::string& config_text = "{}") {
    std::filesystem::create_directories(dir.file(folder));
    const auto config = hf::parse_config(config_text, "config.json");
    EXPECT_TRUE(config);
    const to_gguf::Identity found = to_gguf::find_identity(card, *config, dir.file(folder), 0);
    return found.organization + "|" + found.name + "|" + found.basename + "|" + found.size_label + "|" +
           found.finetune + "|" + found.version;
  }

  test::TempDir dir;
  hf::ModelCard card;
};

TEST_F(FindIdentity, OfTheDirectory) {
  EXPECT_EQ(find("Qwen2.5-0.5B-Instruct-4bit"), "|Qwen2.5-0.5B-Instruct|Qwen2.5|0.5B|Instruct|");
  EXPECT_EQ(find(std::string(40, '7')), "|||||") << "a revision names nothing";
}

TEST_F(FindIdentity, OfTheCache) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const std::string snapshot = "hub/models--mistralai--Mistral-7B-Instruct-v0.2/snapshots/" + std::string(40, '7');
  const std::string expected = "Mistralai|Mistral-7B-Instruct-v0.2|Mistral|7B|Instruct|v0.2";
  EXPECT_EQ(find(snapshot), expected);
  EXPECT_EQ(find(snapshot, R"({"_name_or_path":"meta-llama/Llama-2-7b"})"), expected) << "the repository knows best";
  test::make_link(snapshot, dir.file("link"));
  EXPECT_EQ(find("link/."), expected);
}

TEST_F(FindIdentity, OfTheConfigUnlessItIsAPath) {
  EXPECT_EQ(find("x", R"({"_name_or_path":"meta-llama/Llama-3.2-1B"})"), "Meta Llama|Llama-3.2-1B|Llama-3.2|1B||");
  for (const char* path : {"", "/home/me/model", "./model", "~/model", "a/b/c", "out/", "C:\\\\model"}) {
    EXPECT_EQ(find("x", std::string(R"({"_name_or_path":")") + path + "\"}"), "|x||||") << path;
  }
}

TEST_F(FindIdentity, OfTheCardFirst) {
  card.name = "The Name";
  card.organization = "the org";
  card.basename = "Base";
  card.finetune = "tuned";
  card.version = "9";
  card.size_label = "3B";
  EXPECT_EQ(find("Qwen2.5-0.5B-Instruct-v1"), "the org|The Name|Base|3B|tuned|9");
}

TEST(GeneralKeys, TypesAreThoseOfLlamaCppsConverter) {
  to_gguf::GeneralFacts facts;
  facts.architecture = "llama";
  facts.identity = {"Name", "Org", "Base", "Tune", "v2", ""};
  facts.sampling = {.temperature = 0.5F, .top_p = 0.75F, .min_p = 0.25F, .repetition_penalty = 1.5F, .top_k = 40};
  facts.parameters = 7241732096;
  const Written written(to_gguf::general_keys(facts));
  const auto real = [&](const char* key) { return std::get<float>(written.key(key)->value); };
  EXPECT_EQ(std::get<i32>(written.key("general.sampling.top_k")->value), 40);
  EXPECT_EQ(real("general.sampling.temp"), 0.5F);
  EXPECT_EQ(real("general.sampling.top_p"), 0.75F);
  EXPECT_EQ(real("general.sampling.min_p"), 0.25F);
  EXPECT_EQ(real("general.sampling.penalty_repeat"), 1.5F);
  EXPECT_EQ(written.index().string_value("general.organization"), "Org");
  EXPECT_EQ(written.index().string_value("general.basename"), "Base");
  EXPECT_EQ(written.index().string_value("general.finetune"), "Tune");
  EXPECT_EQ(written.index().string_value("general.version"), "v2");
  EXPECT_EQ(written.index().string_value("general.size_label"), "7.2B") << "counted where no name tells";
  EXPECT_EQ(std::get<u32>(written.key("general.quantization_version")->value), 2U) << "of unquantised files as well";
}

TEST(GeneralKeys, NothingIsWrittenEmpty) {
  const Written written(to_gguf::general_keys({}));
  for (const char* key : {"name", "organization", "basename", "finetune", "version", "sampling.top_k", "sampling.temp",
                          "sampling.top_p", "sampling.min_p"}) {
    EXPECT_EQ(written.key(std::string("general.") + key), nullptr) << key;
  }
}

TEST(SizeLabel, CountsParametersOrExperts) {
  EXPECT_EQ(to_gguf::size_label(7241732096, 0, 0), "7.2B");
  EXPECT_EQ(to_gguf::size_label(13015864320, 0, 0), "13B");
  EXPECT_EQ(to_gguf::size_label(494032768, 0, 0), "494M");
  EXPECT_EQ(to_gguf::size_label(46702792704, 45097156608, 8), "8x7.2B");
}

using test::Written;

tokenizer::Tokenizer small(tokenizer::TokenizerKind kind) {
  tokenizer::Tokenizer tokenizer;
  tokenizer.kind = kind;
  tokenizer.tokens = {"a", "b", "ab"};
  tokenizer.types = {1, 3, 4};
  tokenizer.pre = "qwen2";
  if (kind == tokenizer::TokenizerKind::gpt2) {
    tokenizer.merges = {"a b"};
  } else {
    tokenizer.scores = {0, -1, -2.5F};
  }
  return tokenizer;
}

TEST(TokenizerKeys, ByteLevel) {
  const Written written(tokenizer_keys(small(tokenizer::TokenizerKind::gpt2)));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(written.strings("tokenizer.ggml.tokens"), (std::vector<std::string>{"a", "b", "ab"}));
  EXPECT_EQ(written.strings("tokenizer.ggml.merges"), std::vector<std::string>{"a b"});
  EXPECT_EQ(written.element_type("tokenizer.ggml.token_type"), gguf::ValueType::i32);
  EXPECT_EQ(written.numbers<i64>("tokenizer.ggml.token_type"), (std::vector<i64>{1, 3, 4}));
  EXPECT_EQ(written.key("tokenizer.ggml.scores"), nullptr);
  EXPECT_EQ(written.key("tokenizer.ggml.add_bos_token"), nullptr) << "not known";
  EXPECT_EQ(written.key("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(written.key("tokenizer.chat_templates"), nullptr);
}

TEST(TokenizerKeys, SentencePiece) {
  const Written written(tokenizer_keys(small(tokenizer::TokenizerKind::llama)));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(written.element_type("tokenizer.ggml.scores"), gguf::ValueType::f32);
  EXPECT_EQ(written.numbers<double>("tokenizer.ggml.scores"), (std::vector<double>{0, -1, -2.5}));
  EXPECT_EQ(written.key("tokenizer.ggml.merges"), nullptr);
}

TEST(TokenizerKeys, Unigram) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::t5);
  EXPECT_EQ(Written(tokenizer_keys(tokenizer)).key("tokenizer.ggml.precompiled_charsmap"), nullptr) << "there is none";
  tokenizer.remove_extra_whitespaces = true;
  tokenizer.charsmap = "a\xff";
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "t5");
  EXPECT_EQ(written.numbers<double>("tokenizer.ggml.scores"), (std::vector<double>{0, -1, -2.5}));
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.remove_extra_whitespaces"), true);
  EXPECT_EQ(written.element_type("tokenizer.ggml.precompiled_charsmap"), gguf::ValueType::u8);
  EXPECT_EQ(written.numbers<i64>("tokenizer.ggml.precompiled_charsmap"), (std::vector<i64>{97, 255}));
}

TEST(TokenizerKeys, EmptyMergesAreWrittenAllTheSame) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  tokenizer.merges.clear();
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_TRUE(written.strings("tokenizer.ggml.merges").empty());
  EXPECT_EQ(written.element_type("tokenizer.ggml.merges"), gguf::ValueType::string);
}

TEST(TokenizerKeys, IdsAndFlags) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  u32 next = 1;
  tokenizer::SpecialIds& ids = tokenizer.special;
  for (auto* id : {&ids.bos, &ids.eos, &ids.unk, &ids.sep, &ids.pad, &ids.cls, &ids.mask, &ids.eot, &ids.eom,
                   &ids.fim_pre, &ids.fim_suf, &ids.fim_mid, &ids.fim_pad, &ids.fim_rep, &ids.fim_sep}) {
    *id = next++;
  }
  tokenizer.add_bos = true;
  tokenizer.add_eos = false;
  tokenizer.add_sep = true;
  tokenizer.add_space_prefix = false;
  const Written written(tokenizer_keys(tokenizer));
  u32 expected = 1;
  for (const char* name : {"bos", "eos", "unknown", "seperator", "padding", "cls", "mask", "eot", "eom", "fim_pre",
                           "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep"}) {
    const gguf::KeyValue* key = written.key("tokenizer.ggml." + std::string(name) + "_token_id");
    ASSERT_NE(key, nullptr) << name;
    EXPECT_EQ(key->type(), gguf::ValueType::u32) << name;
    EXPECT_EQ(std::get<u32>(key->value), expected++) << name;
  }
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_bos_token"), true);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_eos_token"), false);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_sep_token"), true);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_space_prefix"), false);
}

TEST(TokenizerKeys, Templates) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  tokenizer.templates.main = "{{ main }}\n";
  tokenizer.templates.named = {{"tool_use", "{{ tools }}"}, {"rag", ""}};
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template"), "{{ main }}\n");
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template.tool_use"), "{{ tools }}");
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template.rag"), "");
  EXPECT_EQ(written.strings("tokenizer.chat_templates"), (std::vector<std::string>{"tool_use", "rag"}));
}

TEST(TokenizerKeys, NoVocabulary) {
  const Written written(no_vocab_keys());
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "no_vocab");
}

}  // namespace

}  // namespace modelutils
