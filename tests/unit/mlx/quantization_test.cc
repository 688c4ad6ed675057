#include "mlx/quantization.h"

#include <gtest/gtest.h>

namespace modelutils::mlx {
namespace {

Quantization read(std::string_view text) {
  const auto config = hf::parse_config(text, "config.json");
  EXPECT_TRUE(config);
  return read_quantization(*config);
}

TEST(Quantization, TopLevelWithDefaultsByMode) {
  EXPECT_EQ(read(R"({"quantization": {"group_size": 128, "bits": 3}})").top, (Params{Mode::affine, 3, 128}));
  EXPECT_EQ(read(R"({"quantization": {}})").top, (Params{Mode::affine, 4, 64}));
  EXPECT_EQ(read(R"({"quantization": {"mode": "mxfp4"}})").top, (Params{Mode::mxfp4, 4, 32}));
  EXPECT_EQ(read(R"({"quantization": {"mode": "nvfp4"}})").top, (Params{Mode::nvfp4, 4, 16}));
  EXPECT_EQ(read(R"({"quantization": {"mode": "mxfp8"}})").top, (Params{Mode::mxfp8, 8, 32}));
  EXPECT_TRUE(read(R"({"quantization": {}})").declared);
}

TEST(Quantization, AbsentOrForeign) {
  EXPECT_FALSE(read("{}").declared);
  EXPECT_FALSE(read(R"({"quantization": null})").declared);
  EXPECT_FALSE(read(R"({"quantization": null})").params_for("x"));
  const Quantization gptq = read(R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}})");
  EXPECT_FALSE(gptq.declared);
  EXPECT_EQ(gptq.foreign_method, "gptq");
  // A sibling "quantization" means MLX's format, and so does a mirrored one without quant_method.
  EXPECT_TRUE(read(R"({"quantization": {"bits": 8}, "quantization_config": {"quant_method": "fp8"}})").declared);
  EXPECT_EQ(read(R"({"quantization_config": {"bits": 8, "group_size": 32}})").top, (Params{Mode::affine, 8, 32}));
}

TEST(Quantization, OverridesReplaceTheTopLevel) {
  const Quantization q = read(R"({"quantization": {"group_size": 32, "bits": 8, "mode": "mxfp8",
    "a": {"bits": 6}, "b": {"mode": "nvfp4"}, "c": true, "d": false, "e": {"group_size": 32, "bits": 5, "mode": "affine"},
    "f": null, "note": "text", "language_model.model.embed_tokens": {"bits": 2},
    "model.language_model.layers.0.mlp": {"bits": 3}}})");
  EXPECT_TRUE(q.findings.empty());
  EXPECT_EQ(q.params_for("a"), (Params{Mode::affine, 6, 64})) << "what it lacks is the mode's default, not inherited";
  EXPECT_EQ(q.params_for("b"), (Params{Mode::nvfp4, 4, 16}));
  EXPECT_EQ(q.params_for("c"), (Params{Mode::mxfp8, 8, 32}));
  EXPECT_FALSE(q.params_for("d"));
  EXPECT_EQ(q.params_for("e"), (Params{Mode::affine, 5, 32}));
  EXPECT_EQ(q.params_for("f"), q.top);
  EXPECT_EQ(q.params_for("unlisted"), q.top);
  EXPECT_EQ(q.params_for("model.embed_tokens"), (Params{Mode::affine, 2, 64}));
  EXPECT_EQ(q.params_for("language_model.model.layers.0.mlp"), (Params{Mode::affine, 3, 64}));
  EXPECT_EQ(q.find_override("note"), nullptr);
  EXPECT_EQ(q.overrides.size(), 7u);
}

TEST(Quantization, RefusesNonsense) {
  for (const char* settings :
       {"[32, 4]", "true", "\"4bit\"", R"({"bits": 0})", R"({"bits": -4})", R"({"bits": "4"})", R"({"bits": 4.5})",
        R"({"bits": 7})", R"({"bits": 1})", R"({"bits": 16})", R"({"group_size": 0})", R"({"group_size": -32})",
        R"({"group_size": 4611686018427387904})", R"({"group_size": 18446744073709551615})", R"({"group_size": 12})",
        R"({"mode": "int4"})", R"({"mode": 3})", R"({"mode": "mxfp4", "bits": 8})",
        R"({"mode": "nvfp4", "group_size": 32})"}) {
    const Quantization q = read(std::string(R"({"quantization": )") + settings + "}");
    EXPECT_FALSE(q.top) << settings;
    ASSERT_EQ(q.findings.size(), 1u) << settings;
    EXPECT_EQ(q.findings[0].code, "mlx-config-quantization");
    EXPECT_EQ(q.findings[0].scope, Scope::model);
  }
  const Quantization q = read(R"({"quantization": {"lm_head": {"bits": 9}}})");
  ASSERT_EQ(q.findings.size(), 1u);
  EXPECT_EQ(q.findings[0].code, "mlx-config-override");
  EXPECT_FALSE(q.params_for("lm_head"));
  EXPECT_TRUE(q.params_for("other"));
}

TEST(Quantization, LogicalShapes) {
  const auto shape = [](Params params, std::vector<u64> weight, std::vector<u64> scales) {
    return logical_shape(params, weight, scales);
  };
  EXPECT_EQ(shape({Mode::affine, 4, 64}, {512, 32}, {512, 4}), (std::vector<u64>{512, 256}));
  EXPECT_EQ(shape({Mode::affine, 3, 32}, {2, 3}, {2, 1}), (std::vector<u64>{2, 32}));
  EXPECT_EQ(shape({Mode::affine, 6, 64}, {8, 5, 12}, {8, 5, 1}), (std::vector<u64>{8, 5, 64}));
  EXPECT_EQ(shape({Mode::affine, 4, 32}, {0, 8}, {0, 2}), (std::vector<u64>{0, 64}));
  const std::vector<std::pair<std::vector<u64>, std::vector<u64>>> bad{
      {{2, 8}, {2, 3}},
      {{2, 8}, {3, 2}},
      {{2, 8}, {2}},
      {{8}, {2}},
      {{2, 8}, {1, 2, 2}},
      {{u64{1} << 60, u64{1} << 62}, {u64{1} << 60, u64{1} << 62}},
      {{u64{1} << 61, 8}, {u64{1} << 61, 2}}};
  for (const auto& [weight, scales] : bad) {
    const auto found = shape({Mode::affine, 4, 32}, weight, scales);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, "mlx-scales-shape");
  }
  EXPECT_FALSE(shape({Mode::affine, 8, 32}, {2, 8}, {2, 2})) << "8 bits do not fit what was packed with 4";
}

TEST(Quantization, ScaleTypes) {
  EXPECT_TRUE(is_scale_type(Mode::affine, TensorType::BF16));
  EXPECT_TRUE(is_scale_type(Mode::affine, TensorType::F32));
  EXPECT_FALSE(is_scale_type(Mode::affine, TensorType::U8));
  EXPECT_FALSE(is_scale_type(Mode::affine, TensorType::I32));
  EXPECT_TRUE(is_scale_type(Mode::mxfp4, TensorType::U8));
  EXPECT_FALSE(is_scale_type(Mode::nvfp4, TensorType::F16));
  EXPECT_EQ(mode_name(Mode::nvfp4), "nvfp4");
  EXPECT_FALSE(mode_from_name("Affine"));
  EXPECT_EQ((Params{Mode::affine, 6, 32}).group_bytes(), 24u);
}

}  // namespace
}  // namespace modelutils::mlx
