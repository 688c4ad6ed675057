#include "arch/projector_family.h"

#include <gtest/gtest.h>

#include <set>

#include "arch/names.h"
#include "arch/projector_tensors.h"
#include "arch/projectors.h"
#include "formats/hf/config.h"

namespace modelutils::arch {
namespace {

hf::Config config_of(std::string_view text) {
  return *hf::parse_config(text, "config.json");
}

TEST(ProjectorFamilies, RowsAreWellFormed) {
  EXPECT_EQ(all_projector_families().size(), 34u);
  for (const ProjectorFamily* family : all_projector_families()) {
    SCOPED_TRACE(family->rows.name);
    EXPECT_EQ(family->rows.gguf, "clip");
    EXPECT_TRUE(family->encoder == "vision" || family->encoder == "audio");
    std::size_t roots = 0;
    for (const std::string_view root : family->roots) {
      ++roots;
      for (const bool is_mlx : {false, true}) EXPECT_FALSE(written_prefix(root, is_mlx).empty());
    }
    for (const ProjectorGroup& group : family->groups) {
      EXPECT_LT(group.root, roots);
      EXPECT_EQ(group.gguf.find('#') == std::string_view::npos, group.count.empty() && group.numbers == nullptr);
      for (const Tensor& row : group.rows) {
        EXPECT_FALSE(row.name.empty());
        if (generator_of(row).empty()) {
          EXPECT_FALSE(parse_source(row.source).empty()) << row.name;
        }
        // Only matrices and kernels keep another type than F32.
        if (row.name.starts_with('@') && !row.name.ends_with(".weight") && !row.name.ends_with(".weight.1")) {
          EXPECT_TRUE(row.f32) << row.name;
        }
      }
    }
    // The runtime's own rows know the type.
    const bool is_known = std::ranges::any_of(all_projectors(), [&](const Projector& row) {
      return row.name == family->rows.name && row.encoder == family->encoder;
    });
    EXPECT_TRUE(is_known);
  }
}

TEST(ProjectorFamilies, AreFoundByClassAndSettings) {
  const auto names = [](std::string_view hf_class, std::string_view config) {
    std::vector<std::string> found;
    for (const ProjectorFamily* family : find_projector_families(hf_class, config_of(config))) {
      found.emplace_back(family->rows.name);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("Gemma3ForConditionalGeneration", "{}"), Names{"gemma3"});
  EXPECT_EQ(names("LlavaForConditionalGeneration", R"({"vision_config": {"model_type": "pixtral"}})"),
            Names{"pixtral"});
  EXPECT_EQ(names("LlavaForConditionalGeneration", R"({"vision_config": {"model_type": "clip_vision_model"}})"),
            Names{"mlp"});
  EXPECT_EQ(names("Gemma4ForConditionalGeneration", R"({"vision_config": {}, "audio_config": null})"),
            Names{"gemma4v"});
  EXPECT_EQ(names("Gemma4ForConditionalGeneration", R"({"vision_config": {}, "audio_config": {}})"),
            (Names{"gemma4v", "gemma4a"}));
  EXPECT_EQ(names("Qwen3OmniMoeForConditionalGeneration", "{}"), (Names{"qwen3vl_merger", "qwen3a"}));
  EXPECT_TRUE(names("LlamaForCausalLM", "{}").empty());
  ASSERT_NE(find_unknown_projector("MllamaForConditionalGeneration"), nullptr);
  EXPECT_EQ(find_unknown_projector("MllamaForConditionalGeneration")->name, "Mllama");
  EXPECT_EQ(find_unknown_projector("LlamaForCausalLM"), nullptr);
}

TEST(ProjectorTensors, HaveTheNamesAndShapesOfTheirRows) {
  static constexpr Tensor rows[] = {{"attn_q", "E,2*E", "q", Need::required, Need::required}, {"@scale", "1", "s"}};
  const ProjectorGroup group = {.gguf = "v.blk.#.", .source = "layers.#.", .rows = rows, .count = "L"};
  Sizes sizes;
  sizes.set("E", 4);
  const std::vector<TowerTensor> tensors = tower_tensors(group, 0, {0, 7}, sizes);
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(tensors[0].name, "v.blk.0.attn_q.weight");
  EXPECT_EQ(tensors[0].ne, (std::vector<u64>{4, 8}));
  EXPECT_FALSE(tensors[0].must_be_f32);
  EXPECT_EQ(tensors[1].name, "v.blk.0.attn_q.bias");
  EXPECT_EQ(tensors[1].ne, (std::vector<u64>{8}));
  EXPECT_TRUE(tensors[1].must_be_f32);
  EXPECT_EQ(tensors[5].name, "v.blk.7.scale");
  EXPECT_EQ(tensors[5].layer, 1u);
}

TEST(ProjectorTensors, PrefixesDependOnTheForm) {
  EXPECT_EQ(written_prefix("[mlx] vision_tower.|visual.|model.visual.", true), "vision_tower.");
  EXPECT_EQ(written_prefix("[mlx] vision_tower.|visual.|model.visual.", false), "visual.");
  EXPECT_EQ(written_prefix("visual.|[mlx] vision_tower.", true), "vision_tower.");
  EXPECT_EQ(written_prefix("?image_|model.image_", false), "image_");
  EXPECT_EQ(numbered("a.#.b", 12), "a.12.b");
  EXPECT_EQ(numbered("a.b", 12), "a.b");
}

}  // namespace
}  // namespace modelutils::arch
