#include "to_gguf/general_keys.h"

#include <filesystem>

#include "support/temp_dir.h"
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
  const std::string snapshot = "hub/models--mistralai--Mistral-7B-Instruct-v0.2/snapshots/" + std::string(40, '7');
  const std::string expected = "Mistralai|Mistral-7B-Instruct-v0.2|Mistral|7B|Instruct|v0.2";
  EXPECT_EQ(find(snapshot), expected);
  EXPECT_EQ(find(snapshot, R"({"_name_or_path":"meta-llama/Llama-2-7b"})"), expected) << "the repository knows best";
  std::filesystem::create_directory_symlink(snapshot, dir.file("link"));
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

}  // namespace
}  // namespace modelutils
