#include "formats/hf/sentence_modules.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils::hf {

namespace {

struct Read {
  SentenceModules modules;
  std::string codes;
};

// Writes the files, whose names may be in a folder, and reads them as a model's folder.
Read modules_of(const std::vector<std::pair<std::string, std::string>>& files) {
  const test::TempDir dir;
  for (const auto& [name, text] : files) {
    if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
      std::filesystem::create_directories(dir.file(name.substr(0, slash)));
    }
    dir.write(name, text);
  }
  FindingLog findings;
  Read result{load_sentence_modules(ModelFolder(dir.path()), findings), {}};
  for (const Finding& finding : findings) result.codes += finding.code + " ";
  return result;
}

const std::string transformer = R"({"path": "", "type": "sentence_transformers.models.Transformer"})";
std::string list(const std::string& type, const std::string& path) {
  return "[" + transformer + R"(, {"path": ")" + path + R"(", "type": ")" + type + "\"}]";
}
const std::string pooling_list = list("sentence_transformers.models.Pooling", "1_Pooling");

TEST(SentenceModules, NoneWithoutTheFile) {
  const Read found = modules_of({});
  EXPECT_FALSE(found.modules.is_stated);
  EXPECT_FALSE(found.modules.pooling);
  EXPECT_EQ(found.codes, "");
}

TEST(SentenceModules, PoolingInBothForms) {
  const std::pair<const char*, Pooling> forms[] = {
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", Pooling::first},
      {R"({"pooling_mode_mean_tokens": true})", Pooling::mean},
      {R"({"pooling_mode_lasttoken": true})", Pooling::last},
      {R"({"pooling_mode": "cls"})", Pooling::first},
      {R"({"pooling_mode": "mean"})", Pooling::mean},
      {R"({"pooling_mode": "lasttoken"})", Pooling::last},
  };
  for (const auto& [config, pooling] : forms) {
    const Read found = modules_of({{"modules.json", pooling_list}, {"1_Pooling/config.json", config}});
    EXPECT_EQ(found.modules.pooling, pooling) << config;
    EXPECT_FALSE(found.modules.refusal) << config;
    EXPECT_EQ(found.codes, "");
  }
}

TEST(SentenceModules, WhatLlamaCppDoesNotComputeIsRefused) {
  for (const char* config : {R"({"pooling_mode_max_tokens": true})", R"({"pooling_mode": "weightedmean"})",
                             R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})"}) {
    const Read found = modules_of({{"modules.json", pooling_list}, {"1_Pooling/config.json", config}});
    ASSERT_TRUE(found.modules.refusal) << config;
    EXPECT_EQ(found.modules.refusal->code, "convert-modules");
  }
  const std::string dense = list("sentence_transformers.models.Dense", "2_Dense");
  EXPECT_TRUE(modules_of({{"modules.json", dense}, {"2_Dense/config.json", R"({"bias": true})"}}).modules.refusal);
  EXPECT_TRUE(modules_of({{"modules.json", dense},
                          {"2_Dense/config.json", R"({"bias": false, "activation_function": "torch.nn.Tanh"})"}})
                  .modules.refusal);
  EXPECT_TRUE(modules_of({{"modules.json", list("sentence_transformers.models.LSTM", "2_LSTM")}}).modules.refusal);
}

TEST(SentenceModules, FilesThatCannotBeReadAreErrors) {
  EXPECT_EQ(modules_of({{"modules.json", pooling_list}}).codes, "hf-sentence-modules ");
  EXPECT_EQ(modules_of({{"modules.json", "{}"}}).codes, "hf-sentence-modules ");
  for (const char* path : {"../x", "/etc", "a//b", "", "a/../../b", "C:x"}) {
    EXPECT_EQ(modules_of({{"modules.json", list("sentence_transformers.models.Pooling", path)}}).codes,
              "hf-sentence-modules ")
        << path;
  }
}

TEST(SentenceModules, WrittenFilesAreReadBack) {
  SentenceModules modules;
  modules.pooling = Pooling::last;
  modules.dense = {"2_Dense"};
  const Read found = modules_of(sentence_module_files(modules, {{32, 80}}, 32));
  EXPECT_EQ(found.modules.pooling, Pooling::last);
  EXPECT_EQ(found.modules.dense, std::vector<std::string>{"2_Dense"});
  EXPECT_FALSE(found.modules.refusal);
  EXPECT_EQ(found.codes, "");
}

}  // namespace

}  // namespace modelutils::hf
