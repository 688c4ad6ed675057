#include "hf/tensor_names.h"

#include <gtest/gtest.h>

namespace modelutils::hf {
namespace {

TEST(Names, LoseTheirWrappers) {
  EXPECT_EQ(canonical_name("language_model.model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name("model.language_model.layers.0.x"), "model.layers.0.x");
  EXPECT_EQ(canonical_name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(canonical_name("language_model.language_model.a"), "a");
  EXPECT_EQ(canonical_name("model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name(""), "");
}

TEST(Names, Classes) {
  for (const char* name : {"vision_tower.x.weight", "model.vision_model.y", "visual.patch",
                           "multi_modal_projector.linear", "mm_projector.proj.0.weight", "audio_tower.z"}) {
    EXPECT_EQ(classify_name(name), NameClass::other_modality) << name;
  }
  for (const char* name : {"mtp.layers.0", "model.mtp_block.0.x"}) {
    EXPECT_EQ(classify_name(name), NameClass::prediction) << name;
  }
  for (const char* name : {"model.layers.0.self_attn.rotary_emb.inv_freq", "h.0.attention.masked_bias",
                           "h.0.attention.bias", "h.0.attn.bias", "model.layers.0.attention.rope.inv_freq"}) {
    EXPECT_EQ(classify_name(name), NameClass::derived) << name;
  }
  EXPECT_EQ(classify_name("model.layers.0.self_attn.q_proj.bias"), NameClass::keep);
}

TEST(Names, Suffixes) {
  EXPECT_EQ(split_name("a.b.weight").module, "a.b");
  EXPECT_EQ(split_name("a.b.weight").suffix, Suffix::weight);
  EXPECT_EQ(split_name("a.bias").suffix, Suffix::bias);
  EXPECT_EQ(split_name("a.biases").suffix, Suffix::biases);
  EXPECT_EQ(split_name("a.scales").suffix, Suffix::scales);
  for (const char* name : {"weight", ".weight", "a.weights", "a.weight.", "", "a.WEIGHT"}) {
    EXPECT_EQ(split_name(name).suffix, Suffix::none) << name;
    EXPECT_EQ(split_name(name).module, name);
  }
}

}  // namespace
}  // namespace modelutils::hf
