#include "tensor/quantize/mix.h"

#include <gtest/gtest.h>

#include <sstream>

#include "json/reader.h"
#include "support/temp_dir.h"
#include "tensor/types.h"

namespace modelutils::quantize {
namespace {

struct Reference {
  MixModel model;
  std::vector<std::string> names;
  std::vector<std::vector<u64>> ne;
  std::vector<MixTensor> tensors;
};

// The value of a key: [type, value] or [9, [type, [values…]]].
u64 key_value(json::Element kv, std::string_view key) {
  const auto typed = json::array_member(kv, key);
  if (!typed) return 0;
  u64 last = 0;
  for (const json::Element element : *typed) {
    json::Array inner;
    if (!element.get(inner)) {
      if (!element.get(last)) last = 0;
      continue;
    }
    for (const json::Element part : inner) {
      json::Array values;
      if (!part.get(values)) continue;
      for (const json::Element value : values) {
        u64 first = 0;
        if (value.get(first)) return first;
      }
    }
  }
  return last;
}

Reference reference_of(json::Element arch) {
  Reference result;
  const json::Element kv = *json::member(arch, "kv");
  for (const json::Element part : json::Array(*json::array_member(kv, "general.architecture"))) {
    std::string_view text;
    if (part.get(text)) result.model.architecture = text;
  }
  const std::string prefix = result.model.architecture + '.';
  result.model.layers = key_value(kv, prefix + "block_count");
  result.model.heads = key_value(kv, prefix + "attention.head_count");
  result.model.kv_heads = json::member(kv, prefix + "attention.head_count_kv")
                              ? key_value(kv, prefix + "attention.head_count_kv")
                              : result.model.heads;
  result.model.experts = key_value(kv, prefix + "expert_count");
  for (const json::Element tensor : json::Array(*json::array_member(arch, "tensors"))) {
    json::Array parts;
    EXPECT_TRUE(tensor.get(parts));
    std::vector<u64>& ne = result.ne.emplace_back();
    for (const json::Element part : parts) {
      std::string_view name;
      json::Array dims;
      if (part.get(name)) result.names.emplace_back(name);
      if (!part.get(dims)) continue;
      for (const json::Element dim : dims) EXPECT_TRUE(dim.get(ne.emplace_back()));
    }
  }
  for (std::size_t i = 0; i < result.names.size(); ++i) {
    result.tensors.push_back({result.names[i], result.ne[i], TensorType::F32});
  }
  return result;
}

// Expands "Q4_K 3*F32": one type per tensor.
std::vector<std::string> types_of(std::string_view text) {
  std::vector<std::string> types;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    std::size_t count = 1;
    if (const std::size_t star = word.find('*'); star != std::string::npos) {
      count = std::stoul(word.substr(0, star));
      word = word.substr(star + 1);
    }
    types.insert(types.end(), count, word);
  }
  return types;
}

// Compares with llama-quantize's result for the model: the types, or a refusal.
void check_case(const Reference& reference, json::Element expected, std::span<const TypeOverride> overrides) {
  const Mix* mix = mix_from_name(*json::string_member(expected, "mix"));
  ASSERT_NE(mix, nullptr);
  const bool with_matrix = json::bool_member(expected, "imatrix").value_or(false);
  const bool pure = json::bool_member(expected, "pure").value_or(false);
  const auto choices = choose_types(reference.model, reference.tensors,
                                    {.mix = mix, .pure = pure, .has_importance = with_matrix, .overrides = overrides});
  if (const auto refused = json::string_member(expected, "refused")) {
    if (!choices) {
      EXPECT_EQ(choices.error().code, "quantize-no-fallback");
      EXPECT_TRUE(refused->starts_with("no tensor type fallback"));
      return;
    }
    bool needed = false;
    for (std::size_t i = 0; i < choices->size(); ++i) {
      needed = needed || ((*choices)[i].touched && mix_needs_importance(reference.names[i], (*choices)[i].type, *mix));
    }
    EXPECT_TRUE(needed && !with_matrix) << mix->name;
    return;
  }
  ASSERT_TRUE(choices);
  const std::vector<std::string> types = types_of(*json::string_member(expected, "types"));
  ASSERT_EQ(choices->size(), types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(type_name((*choices)[i].type), types[i])
        << *json::string_member(expected, "arch") << ' ' << mix->name << ' ' << reference.names[i];
  }
}

u64 check_cases(const std::string& path, std::string_view list) {
  const auto document = json::load(path);
  if (!document) return 0;
  const json::Element root = (*document)->root;
  u64 count = 0;
  for (const json::Member arch : json::Object(*json::object_member(root, "archs"))) {
    const Reference reference = reference_of(arch.value);
    for (const json::Element expected : json::Array(*json::array_member(root, list))) {
      if (*json::string_member(expected, "arch") != arch.key) continue;
      std::vector<TypeOverride> overrides;
      if (const auto given = json::array_member(expected, "tensor")) {
        for (const json::Element one : *given) {
          json::Array pair;
          std::vector<std::string> words;
          EXPECT_TRUE(one.get(pair));
          for (const json::Element word : pair) {
            std::string_view text;
            EXPECT_TRUE(word.get(text));
            words.emplace_back(text);
          }
          overrides.push_back({words[0], *type_from_name(words[1])});
        }
      }
      check_case(reference, expected, overrides);
      ++count;
    }
  }
  return count;
}

TEST(Mix, TypesAreThoseOfLlamaQuantize) {
  EXPECT_EQ(check_cases(test::data_dir() + "/quantize/mixes.json", "cases"), 86u);
}

TEST(Mix, TypesAreThoseOfTheReferenceData) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string path = test::shared_dir() + "/corpus/quantize/mixes.json";
  EXPECT_EQ(check_cases(path, "cases"), 348u);
  EXPECT_EQ(check_cases(path, "options"), 6u);
}

