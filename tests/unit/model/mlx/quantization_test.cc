#include "model/mlx/quantization.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/half.h"

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
  // A "quantization" beside quantization_config means MLX's format, and so does a quantization_config without
  // quant_method.
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

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// A naive version of the packing rule: bit k of the stream is bit k % 8 of byte k / 8.
u8 code_at(Bytes packed, u32 bits, std::size_t index) {
  u32 code = 0;
  for (u32 b = 0; b < bits; ++b) {
    const std::size_t k = index * bits + b;
    code |= ((std::to_integer<u32>(packed[k / 8]) >> (k % 8)) & 1u) << b;
  }
  return static_cast<u8>(code);
}

TEST(UnpackCodes, FollowsTheBitStreamInEveryWidth) {
  std::mt19937 random(1);
  for (const u32 bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    for (const std::size_t count : {64u, 32u, 8u, 5u, 13u}) {
      std::vector<std::byte> packed((count * bits + 7) / 8);
      for (std::byte& byte : packed) byte = static_cast<std::byte>(random());
      std::vector<u8> codes(count);
      unpack_codes(bits, packed, codes);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(codes[i], code_at(packed, bits, i)) << bits << " " << i;
    }
  }
}

// Affine mode with every width and scale type, at an odd address.
TEST(Dequantize, AffineIsScaleTimesCodePlusBias) {
  std::mt19937 random(2);
  for (const u32 bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    for (const u32 group : {32u, 64u, 128u}) {
      for (const TensorType type : {TensorType::F16, TensorType::BF16, TensorType::F32}) {
        const Params params{Mode::affine, bits, group};
        constexpr std::size_t groups = 5;
        const std::size_t width = type == TensorType::F32 ? 4 : 2;
        std::vector<std::byte> codes(1 + groups * params.group_bytes());
        std::vector<std::byte> scales(1 + groups * width);
        std::vector<std::byte> biases(1 + groups * width);
        for (std::byte& byte : codes) byte = static_cast<std::byte>(random());
        std::vector<float> scale(groups);
        std::vector<float> bias(groups);
        const auto put = [&](std::vector<std::byte>& to, std::size_t g) {
          float value = (static_cast<float>(random() % 2001) - 1000.0f) / 317.0f;
          if (type == TensorType::F32) {
            std::memcpy(to.data() + 1 + g * 4, &value, 4);
          } else {
            const u16 word = type == TensorType::F16 ? f32_to_f16(value) : f32_to_bf16(value);
            std::memcpy(to.data() + 1 + g * 2, &word, 2);
            value = type == TensorType::F16 ? f16_to_f32(word) : bf16_to_f32(word);
          }
          return value;
        };
        for (std::size_t g = 0; g < groups; ++g) {
          scale[g] = put(scales, g);
          bias[g] = put(biases, g);
        }
        std::vector<float> out(groups * group);
        dequantize(params, {Bytes(codes).subspan(1), type, Bytes(scales).subspan(1), type, Bytes(biases).subspan(1)},
                   out);
        for (std::size_t i = 0; i < out.size(); ++i) {
          const float q = code_at(Bytes(codes).subspan(1), bits, i);
          const float product = scale[i / group] * q;
          ASSERT_EQ(out[i], product + bias[i / group]) << bits << " " << group << " " << i;
        }
      }
    }
  }
}

TEST(Dequantize, ScalesAndBiasesMayDifferInType) {
  const Params params{Mode::affine, 8, 32};
  std::vector<std::byte> codes(32, std::byte{3});
  const float scale = 0.1f;
  const u16 bias = f32_to_f16(-1.0f);
  std::vector<float> out(32);
  dequantize(params,
             {codes, TensorType::F32, std::as_bytes(std::span(&scale, 1)), TensorType::F16,
              std::as_bytes(std::span(&bias, 1))},
             out);
  EXPECT_EQ(out[31], 0.1f * 3.0f - 1.0f);
}

TEST(Dequantize, Mxfp4) {
  std::vector<std::byte> codes(32);
  for (int i = 0; i < 16; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::byte>(((15 - i) << 4) | i);
  const auto scales = bytes_of({128, 0});
  std::vector<float> out(64);
  dequantize({Mode::mxfp4, 4, 32}, {codes, TensorType::U8, scales, TensorType::U8, {}}, out);
  const float table[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(out[2 * i], 2 * table[i]);
    EXPECT_EQ(out[2 * i + 16], -2 * table[i]);
    EXPECT_EQ(out[2 * i + 1], -2 * table[7 - i]);
  }
  EXPECT_TRUE(std::signbit(out[16])) << "code 8 is minus zero";
  EXPECT_EQ(out[32], 0.0f);
}

TEST(Dequantize, E8M0) {
  EXPECT_EQ(e8m0_to_f32(0), std::ldexp(1.0f, -127));
  EXPECT_EQ(e8m0_to_f32(1), std::ldexp(1.0f, -126));
  EXPECT_EQ(e8m0_to_f32(127), 1.0f);
  EXPECT_EQ(e8m0_to_f32(254), std::ldexp(1.0f, 127));
  EXPECT_EQ(e8m0_to_f32(255), std::numeric_limits<float>::infinity());
}

TEST(Dequantize, E4M3) {
  EXPECT_EQ(e4m3_to_f32(0x00), 0.0f);
  EXPECT_EQ(e4m3_to_f32(0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(e4m3_to_f32(0x07), 7 * std::ldexp(1.0f, -9));
  EXPECT_EQ(e4m3_to_f32(0x08), std::ldexp(1.0f, -6));
  EXPECT_EQ(e4m3_to_f32(0x38), 1.0f);
  EXPECT_EQ(e4m3_to_f32(0x7E), 448.0f);
  EXPECT_EQ(e4m3_to_f32(0x7F), 480.0f) << "not NaN: MLX has none";
  EXPECT_EQ(e4m3_to_f32(0xFF), -480.0f);
  EXPECT_TRUE(std::signbit(e4m3_to_f32(0x80)));
}

TEST(Dequantize, Nvfp4AndMxfp8) {
  std::vector<std::byte> codes(16, std::byte{0x72});  // 1, 6
  const auto scales = bytes_of({0x38, 0x40});         // 1, 2
  std::vector<float> out(32);
  dequantize({Mode::nvfp4, 4, 16}, {codes, TensorType::U8, scales, TensorType::U8, {}}, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 6.0f);
  EXPECT_EQ(out[16], 2.0f);
  EXPECT_EQ(out[31], 12.0f);
  std::vector<std::byte> eights(32, std::byte{0xB8});  // -1
  const auto exponent = bytes_of({130});
  dequantize({Mode::mxfp8, 8, 32}, {eights, TensorType::U8, exponent, TensorType::U8, {}}, out);
  EXPECT_EQ(out[0], -8.0f);
  EXPECT_EQ(out[31], -8.0f);
}

}  // namespace

}  // namespace modelutils::mlx
