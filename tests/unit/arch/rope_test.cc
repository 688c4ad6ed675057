#include "arch/rope.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "gguf/write.h"

namespace modelutils::arch {
namespace {

// By hand: ln 16 = 2.772588722, ln 8 = 2.079441542.
TEST(YarnMagnitude, GrowsWithTheLogarithmOfTheFactor) {
  EXPECT_NEAR(yarn_magnitude(16, 1), 1.2772588722, 1e-9);
  EXPECT_NEAR(yarn_magnitude(16, 0.5), 1.1386294361, 1e-9);
  EXPECT_EQ(yarn_magnitude(16, 0), 1);
  EXPECT_EQ(yarn_magnitude(0.5, 1), 1);
}

TEST(YarnMagnitude, FollowsTheClassThatReadsTheConfig) {
  hf::RopeScaling scaling;
  scaling.factor = 8;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.2079441542, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.2079441542, 1e-9);
  scaling.mscale = 2;  // mlx-lm needs no second one, Hugging Face's classes do
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.2079441542, 1e-9);
  scaling.mscale_all_dim = 1;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.4158883083 / 1.2079441542, 1e-9);
  scaling.attention_factor = 1.5;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_EQ(yarn_magnitude(scaling, false), 1.5);
}

// What a config.json becomes in the hands of one of the functions that write keys.
ModelKeys written(const Family& family, const char* config, std::vector<std::pair<const char*, u64>> sizes) {
  Sizes known;
  for (const auto& [symbol, value] : sizes) known.set(symbol, value);
  return *write_keys(family, *hf::parse_config(config, "config.json"), known, true);
}
const gguf::OutKey* find_key(const ModelKeys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys.keys, name, &gguf::OutKey::key);
  return found == keys.keys.end() ? nullptr : &*found;
}

// 10000 × 1000^(128 / 126), as Hunyuan's models have it.
TEST(StretchedTheta, IsRaisedByAPowerOfAlpha) {
  const ModelKeys keys = written(hunyuan_moe, R"({"rope_theta": 10000, "rms_norm_eps": 1e-5,
    "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}})",
                                 {{"D", 128}, {"H", 1}, {"X", 1}, {"U", 1}});
  const gguf::OutKey* base = find_key(keys, "hunyuan-moe.rope.freq_base");
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->encoded, gguf::make_key_f32("", 11158840.0f).encoded);
  EXPECT_EQ(find_key(keys, "hunyuan-moe.rope.scaling.type"), nullptr);
}

TEST(RopeSections, AreFourAndFollowTheTimeWhereNoneAreStated) {
  const std::vector<std::pair<const char*, u64>> sizes = {{"D", 16}, {"R", 16}, {"H", 1}, {"E", 16}};
  const ModelKeys stated = written(qwen2_vl, R"({"rms_norm_eps": 1e-5, "rope_theta": 1,
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}})",
                                   sizes);
  const gguf::OutKey* sections = find_key(stated, "qwen2vl.rope.dimension_sections");
  ASSERT_NE(sections, nullptr);
  EXPECT_EQ(sections->encoded, gguf::make_key_u32s("", {2, 3, 3, 0}).encoded);
  const ModelKeys silent = written(qwen2_vl, R"({"rms_norm_eps": 1e-5, "rope_theta": 1})", sizes);
  EXPECT_EQ(find_key(silent, "qwen2vl.rope.dimension_sections")->encoded,
            gguf::make_key_u32s("", {8, 0, 0, 0}).encoded);
}

}  // namespace
}  // namespace modelutils::arch