TEST(Mix, Names) {
  EXPECT_EQ(mix_from_name("q4_k_m")->file_type, 15u);
  EXPECT_EQ(mix_from_name("Q4_K")->name, "Q4_K_M");
  EXPECT_EQ(mix_from_name("mxfp4")->name, "MXFP4_MOE");
  EXPECT_EQ(mix_from_name("Q9"), nullptr);
  EXPECT_EQ(mix_of_file_type(7)->name, "Q8_0");
  EXPECT_EQ(mix_of_file_type(4), nullptr);
}

TEST(Mix, OrderIsByLayerThenByName) {
  const std::string_view names[] = {"output.weight", "blk.10.a", "blk.2.b", "blk.2.a", "blk.x.a", "a.weight"};
  EXPECT_EQ(mix_order(names), (std::vector<std::size_t>{5, 4, 0, 3, 2, 1}));
}

TEST(Mix, WhatIsNotTouched) {
  const std::vector<u64> matrix = {256, 2};
  const std::vector<u64> vector = {256, 1};
  EXPECT_TRUE(may_quantize({"blk.0.attn_q.weight", matrix, TensorType::F16}));
  EXPECT_TRUE(may_quantize({"blk.0.attn_q.weight", matrix, TensorType::Q4_0}));
  EXPECT_FALSE(may_quantize({"blk.0.attn_q.weight", vector, TensorType::F16}));
  EXPECT_FALSE(may_quantize({"blk.0.attn_q.bias", matrix, TensorType::F16}));
  EXPECT_FALSE(may_quantize({"blk.0.ffn_gate_inp.weight", matrix, TensorType::F16}));
  EXPECT_FALSE(may_quantize({"position_embd.weight", matrix, TensorType::F16}));
  EXPECT_FALSE(may_quantize({"v.position_embd.weight", matrix, TensorType::F16}));
  EXPECT_FALSE(may_quantize({"blk.0.ffn_down.weight", matrix, TensorType::I32}));
}

// Image models, with the rules of ComfyUI-GGUF's patch.

TEST(ImageMix, RolesFollowFromNames) {
  EXPECT_EQ(image_role_of("blocks.0.self_attn.v.weight"), Role::value);
  EXPECT_EQ(image_role_of("double_layers.0.attn.w2v.weight"), Role::value);
  EXPECT_EQ(image_role_of("double_blocks.0.img_attn.qkv.weight"), Role::fused_value);
  EXPECT_EQ(image_role_of("layers.0.attention.qkv.weight"), Role::fused_value);
  EXPECT_EQ(image_role_of("blocks.0.ffn.2.weight"), Role::ffn_down);
  EXPECT_EQ(image_role_of("a.experts.0.w2.weight"), Role::ffn_down);
  EXPECT_EQ(image_role_of("double_blocks.0.img_mlp.2.weight"), Role::other);
  EXPECT_EQ(image_role_of("blocks.0.cross_attn.v_img.weight"), Role::other);
}

