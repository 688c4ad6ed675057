#include "arch/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <cstring>
#include <string>

#include "arch/key_writer.h"
#include "formats/gguf/write.h"
#include "support/families.h"

namespace modelutils::arch {
namespace {

// Computed by hand: ln 16 = 2.772588722, ln 8 = 2.079441542.
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
  scaling.mscale = 2;  // mlx-lm applies it alone, Hugging Face's classes only together with mscale_all_dim
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.2079441542, 1e-9);
  scaling.mscale_all_dim = 1;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.4158883083 / 1.2079441542, 1e-9);
  scaling.attention_factor = 1.5;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_EQ(yarn_magnitude(scaling, false), 1.5);
}

// Returns the keys that a family writes for a config.json.
ModelKeys written(const Family& family, const char* config, std::vector<std::pair<const char*, u64>> sizes) {
  Sizes known;
  for (const auto& [symbol, value] : sizes) known.set(symbol, value);
  return *write_keys(family, *hf::parse_config(config, "config.json"), known, true);
}
const gguf::OutKey* find_key(const ModelKeys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys.keys, name, &gguf::OutKey::key);
  return found == keys.keys.end() ? nullptr : &*found;
}

// 10000 × 1000^(128 / 126), as in Hunyuan's models.
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
  EXPECT_EQ(sections->encoded, gguf::make_key_i32s("", {2, 3, 3, 0}).encoded);
  const ModelKeys silent = written(qwen2_vl, R"({"rms_norm_eps": 1e-5, "rope_theta": 1})", sizes);
  EXPECT_EQ(find_key(silent, "qwen2vl.rope.dimension_sections")->encoded,
            gguf::make_key_i32s("", {8, 0, 0, 0}).encoded);
}

// phi3 writes the key for every scaling, and yarn needs it, too.
TEST(Phi3Rope, TheOriginalContextIsWrittenOnce) {
  for (const std::string type : {"yarn", "longrope", "su"}) {
    const std::string config = R"({"rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
      "rope_scaling": {"type": ")" +
                               type + R"(", "factor": 4.0, "original_max_position_embeddings": 512}})";
    const ModelKeys all = written(
        phi3, config.c_str(), {{"L", 1}, {"E", 64}, {"F", 128}, {"H", 4}, {"K", 2}, {"D", 16}, {"R", 16}, {"V", 10}});
    EXPECT_EQ(std::ranges::count(all.keys, "phi3.rope.scaling.original_context_length", &gguf::OutKey::key), 1) << type;
  }
}

// The runtime multiplies rotated parts by its attention factor A, and scores by A² (1 + x ln(factor))² with the key's
// x.
TEST(LatentYarn, ScalesRotatedPartsAndScoresAsTheModelDoes) {
  const auto keys = [](const char* mscales) {
    const std::string config = R"({"rms_norm_eps": 1e-6, "rope_scaling": {"type": "yarn", "factor": 40,
      "original_max_position_embeddings": 4096)" +
                               std::string(mscales) + "}}";
    return written(deepseek_v3, config.c_str(),
                   {{"L", 1},
                    {"E", 64},
                    {"F", 64},
                    {"H", 2},
                    {"K", 1},
                    {"D", 48},
                    {"R", 16},
                    {"Rq", 32},
                    {"Rk", 32},
                    {"Dv", 32},
                    {"KL", 48},
                    {"VL", 32},
                    {"V", 10},
                    {"X", 0},
                    {"U", 0}});
  };
  const auto real = [](const ModelKeys& all, const char* name) {
    const gguf::OutKey* key = find_key(all, std::string("deepseek2.rope.scaling.") + name);
    float value = 0;
    if (key != nullptr) std::memcpy(&value, key->encoded.data() + key->encoded.size() - sizeof(value), sizeof(value));
    return value;
  };
  // 1 + 0.1 ln 40 = 1.3688879; rotated parts × 1, scores × its square.
  const ModelKeys both = keys(R"(, "mscale": 1.0, "mscale_all_dim": 1.0)");
  EXPECT_NEAR(real(both, "yarn_log_multiplier"), 0.1, 1e-7);
  EXPECT_EQ(real(both, "attn_factor"), 0);
  // Rotated parts × 1.3688879 / 1.1844440, scores × the square of 1.1844440 = 1.1557223 (1 + 0.00673… ln 40).
  const ModelKeys half = keys(R"(, "mscale": 1.0, "mscale_all_dim": 0.5)");
  EXPECT_NEAR(real(half, "attn_factor"), 1.1557219, 1e-6);
  EXPECT_NEAR(real(half, "attn_factor") * (1 + real(half, "yarn_log_multiplier") * 3.6888795), 1.1844440, 1e-6);
  // Rotated parts × 1.3688879, scores unchanged.
  const ModelKeys one = keys(R"(, "mscale": 1.0)");
  EXPECT_NEAR(real(one, "attn_factor"), 1.3688879, 1e-6);
  EXPECT_NEAR(real(one, "attn_factor") * (1 + real(one, "yarn_log_multiplier") * 3.6888795), 1, 1e-6);
}

