// Converts small models of every architecture and checks names and values against the mapping.
#include "convert/to_gguf/mlx_to_gguf.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "arch/rope.h"
#include "convert/to_gguf/keys.h"
#include "mlx_to_gguf_fixture.h"

namespace modelutils::to_gguf {
namespace {

std::vector<float> with_permuted_rows(const test::HfTensor& tensor, u64 heads) {
  const u64 rows = tensor.shape[0];
  const u64 columns = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  const u64 d = rows / heads;
  std::vector<float> out(tensor.values.size());
  for (u64 head = 0; head < heads; ++head) {
    for (u64 j = 0; j < d / 2; ++j) {
      for (u64 t = 0; t < 2; ++t) {
        for (u64 c = 0; c < columns; ++c) {
          out[(head * d + 2 * j + t) * columns + c] = tensor.values[(head * d + t * (d / 2) + j) * columns + c];
        }
      }
    }
  }
  return out;
}

std::vector<float> plus_one(std::vector<float> values) {
  for (float& value : values) value += 1.0f;
  return values;
}

TEST_F(MlxToGguf, EveryArchitectureConvertsAndPassesParity) {
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2",
                           "gemma3_text", "phi3"}) {
    SCOPED_TRACE(type);
    const test::HfDirectory model = test::hf_directory(type);
    const std::string source = write(model, type);
    const Converted converted = convert(options_for(source));
    ASSERT_FALSE(converted.set.files.empty());
    EXPECT_EQ(parity_errors(converted, source), "");
    EXPECT_EQ(converted.report.inexact_tensors(), 0u);

    const bool gemma = std::string_view(type).starts_with("gemma");
    const bool permutes = converted.report.architecture == "llama";
    EXPECT_EQ(converted.values("token_embd.weight"), model.tensors.at("model.embed_tokens.weight").values);
    const std::vector<float>& norm = model.tensors.at("model.norm.weight").values;
    EXPECT_EQ(converted.values("output_norm.weight"), gemma ? plus_one(norm) : norm);
    EXPECT_EQ(converted.values("output.weight").empty(), gemma);
    if (std::string_view(type) == "phi3") {
      EXPECT_EQ(converted.values("blk.1.attn_qkv.weight"),
                model.tensors.at("model.layers.1.self_attn.qkv_proj.weight").values);
      EXPECT_EQ(converted.values("blk.1.ffn_up.weight"),
                model.tensors.at("model.layers.1.mlp.gate_up_proj.weight").values);
      continue;
    }
    const test::HfTensor& q = model.tensors.at("model.layers.1.self_attn.q_proj.weight");
    const test::HfTensor& k = model.tensors.at("model.layers.1.self_attn.k_proj.weight");
    EXPECT_EQ(converted.values("blk.1.attn_q.weight"), permutes ? with_permuted_rows(q, test::hf_heads) : q.values);
    EXPECT_EQ(converted.values("blk.1.attn_k.weight"), permutes ? with_permuted_rows(k, test::hf_heads_kv) : k.values);
    EXPECT_EQ(converted.values("blk.1.attn_v.weight"),
              model.tensors.at("model.layers.1.self_attn.v_proj.weight").values);
    const std::string ffn_norm = std::string_view(type) == "gemma2" || std::string_view(type) == "gemma3_text"
                                     ? "pre_feedforward_layernorm"
                                     : "post_attention_layernorm";
    const std::vector<float>& second = model.tensors.at("model.layers.1." + ffn_norm + ".weight").values;
    EXPECT_EQ(converted.values("blk.1.ffn_norm.weight"), gemma ? plus_one(second) : second);
  }
}