TEST(ImageMix, OnlyTensorsWithTwoDimensionsChange) {
  const std::vector<u64> matrix = {256, 4}, column = {256, 4, 1, 1}, kernel = {256, 2, 2}, vector = {256};
  EXPECT_TRUE(may_quantize({"a.weight", matrix, TensorType::BF16}, true));
  EXPECT_TRUE(may_quantize({"a.weight", column, TensorType::BF16}, true));
  EXPECT_FALSE(may_quantize({"a.weight", kernel, TensorType::BF16}, true));
  EXPECT_FALSE(may_quantize({"a.weight", vector, TensorType::BF16}, true));
  EXPECT_FALSE(may_quantize({"a.bias", matrix, TensorType::BF16}, true));
  EXPECT_FALSE(may_quantize({"a_norm.weight", matrix, TensorType::BF16}, true));
}

class ImageMixTypes : public testing::Test {
 protected:
  // Adds a matrix of rows of 256.
  void add(std::string_view name, bool stays = false) { tensors_.push_back({name, ne_, TensorType::BF16, stays}); }
  TensorType type_of(std::string_view mix, std::string_view name) {
    const auto choices = choose_types(model_, tensors_, {.mix = mix_from_name(mix)});
    EXPECT_TRUE(choices);
    for (std::size_t i = 0; choices && i < tensors_.size(); ++i) {
      if (tensors_[i].name == name) return (*choices)[i].type;
    }
    return TensorType::F64;
  }

  MixModel model_{
      .architecture = "wan", .is_image = true, .outer_blocks = "transformer_blocks.0. transformer_blocks.59."};
  std::vector<u64> ne_ = {256, 4};
  std::vector<MixTensor> tensors_;
};

TEST_F(ImageMixTypes, ValuesAreCountedByName) {
  // A tensor that stays does not count.
  add("audio_injector.0.v.weight", true);
  for (const std::string_view name :
       {"blocks.2.v.weight", "blocks.10.v.weight", "blocks.0.v.weight", "blocks.1.v.weight", "blocks.3.v.weight"}) {
    add(name);
  }
  EXPECT_EQ(type_of("Q4_K_S", "audio_injector.0.v.weight"), TensorType::BF16);
  // In order of bytes: 0, 1, 10, 2, 3.
  EXPECT_EQ(type_of("Q4_K_S", "blocks.10.v.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q4_K_S", "blocks.2.v.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q4_K_S", "blocks.3.v.weight"), TensorType::Q4_K);
  EXPECT_EQ(type_of("Q3_K_M", "blocks.1.v.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q3_K_M", "blocks.10.v.weight"), TensorType::Q4_K);
}

TEST_F(ImageMixTypes, OuterBlocksHaveATypeOfTheirOwn) {
  add("transformer_blocks.0.attn.to_v.weight");
  add("transformer_blocks.59.img_mlp.net.2.weight");
  add("transformer_blocks.5.attn.to_v.weight");
  EXPECT_EQ(type_of("Q4_K_M", "transformer_blocks.0.attn.to_v.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q4_K_M", "transformer_blocks.59.img_mlp.net.2.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q4_K_M", "transformer_blocks.5.attn.to_v.weight"), TensorType::Q6_K);
  EXPECT_EQ(type_of("Q4_K_S", "transformer_blocks.59.img_mlp.net.2.weight"), TensorType::Q5_K);
  // Block 0 counts, so that block 5 is the second.
  EXPECT_EQ(type_of("Q3_K_M", "transformer_blocks.5.attn.to_v.weight"), TensorType::Q5_K);
  EXPECT_EQ(type_of("Q3_K_M", "transformer_blocks.0.attn.to_v.weight"), TensorType::Q4_K);
}

TEST_F(ImageMixTypes, RowsThatDoNotFitBecomeF16) {
  ne_ = {320, 4};
  add("a.weight");
  EXPECT_EQ(type_of("Q4_K_S", "a.weight"), TensorType::F16);
  EXPECT_EQ(type_of("Q8_0", "a.weight"), TensorType::Q8_0);
}

TEST_F(ImageMixTypes, MixesWithoutRulesAreRefused) {
  add("a.weight");
  for (const std::string_view name : {"IQ2_XS", "TQ1_0", "MXFP4_MOE", "Q2_K_S"}) {
    const auto choices = choose_types(model_, tensors_, {.mix = mix_from_name(name)});
    ASSERT_FALSE(choices) << name;
    EXPECT_EQ(choices.error().code, "quantize-image-mix");
  }
  EXPECT_FALSE(choose_types(model_, tensors_, {.mix = mix_from_name("Q8_0"), .pure = true}));
}

}  // namespace
}  // namespace modelutils::quantize
