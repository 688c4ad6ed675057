#include "formats/hf/projector_config.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace modelutils::hf {
namespace {

class ProjectorConfig : public ::testing::Test {
 protected:
  Config load(std::string_view config) {
    dir_.write("config.json", config);
    const Config opened = *load_config(ModelFolder(dir_.path())).value();
    Result<Config> made = load_projector_config(ModelFolder(dir_.path()), opened);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  test::TempDir dir_;
};

TEST_F(ProjectorConfig, TakesTheLaterFilesMemberByMember) {
  dir_.write("preprocessor_config.json",
             R"({"image_mean": [1], "size": {"a": 1}, "media_proc_cfg": {"patch_size": 14}})");
  dir_.write("processor_config.json", R"({"image_processor": {"image_mean": [2], "image_std": null}})");
  const Config config = load(R"({"vision_config": {"hidden_size": 3}})");
  EXPECT_EQ(config.field("preprocessor_config.image_mean")->text(), "[2]");
  EXPECT_EQ(config.u64_field("preprocessor_config.size.a"), 1u);
  EXPECT_EQ(config.u64_field("preprocessor_config.patch_size"), 14u);
  EXPECT_FALSE(config.field("preprocessor_config.image_std"));
  EXPECT_EQ(config.u64_field("vision_config.hidden_size"), 3u);
}

TEST_F(ProjectorConfig, FindsTheTextModelsSettings) {
  EXPECT_EQ(load(R"({"hidden_size": 5})").u64_field("text_config.hidden_size"), 5u);
  EXPECT_EQ(load(R"({"hidden_size": 5, "llm_config": {"hidden_size": 6}})").u64_field("text_config.hidden_size"), 6u);
  const Config omni =
      load(R"({"thinker_config": {"text_config": {"hidden_size": 7}, "audio_config": {"d_model": 8}}})");
  EXPECT_EQ(omni.u64_field("text_config.hidden_size"), 7u);
  EXPECT_EQ(omni.u64_field("audio_config.d_model"), 8u);
}

TEST_F(ProjectorConfig, PrefersTheTowersClass) {
  const Config config = load(R"({"architectures": ["InternVLChatModel"], "llm_config": {"architectures": ["Qwen2"]},
                                 "vision_config": {"architectures": ["InternVisionModel"]}})");
  EXPECT_EQ(config.architecture, "InternVisionModel");
  EXPECT_EQ(class_of_model(config), "InternVLChatModel");
}

}  // namespace
}  // namespace modelutils::hf