TEST_F(MlxToGguf, HyperParametersHaveTheExactTypes) {
  test::HfDirectory model = test::hf_directory("llama");
  const Converted converted = convert(options_for(write(model, "My-Model-4bit")));
  ASSERT_FALSE(converted.set.files.empty());
  EXPECT_EQ(converted.set.files.front().document.keys.front().key, "general.architecture");
  EXPECT_EQ(converted.value<std::string>("general.architecture"), "llama");
  EXPECT_EQ(converted.value<std::string>("general.name"), "My-Model");
  EXPECT_EQ(converted.value<u32>("general.file_type"), 0u);
  EXPECT_EQ(converted.value<u32>("llama.block_count"), 2u);
  EXPECT_EQ(converted.value<u32>("llama.context_length"), 512u);
  EXPECT_EQ(converted.value<u32>("llama.attention.head_count_kv"), 2u);
  EXPECT_EQ(converted.value<u32>("llama.rope.dimension_count"), 16u);
  EXPECT_EQ(converted.value<float>("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(converted.value<float>("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
  EXPECT_EQ(converted.value<u32>("llama.vocab_size"), 300u);
  EXPECT_EQ(converted.value<u32>("general.quantization_version"), 2u);
}

TEST_F(MlxToGguf, ExpertsAreStackedInAnyOfTheirForms) {
  test::HfDirectory one_by_one = test::hf_directory("qwen3_moe");
  const Converted expected = convert(options_for(write(one_by_one, "one")));
  ASSERT_NE(expected.catalog.find("blk.0.ffn_gate_exps.weight"), nullptr);
  const std::span<const u64> ne = expected.catalog.find("blk.0.ffn_gate_exps.weight")->ne;
  EXPECT_EQ(std::vector<u64>(ne.begin(), ne.end()),
            (std::vector<u64>{test::hf_embd, test::hf_ff_expert, test::hf_experts}));

  test::HfDirectory stacked = one_by_one;  // `stacked` as in MLX, `fused` as in transformers 5
  test::HfDirectory fused = one_by_one;
  for (u64 layer = 0; layer < test::hf_layers; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".mlp.";
    const auto gather = [&](const std::string& role) {
      test::HfTensor all;
      for (u64 e = 0; e < test::hf_experts; ++e) {
        const std::string name = p + "experts." + std::to_string(e) + "." + role + ".weight";
        const test::HfTensor& part = one_by_one.tensors.at(name);
        all.shape = {test::hf_experts, part.shape[0], part.shape[1]};
        all.values.insert(all.values.end(), part.values.begin(), part.values.end());
        stacked.tensors.erase(name);
        fused.tensors.erase(name);
      }
      return all;
    };
    const test::HfTensor gate = gather("gate_proj");
    const test::HfTensor up = gather("up_proj");
    const test::HfTensor down = gather("down_proj");
    stacked.tensors[p + "switch_mlp.gate_proj.weight"] = gate;
    stacked.tensors[p + "switch_mlp.up_proj.weight"] = up;
    stacked.tensors[p + "switch_mlp.down_proj.weight"] = down;
    test::HfTensor both;
    both.shape = {test::hf_experts, 2 * test::hf_ff_expert, test::hf_embd};
    const u64 size = test::hf_ff_expert * test::hf_embd;
    for (u64 e = 0; e < test::hf_experts; ++e) {
      const auto from = static_cast<std::ptrdiff_t>(e * size);
      const auto to = static_cast<std::ptrdiff_t>((e + 1) * size);
      both.values.insert(both.values.end(), gate.values.begin() + from, gate.values.begin() + to);
      both.values.insert(both.values.end(), up.values.begin() + from, up.values.begin() + to);
    }
    fused.tensors[p + "experts.gate_up_proj"] = both;
    fused.tensors[p + "experts.down_proj"] = down;
  }
  for (const auto& [name, model] : {std::pair{"stacked", &stacked}, {"fused", &fused}}) {
    SCOPED_TRACE(name);
    const Converted converted = convert(options_for(write(*model, name)));
    for (const char* role : {"gate", "up", "down"}) {
      const std::string tensor = std::string("blk.1.ffn_") + role + "_exps.weight";
      EXPECT_EQ(converted.values(tensor), expected.values(tensor)) << tensor;
    }
  }
}

TEST_F(MlxToGguf, MissingExpertIsRefused) {
  test::HfDirectory model = test::hf_directory("mixtral");
  model.tensors.erase("model.layers.1.block_sparse_moe.experts.2.w1.weight");
  EXPECT_EQ(refusal(options_for(write(model))), "hf-tensor-missing");
}

TEST_F(MlxToGguf, ExpertsOfOneStackAreOfOneType) {
  test::HfDirectory model = test::hf_directory("mixtral");
  model.config["quantization"] = R"({"group_size":64,"bits":4})";
  for (u64 layer = 0; layer < test::hf_layers; ++layer) {
    for (u64 expert = 0; expert < test::hf_experts; ++expert) {
      const std::string module =
          "model.layers." + std::to_string(layer) + ".block_sparse_moe.experts." + std::to_string(expert) + ".w1";
      const u64 rows = model.tensors.at(module + ".weight").shape[0];
      model.tensors[module + ".weight"] = {{rows, 8}, std::vector<float>(rows * 8, 0x123456), TensorType::U32};
      model.tensors[module + ".scales"] = {{rows, 1}, std::vector<float>(rows, 0.5f), TensorType::F16};
      model.tensors[module + ".biases"] = {{rows, 1}, std::vector<float>(rows, -1.0f), TensorType::F16};
    }
  }
  const Converted converted = convert(options_for(write(model)));
  EXPECT_EQ(converted.values("blk.1.ffn_gate_exps.weight")[0], 6 * 0.5f - 1.0f);
  for (const char* part : {"scales", "biases"}) {
    for (const TensorType type : {TensorType::BF16, TensorType::F32}) {
      test::HfDirectory odd = model;
      odd.tensors["model.layers.1.block_sparse_moe.experts.2.w1." + std::string(part)].type = type;
      EXPECT_EQ(refusal(options_for(write(odd))), "convert-experts") << part;
    }
  }
}

TEST_F(MlxToGguf, TiedModelsFollowTheArchitecture) {
  for (const auto& [type, copies] : {std::pair{"llama", false}, {"qwen2_moe", true}, {"phi3", true}}) {
    SCOPED_TRACE(type);
    test::HfDirectory model = test::hf_directory(type);
    model.tensors.erase("lm_head.weight");
    const Converted converted = convert(options_for(write(model, type)));
    EXPECT_EQ(converted.values("output.weight"),
              copies ? model.tensors.at("model.embed_tokens.weight").values : std::vector<float>());
  }
}

bool remarks_tied_head(const Converted& converted) {
  return std::ranges::any_of(converted.report.remarks.findings(),
                             [](const Finding& finding) { return finding.code == "convert-tied-head"; });
}

TEST_F(MlxToGguf, AHeadThatDiffersIsKeptWhateverConfigSays) {
  // phi3's loader requires an output head, llama's does not.
  for (const char* type : {"llama", "qwen3", "phi3"}) {
    for (const char* format : {"pt", "mlx"}) {
      SCOPED_TRACE(std::string(type) + " " + format);
      test::HfDirectory other = test::hf_directory(type);
      other.config["tie_word_embeddings"] = "true";
      other.format = format;
      const Converted kept = convert(options_for(write(other, type)));
      EXPECT_EQ(kept.values("output.weight"), other.tensors.at("lm_head.weight").values);
      EXPECT_TRUE(kept.report.left_out.empty());
      EXPECT_TRUE(remarks_tied_head(kept));
      EXPECT_EQ(parity_errors(kept, folder_.file(type)), "");
    }
  }
}

TEST_F(MlxToGguf, AHeadThatCopiesTheEmbeddingOfATiedModelIsLeftOut) {
  EXPECT_FALSE(remarks_tied_head(convert(options_for(write(test::hf_directory("llama"), "silent")))));
  test::HfDirectory same = test::hf_directory("llama");
  same.config["tie_word_embeddings"] = "true";
  test::HfTensor& embedding = same.tensors.at("model.embed_tokens.weight");
  for (float& value : embedding.values) value = std::round(value * 16) / 16;  // exact in F16
  same.tensors["lm_head.weight"] = embedding;
  for (const TensorType type : {TensorType::F32, TensorType::F16}) {
    same.tensors["lm_head.weight"].type = type;
    const Converted converted = convert(options_for(write(same, "same")));
    EXPECT_EQ(converted.catalog.find("output.weight"), nullptr);
    ASSERT_EQ(converted.report.left_out.size(), 1u);
    EXPECT_EQ(converted.report.left_out[0].name, "lm_head.weight");
    EXPECT_FALSE(remarks_tied_head(converted));
  }
  same.tensors["lm_head.weight"].values[7] += 1;
  EXPECT_NE(convert(options_for(write(same, "same"))).catalog.find("output.weight"), nullptr);

  // Only the embedding can serve as the head, although config.json denies it.
  test::HfDirectory none = test::hf_directory("llama");
  none.tensors.erase("lm_head.weight");
  none.config["tie_word_embeddings"] = "false";
  EXPECT_TRUE(remarks_tied_head(convert(options_for(write(none, "none")))));
}

TEST_F(MlxToGguf, AHeadThatTheEmbeddingReplacesIsLeftOut) {
  // Loaders that require a head get a copy of the embedding.
  test::HfDirectory phi = test::hf_directory("phi3");
  phi.config["tie_word_embeddings"] = "true";
  phi.tensors["lm_head.weight"] = phi.tensors.at("model.embed_tokens.weight");
  const Converted copied = convert(options_for(write(phi, "phi")));
  EXPECT_EQ(copied.values("output.weight"), phi.tensors.at("model.embed_tokens.weight").values);
  EXPECT_EQ(copied.report.left_out.size(), 1u);

  for (const char* type : {"gemma", "gemma2", "gemma3_text"}) {
    SCOPED_TRACE(type);
    test::HfDirectory same = test::hf_directory(type);
    same.tensors["lm_head.weight"] = same.tensors.at("model.embed_tokens.weight");
    for (const char* tied : {"", "true", "false"}) {
      if (*tied != 0) same.config["tie_word_embeddings"] = tied;
      const Converted converted = convert(options_for(write(same, type)));
      EXPECT_EQ(converted.catalog.find("output.weight"), nullptr) << tied;
      EXPECT_EQ(converted.report.left_out.size(), 1u) << tied;
    }
    test::HfDirectory other = same;
    other.tensors["lm_head.weight"].values[5] += 1;
    const MlxToGgufOptions options = options_for(write(other, type));
    if (std::string_view(type) == "gemma3_text") {
      EXPECT_EQ(convert(options).values("output.weight"), other.tensors["lm_head.weight"].values);
    } else {
      EXPECT_EQ(refusal(options), "convert-output-head");
    }
  }
}

TEST_F(MlxToGguf, OrderOfSlidingLayers) {
  test::HfDirectory model = test::hf_directory("gemma3_text");
  const auto convert_with = [&](const char* types) {
    model.config["layer_types"] = types;
    return options_for(write(model));
  };
  const char* pattern_key = "gemma3.attention.sliding_window_pattern";
  EXPECT_EQ(convert(convert_with(R"(["sliding_attention","full_attention"])")).value<u32>(pattern_key), 2u);
  // llama.cpp aborts on a window that no layer uses.
  const auto all_full = convert(convert_with(R"(["full_attention","full_attention"])"));
  EXPECT_EQ(all_full.key(pattern_key), nullptr);
  EXPECT_EQ(all_full.key("gemma3.attention.sliding_window"), nullptr);
  EXPECT_EQ(convert(convert_with(R"(["sliding_attention","sliding_attention"])")).key(pattern_key), nullptr);
  EXPECT_EQ(refusal(convert_with(R"(["full_attention","sliding_attention"])")), "convert-config");
  EXPECT_EQ(refusal(convert_with(R"(["sliding_attention"])")), "convert-config");
  model.config["rope_parameters"] =
      R"({"full_attention":{"rope_theta":1000000.0},"sliding_attention":{"rope_type":"linear","factor":4.0}})";
  EXPECT_EQ(refusal(convert_with(R"(["sliding_attention","full_attention"])")), "convert-config");
}

TEST_F(MlxToGguf, Llama3ScalingBecomesATensor) {
  test::HfDirectory model = test::hf_directory("llama");
  model.config["rope_theta"] = "500000.0";
  model.config["rope_scaling"] = R"({"rope_type":"llama3","factor":32,"low_freq_factor":1,"high_freq_factor":4,)"
                                 R"("original_max_position_embeddings":64})";
  const Converted converted = convert(options_for(write(model)));
  EXPECT_EQ(converted.values("rope_freqs.weight"), llama3_rope_freqs(500000.0, 16, {32, 1, 4, 64}));
  EXPECT_EQ(converted.key("llama.rope.scaling.type"), nullptr);

  test::HfDirectory other = test::hf_directory("qwen2");
  other.config["rope_scaling"] = model.config["rope_scaling"];
  EXPECT_EQ(refusal([&] {
              MlxToGgufOptions options = options_for(write(other, "other"));
              options.output = folder_.file("other.gguf");
              return options;
            }()),
            "convert-rope");
}

TEST_F(MlxToGguf, OtherScalingsBecomeKeys) {
  test::HfDirectory linear = test::hf_directory("llama");
  linear.config["rope_scaling"] = R"({"type":"linear","factor":4.0})";
  const Converted a = convert(options_for(write(linear, "linear")));
  EXPECT_EQ(a.value<std::string>("llama.rope.scaling.type"), "linear");
  EXPECT_EQ(a.value<float>("llama.rope.scaling.factor"), 4.0f);

  test::HfDirectory yarn = test::hf_directory("qwen3");
  yarn.config["rope_scaling"] =
      R"({"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":128,"beta_fast":16})";
  const Converted b = convert(options_for(write(yarn, "yarn")));
  EXPECT_EQ(b.value<std::string>("qwen3.rope.scaling.type"), "yarn");
  EXPECT_EQ(b.value<u32>("qwen3.rope.scaling.original_context_length"), 128u);
  EXPECT_EQ(b.value<float>("qwen3.rope.scaling.yarn_beta_fast"), 16.0f);

  test::HfDirectory longrope = test::hf_directory("phi3");
  longrope.config["rope_scaling"] =
      R"({"type":"longrope","long_factor":[1,2,3,4,5,6,7,8],"short_factor":[1,1,1,1,1,1,1,1]})";
  longrope.config["original_max_position_embeddings"] = "128";
  const Converted c = convert(options_for(write(longrope, "longrope")));
  EXPECT_EQ(c.values("rope_factors_long.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(c.value<u32>("phi3.rope.scaling.original_context_length"), 128u);
  EXPECT_FLOAT_EQ(c.value<float>("phi3.rope.scaling.attn_factor"),
                  static_cast<float>(longrope_attention_factor(512, 128)));
  EXPECT_EQ(c.value<u32>("phi3.attention.sliding_window"), 0u);

  test::HfDirectory dynamic = test::hf_directory("llama");
  dynamic.config["rope_scaling"] = R"({"type":"dynamic","factor":2.0})";
  const Converted d = convert(options_for(write(dynamic, "dynamic")));
  EXPECT_EQ(d.key("llama.rope.scaling.type"), nullptr);
  EXPECT_TRUE(std::any_of(d.report.remarks.begin(), d.report.remarks.end(),
                          [](const Finding& remark) { return remark.where == "rope_scaling"; }));
}

TEST_F(MlxToGguf, BrokenSideFilesThatAModelCanDoWithoutAreAWarning) {
  const test::HfDirectory model = test::hf_directory("llama");
  const std::string source = write(model);
  for (const auto& [file, text] : {std::pair{"generation_config.json", "{\"temperature\": "},
                                   {"generation_config.json", "[]"},
                                   {"generation_config.json", "{\"bos_token_id\": -1, \"top_k\": \"all\"}"},
                                   {"README.md", "---\nlicense: mit\n"},
                                   {"README.md", "---\nlicense: \xff\n---\n"}}) {
    SCOPED_TRACE(text);
    folder_.write(std::string("model/") + file, text);
    for (const bool no_vocab : {false, true}) {
      MlxToGgufOptions options = options_for(source);
      options.no_vocab = no_vocab;
      const Converted converted = convert(options);
      const auto about = [&, name = std::string_view(file)](const Finding& remark) {
        return remark.severity == Severity::warning && remark.where.starts_with(name);
      };
      const auto& remarks = converted.report.remarks;
      EXPECT_GE(std::count_if(remarks.begin(), remarks.end(), about), 1);
    }
    std::filesystem::remove(source + "/" + file);
  }
}

TEST_F(MlxToGguf, SamplingIsCarried) {
  const std::string source = write(test::hf_directory("llama"));
  folder_.write("model/generation_config.json", R"({"temperature":0.5,"top_k":20,"top_p":0.75,"min_p":0.25,
    "repetition_penalty":1.5})");
  for (const bool no_vocab : {false, true}) {
    MlxToGgufOptions options = options_for(source);
    options.no_vocab = no_vocab;
    const Converted converted = convert(options);
    EXPECT_EQ(converted.value<float>("general.sampling.temp"), 0.5f);
    EXPECT_EQ(converted.value<i32>("general.sampling.top_k"), 20);
    EXPECT_EQ(converted.value<float>("general.sampling.top_p"), 0.75f);
    EXPECT_EQ(converted.value<float>("general.sampling.min_p"), 0.25f);
    EXPECT_EQ(converted.value<float>("general.sampling.penalty_repeat"), 1.5f);
  }
}

TEST_F(MlxToGguf, ASnapshotOfTheCacheIsNamedByItsRepository) {
  const std::string snapshot = "models--org--Some-7B-Chat/snapshots/" + std::string(40, 'a');
  const Converted converted = convert(options_for(write(test::hf_directory("llama"), snapshot)));
  EXPECT_EQ(converted.value<std::string>("general.name"), "Some-7B-Chat");
  EXPECT_EQ(converted.value<std::string>("general.organization"), "Org");
  EXPECT_EQ(converted.value<std::string>("general.basename"), "Some");
  const Converted bare = convert(options_for(write(test::hf_directory("llama"), std::string(40, 'a'))));
  EXPECT_EQ(bare.key("general.name"), nullptr);
}

}  // namespace
}  // namespace modelutils::to_gguf