// A quarter of the head is rotated, with the frequencies of the whole head; the other pairs are not rotated.
TEST(ProportionalRope, RotatesTheFirstPairs) {
  Sizes sizes;
  sizes.set("D", 16);
  const auto config = hf::parse_config(R"({"rms_norm_eps": 1e-6})", "config.json");
  const auto factors = generate("proportional", gemma4, *config, sizes, true);
  ASSERT_TRUE(factors && *factors);
  ASSERT_EQ((*factors)->size(), 8U);
  for (std::size_t pair = 0; pair < 8; ++pair) {
    if (pair < 2) {
      EXPECT_EQ((**factors)[pair], 1.0F);
    } else {
      EXPECT_GT((**factors)[pair], 1e20F);
    }
  }
}

// Only one loader reads the bounds of yarn's ramp; for others, values that differ from their own need a warning.
TEST(YarnBetas, OthersThanTheRuntimesOwnAreWarnedOf) {
  const auto remarks = [](const Family& family, const char* betas) {
    const std::string config = R"({"rms_norm_eps": 1e-6, "rope_scaling": {"rope_type": "yarn", "factor": 4,
      "original_max_position_embeddings": 64)" +
                               std::string(betas) + "}}";
    const Findings all =
        written(
            family, config.c_str(),
            {{"L", 1}, {"E", 64}, {"F", 64}, {"H", 2}, {"K", 1}, {"D", 32}, {"R", 32}, {"V", 10}, {"X", 0}, {"U", 0}})
            .remarks.findings();
    return std::ranges::count_if(all,
                                 [](const Finding& one) { return one.message.find("beta_fast") != one.message.npos; });
  };
  EXPECT_EQ(remarks(llama, R"(, "beta_fast": 32, "beta_slow": 1)"), 0);
  EXPECT_EQ(remarks(llama, R"(, "beta_fast": 1)"), 1);
  EXPECT_EQ(remarks(llama, R"(, "beta_slow": 4)"), 1);
  EXPECT_EQ(remarks(ministral3, R"(, "beta_fast": 1)"), 0);
}

// Llama 4 Scout's configuration: frequencies are kept up to a certain wavelength and divided beyond it.
TEST(Rope, EqualLlama3FactorsLeaveNothingToBlend) {
  const std::vector<float> freqs = llama3_rope_freqs(500000, 128, {16, 1, 1, 8192});
  ASSERT_EQ(freqs.size(), 64u);
  for (std::size_t i = 0; i < freqs.size(); ++i) {
    const double wavelength = 2 * 3.14159265358979 * std::pow(500000, 2.0 * static_cast<double>(i) / 128);
    EXPECT_EQ(freqs[i], wavelength <= 8192 ? 1.0f : 16.0f) << i;
  }
}

}  // namespace
}  // namespace modelutils::arch
