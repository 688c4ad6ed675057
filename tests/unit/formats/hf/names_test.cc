#include "formats/hf/names.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils::hf {

namespace {

TEST(Names, LoseTheirWrappers) {
  EXPECT_EQ(canonical_name("language_model.model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name("model.language_model.layers.0.x"), "model.layers.0.x");
  EXPECT_EQ(canonical_name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(canonical_name("language_model.language_model.a"), "a");
  EXPECT_EQ(canonical_name("model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name("model.text_model.layers.0.x"), "model.layers.0.x");
  EXPECT_EQ(canonical_name("thinker.model.layers.0.x"), "model.layers.0.x");
  EXPECT_EQ(canonical_name("language_model.layers.0.x"), "model.layers.0.x") << "mlx-vlm's Idefics3 lacks model.";
  EXPECT_EQ(canonical_name("language_model.embed_tokens.scales"), "model.embed_tokens.scales");
  EXPECT_EQ(canonical_name("language_model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name("layers.0.x"), "layers.0.x") << "only a wrapper gets it";
  EXPECT_EQ(canonical_name(""), "");
}

TEST(Names, Classes) {
  for (const char* name :
       {"vision_tower.x.weight", "model.vision_model.y", "visual.patch", "multi_modal_projector.linear",
        "mm_projector.proj.0.weight", "audio_tower.z",
        // InternVL, Idefics3 and SmolVLM, Janus, PaddleOCR-VL, LFM2-VL, Gemma 4, LightOnOCR,
        // DeepSeek-OCR, HunyuanOCR, CogVLM, MiniCPM-V 4.6, Granite Vision
        "mlp1.0.weight", "model.connector.modality_projection.proj.weight", "connector.x", "model.aligner.fc1.bias",
        "model.vqmodel.quantize.x", "model.generation_head.proj_out.weight", "mlp_AR.linear_1.weight",
        "model.embed_vision.embedding_projection.weight", "embed_audio.embedding_projection.weight",
        "model.vision_encoder.x", "model.sam_model.x", "model.projector.layers.weight", "model.image_newline",
        "model.view_seperator", "vit.perceive.proj.0.weight", "model.vision.boi", "model.merger.mlp.0.pre_norm.weight",
        "vit_merger.x", "model.layerwise_projectors.0.x", "talker.model.layers.0.x"}) {
    EXPECT_EQ(classify_name(name), NameClass::other_modality) << name;
  }
  for (const char* name : {"mtp.layers.0", "model.mtp_block.0.x"}) {
    EXPECT_EQ(classify_name(name), NameClass::prediction) << name;
  }
  for (const char* name : {"model.layers.0.self_attn.rotary_emb.inv_freq", "h.0.attention.masked_bias",
                           "h.0.attention.bias", "h.0.attn.bias", "model.layers.0.attention.rope.inv_freq"}) {
    EXPECT_EQ(classify_name(name), NameClass::derived) << name;
  }
  for (const char* name : {"model.layers.0.self_attn.q_proj.bias", "model.layers.0.mlp.connector.weight",
                           "model.layers.0.vision", "lm_head.weight"}) {
    EXPECT_EQ(classify_name(name), NameClass::keep) << name;
  }
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

namespace modelutils {

// Expected values: the results of get_model_id_components() in gguf-py's metadata.py.

namespace {

// "organisation | name | basename | size | finetune | version"
std::string parts(std::string_view id, u64 parameters = 0) {
  const hf::ModelId parsed = hf::parse_model_id(id, parameters);
  return parsed.organization + "|" + parsed.name + "|" + parsed.basename + "|" + parsed.size_label + "|" +
         parsed.finetune + "|" + parsed.version;
}

TEST(ModelId, PartsOfRealNames) {
  EXPECT_EQ(parts("meta-llama/Llama-3.2-1B-Instruct"), "meta-llama|Llama-3.2-1B-Instruct|Llama-3.2|1B|Instruct|");
  EXPECT_EQ(parts("mistralai/Mistral-7B-Instruct-v0.2"), "mistralai|Mistral-7B-Instruct-v0.2|Mistral|7B|Instruct|v0.2");
  EXPECT_EQ(parts("Mixtral-8x7B-v0.1"), "|Mixtral-8x7B-v0.1|Mixtral|8x7B||v0.1");
  EXPECT_EQ(parts("Qwen/Qwen3-30B-A3B"), "Qwen|Qwen3-30B-A3B|Qwen3|30B-A3B||");
  EXPECT_EQ(parts("bigscience/bloom-7b1-petals"), "bigscience|bloom-7b1-petals|bloom|7.1B|petals|");
  EXPECT_EQ(parts("Phi-3-mini-4k-instruct", 3821079552), "|Phi-3-mini-4k-instruct|Phi-3|mini|4k-instruct|");
  EXPECT_EQ(parts("Phi-3-mini-4k-instruct"), "|Phi-3-mini-4k-instruct|Phi-3-mini|4K|instruct|");
  EXPECT_EQ(parts("gemma-2b-it"), "|gemma-2b-it|gemma|2B|it|");
  EXPECT_EQ(parts("TinyLlama-1.1B-Chat-v1.0"), "|TinyLlama-1.1B-Chat-v1.0|TinyLlama|1.1B|Chat|v1.0");
  EXPECT_EQ(parts("Model-v2"), "|Model-v2|Model|||v2") << "a version at the end is not part of the base name";
  EXPECT_EQ(parts("Model-v2-7B-7B"), "|Model-v2-7B-7B|Model-v2|7B||");
  EXPECT_EQ(parts("Model-7B-chat-chat"), "|Model-7B-chat-chat|Model|7B|chat-chat|");
  EXPECT_EQ(parts("Model-7B-chat-Q4_K_M"), "|Model-7B-chat-Q4_K_M|Model|7B|chat|") << "a type is no part of the rest";
}

TEST(ModelId, VagueNames) {
  EXPECT_EQ(parts("gpt2"), "|gpt2||||") << "a base name alone is left out";
  EXPECT_EQ(parts("org/name"), "org|name||||");
  EXPECT_EQ(parts("A title with spaces 7B"), "|A title with spaces 7B||||");
  EXPECT_EQ(parts("./there-7B"), "|there-7B|there|7B||");
  EXPECT_EQ(parts(""), "|||||");
  EXPECT_EQ(parts("-"), "|-||||");
  EXPECT_EQ(parts("7B-x"), "|7B-x|||7B-x|") << "a size is not the first part";
}

TEST(ModelId, SizesFarFromTheModelsAreContextLengths) {
  EXPECT_EQ(parts("Llama-7B-128K", 6738415616), "|Llama-7B-128K|Llama|7B|128k|");
  EXPECT_EQ(parts("Llama-7B", 1000000), "|Llama-7B|Llama||7b|");
  EXPECT_EQ(parts("Llama-8x7B", 1000000), "|Llama-8x7B|Llama|8x7B||") << "counts something else";
}

TEST(ModelId, PackingsAreNoPartOfTheName) {
  EXPECT_EQ(parts("mlx-community/Qwen2.5-0.5B-Instruct-4bit"),
            "mlx-community|Qwen2.5-0.5B-Instruct|Qwen2.5|0.5B|Instruct|");
  EXPECT_EQ(hf::without_packing("Model-MLX-4bit"), "Model");
  EXPECT_EQ(hf::without_packing("-4bit"), "-4bit") << "a name is not emptied";
}

TEST(ModelId, HostileNamesAreCheap) {
  const std::string dashes(1 << 20, '-');
  EXPECT_EQ(hf::parse_model_id(dashes, 0).basename, "");
  std::string parts_of_one;
  for (int i = 0; i < 100000; ++i) parts_of_one += "7B-";
  EXPECT_EQ(hf::parse_model_id(parts_of_one, 0).size_label, "");
}

TEST(ModelTitle, WordsGetCapitals) {
  EXPECT_EQ(hf::model_title("meta-llama"), "Meta Llama");
  EXPECT_EQ(hf::model_title("Qwen2.5-0.5B-instruct-v0.2"), "Qwen2.5 0.5B Instruct v0.2");
  EXPECT_EQ(hf::model_title("gpt2b-NeoX--20b"), "Gpt2B NeoX 20b");
  EXPECT_EQ(hf::model_title(""), "");
}

TEST(CachedRepository, IsNamedByTheCache) {
  EXPECT_EQ(hf::cached_repository("/c/hub/models--meta-llama--Llama-3.2-1B/snapshots/0123"), "meta-llama/Llama-3.2-1B");
  EXPECT_EQ(hf::cached_repository("models--gpt2"), "gpt2");
  EXPECT_EQ(hf::cached_repository("/models/llama"), std::nullopt);
  EXPECT_EQ(hf::cached_repository("/models--/x"), std::nullopt);
}

TEST(DirectoryName, IsNeverARevision) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const test::TempDir dir;
  const std::string revision(40, 'a');
  dir.write(revision + "/x", "");
  EXPECT_EQ(hf::directory_name(dir.path() + "/" + revision), "");
  dir.write("Some-Model/x", "");
  EXPECT_EQ(hf::directory_name(dir.path() + "/Some-Model//"), "Some-Model");
  test::make_link("Some-Model", dir.path() + "/link");
  EXPECT_EQ(hf::directory_name(dir.path() + "/link"), "Some-Model");
}

}  // namespace

}  // namespace modelutils
