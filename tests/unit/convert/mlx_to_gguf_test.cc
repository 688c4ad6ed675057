// Whole conversions of small models of every architecture, compared with what the mapping says of names and values.
#include "convert/mlx_to_gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "convert/hf_to_gguf_keys.h"
#include "gguf/parse.h"
#include "gguf/split_set.h"
#include "json/reader.h"
#include "model/gguf_catalog.h"
#include "model/rope_scaling.h"
#include "support/hf_directory.h"
#include "support/temp_dir.h"
#include "verify/parity_mlx.h"

namespace modelutils::convert {
namespace {

// What a conversion left on the disk.
struct Converted {
  ConversionReport report;
  std::string path;
  gguf::SplitSet set;
  Catalog catalog;

  std::vector<float> values(const std::string& name) const {
    const CatalogTensor* tensor = catalog.find(name);
    if (tensor == nullptr) return {};
    u64 count = 1;
    for (u64 dim : tensor->ne) count *= dim;
    std::vector<float> out(count);
    EXPECT_TRUE(read_values(catalog, *tensor, 0, out)) << name;
    return out;
  }
  const gguf::KeyValue* key(std::string_view name) const { return set.files.front().document.find(name); }
  template <typename T>
  T value(std::string_view name) const {
    const gguf::KeyValue* found = key(name);
    if (found == nullptr || !std::holds_alternative<T>(found->value)) {
      ADD_FAILURE() << name << " is missing or of another type";
      return T{};
    }
    return std::get<T>(found->value);
  }
};

class MlxToGguf : public ::testing::Test {
 protected:
  MlxToGgufOptions options_for(const std::string& directory) {
    MlxToGgufOptions options;
    options.directory = directory;
    options.output = folder_.file("out.gguf");
    options.force = true;
    options.threads = 2;
    return options;
  }

  std::string write(const test::HfDirectory& model, const std::string& name = "model") {
    std::filesystem::create_directories(folder_.file(name));
    model.write(folder_.file(name));
    return folder_.file(name);
  }

  Converted convert(const MlxToGgufOptions& options) {
    Converted result;
    Progress silent;
    Result<ConversionReport> report = mlx_to_gguf(options, silent);
    if (!report) {
      ADD_FAILURE() << options.directory << ": " << report.error().where << ": " << report.error().message << " ["
                    << report.error().code << "]";
      return result;
    }
    result.report = std::move(*report);
    result.path = result.report.files.front().path;
    Result<gguf::SplitSet> set = gguf::open_set(result.path);
    if (!set) {
      ADD_FAILURE() << set.error().message;
      return result;
    }
    result.set = std::move(*set);
    result.catalog = gguf_catalog(result.set);
    return result;
  }

  std::string refusal(const MlxToGgufOptions& options) {
    Progress silent;
    const Result<ConversionReport> report = mlx_to_gguf(options, silent);
    EXPECT_EQ(std::filesystem::exists(options.output), report.has_value());
    std::filesystem::remove(options.output);
    return report ? "converted" : report.error().code;
  }

  // Errors of verify --against, as text; empty if there is none.
  std::string parity_errors(const Converted& converted, const std::string& source) {
    CheckedModel checked;
    checked.catalog = converted.catalog;
    const Result<FindingLog> log = compare_with_mlx(checked, converted.path, source);
    if (!log) return log.error().code + ": " + log.error().message;
    std::string text;
    for (const Finding& finding : log->findings()) {
      if (finding.severity == Severity::error)
        text += finding.code + " " + finding.where + ": " + finding.message + "\n";
    }
    return text;
  }

  test::TempDir folder_;
};

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
  EXPECT_EQ(converted.key("general.quantization_version"), nullptr);
}

TEST_F(MlxToGguf, ExpertsAreStackedInAnyOfTheirForms) {
  test::HfDirectory one_by_one = test::hf_directory("qwen3_moe");
  const Converted expected = convert(options_for(write(one_by_one, "one")));
  ASSERT_NE(expected.catalog.find("blk.0.ffn_gate_exps.weight"), nullptr);
  EXPECT_EQ(expected.catalog.find("blk.0.ffn_gate_exps.weight")->ne,
            (std::vector<u64>{test::hf_embd, test::hf_ff_expert, test::hf_experts}));

  test::HfDirectory stacked = one_by_one;  // as MLX stores them, and as transformers 5 does
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

TEST_F(MlxToGguf, TiedModelsFollowTheArchitecture) {
  for (const auto& [type, copies] : {std::pair{"llama", false}, {"qwen2_moe", true}, {"phi3", true}}) {
    SCOPED_TRACE(type);
    test::HfDirectory model = test::hf_directory(type);
    model.tensors.erase("lm_head.weight");
    const Converted converted = convert(options_for(write(model, type)));
    EXPECT_EQ(converted.values("output.weight"),
              copies ? model.tensors.at("model.embed_tokens.weight").values : std::vector<float>());
  }
  test::HfDirectory both = test::hf_directory("llama");
  both.config["tie_word_embeddings"] = "true";
  const Converted converted = convert(options_for(write(both, "both")));
  EXPECT_EQ(converted.catalog.find("output.weight"), nullptr);
  ASSERT_EQ(converted.report.left_out.size(), 1u);
  EXPECT_TRUE(converted.report.left_out[0].starts_with("lm_head.weight"));
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

TEST_F(MlxToGguf, SplitsIntoFilesThatReadAsOneModel) {
  const test::HfDirectory model = test::hf_directory("llama");
  const std::string source = write(model);
  MlxToGgufOptions options = options_for(source);
  options.split_max_size = 60000;
  const Converted converted = convert(options);
  ASSERT_GT(converted.report.files.size(), 2u);
  EXPECT_TRUE(converted.report.files[0].path.ends_with("out-00001-of-0000" +
                                                       std::to_string(converted.report.files.size()) + ".gguf"));
  EXPECT_EQ(converted.set.files.size(), converted.report.files.size());
  EXPECT_TRUE(converted.set.findings.empty());
  EXPECT_EQ(parity_errors(converted, source), "");
  EXPECT_EQ(converted.value<u16>("split.count"), converted.report.files.size());
}

TEST_F(MlxToGguf, PipeGetsTheSameBytes) {
  const std::string source = write(test::hf_directory("llama"));
  const Converted converted = convert(options_for(source));
  MlxToGgufOptions piped = options_for(source);
  piped.output = folder_.file("fifo");
  ASSERT_EQ(
      std::system(("mkfifo " + piped.output + " && cat " + piped.output + " > " + folder_.file("copy") + " &").c_str()),
      0);
  while (!std::filesystem::exists(piped.output)) {
  }
  Progress silent;
  ASSERT_TRUE(mlx_to_gguf(piped, silent));
  for (int i = 0; i < 100 && test::read_file(folder_.file("copy")) != test::read_file(converted.path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(test::read_file(folder_.file("copy")), test::read_file(converted.path));
}

TEST_F(MlxToGguf, BrokenModelsAreRefusedWithoutOutput) {
  struct Case {
    const char* what;
    std::function<void(test::HfDirectory&)> change;
    std::string code;
  };
  const std::vector<Case> cases = {
      {"stray tensor",
       [](auto& m) {
         m.add("model.mystery.weight", {4, 4});
       },
       "convert-unmapped"},
      {"missing tensor", [](auto& m) { m.tensors.erase("model.layers.1.mlp.up_proj.weight"); }, "hf-tensor-missing"},
      {"wrong shape",
       [](auto& m) {
         m.add("model.layers.1.mlp.up_proj.weight", {95, 64});
       },
       "hf-feed-forward"},
      {"unknown architecture", [](auto& m) { m.config["architectures"] = "[\"FooForCausalLM\"]"; },
       "convert-architecture"},
      {"foreign method", [](auto& m) { m.config["quantization_config"] = R"({"quant_method":"gptq","bits":4})"; }, ""},
      {"heads contradict", [](auto& m) { m.config["num_attention_heads"] = "8"; }, ""},
      {"no epsilon", [](auto& m) { m.config.erase("rms_norm_eps"); }, "convert-config"},
      {"activation", [](auto& m) { m.config["hidden_act"] = "\"relu\""; }, "convert-config"},
      {"partial rotary", [](auto& m) { m.config["partial_rotary_factor"] = "0.5"; }, "convert-architecture"},
      {"no tokenizer", [](auto& m) { m.tokenizer_json.clear(); }, "hf-tok-missing"},
      {"lm_head bias", [](auto& m) { m.add("lm_head.bias", {300}); }, "convert-unmapped"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    test::HfDirectory model = test::hf_directory("llama");
    one.change(model);
    const std::string code = refusal(options_for(write(model, one.what)));
    if (one.code.empty()) {
      EXPECT_NE(code, "converted");
    } else {
      EXPECT_EQ(code, one.code);
    }
  }
}

TEST_F(MlxToGguf, NoVocabConvertsWithoutATokenizer) {
  test::HfDirectory model = test::hf_directory("llama");
  model.tokenizer_json.clear();
  MlxToGgufOptions options = options_for(write(model));
  options.no_vocab = true;
  const Converted converted = convert(options);
  EXPECT_EQ(converted.value<std::string>("tokenizer.ggml.model"), "no_vocab");
}

TEST_F(MlxToGguf, PhiInTheNameNeedsItsTokens) {
  MlxToGgufOptions options = options_for(write(test::hf_directory("llama"), "phi-3-clone"));
  EXPECT_EQ(convert(options).report.name, "");
  std::filesystem::remove(options.output);
  options.name = "Phi-3 clone";
  EXPECT_EQ(refusal(options), "convert-name");
}

TEST_F(MlxToGguf, SizeLabels) {
  EXPECT_EQ(size_label(7241732096, 0, 0), "7.2B");
  EXPECT_EQ(size_label(13015864320, 0, 0), "13B");
  EXPECT_EQ(size_label(494032768, 0, 0), "494M");
}

TEST_F(MlxToGguf, DemoModelIsExactAndReported) {
  const std::string source = std::string(TEST_DATA_DIR) + "/demo-model";
  const Converted converted = convert(options_for(source));
  EXPECT_EQ(parity_errors(converted, source), "");
  EXPECT_EQ(converted.report.inexact_tensors(), 0u);
  const Result<std::unique_ptr<json::Document>> report = json::parse(report_json(converted.report), "report");
  ASSERT_TRUE(report);
  EXPECT_EQ(json::string_member((*report)->root, "schema"), "mlx2gguf/1");
  EXPECT_EQ(json::u64_member(*json::member((*report)->root, "totals"), "tensors"), converted.report.tensors.size());
  EXPECT_NE(report_text(converted.report, true).find("affine 4-bit, group 64, F16 scales, exact"), std::string::npos);
  EXPECT_EQ(converted.value<std::string>("tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(converted.value<std::string>("general.license"), "mit");
  EXPECT_EQ(converted.value<u32>("tokenizer.ggml.bos_token_id"), 509u);
  EXPECT_EQ(converted.catalog.find("token_embd.weight")->type, TensorType::Q4_1);
}

TEST_F(MlxToGguf, DryRunWritesNothing) {
  MlxToGgufOptions options = options_for(std::string(TEST_DATA_DIR) + "/demo-model");
  options.dry_run = true;
  Progress silent;
  const Result<ConversionReport> report = mlx_to_gguf(options, silent);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->dry_run);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_F(MlxToGguf, ReferenceModelsConvertAndPassParity) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SHARED_DIR) + "/corpus/mlx")) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Converted converted = convert(options_for(entry.path().string()));
    EXPECT_EQ(parity_errors(converted, entry.path().string()), "");
    for (const TensorReport& tensor : converted.report.tensors) {
      if (!tensor.exact) {
        EXPECT_TRUE(tensor.measured) << tensor.name;
        EXPECT_GT(tensor.error.relative_rms(), 0.0) << tensor.name;
        EXPECT_LT(tensor.error.relative_rms(), 0.01) << tensor.name;
      }
    }
    ++models;
  }
  EXPECT_EQ(models, 23);
}

TEST_F(MlxToGguf, ExactRefusesAndFallbacksAreReported) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  MlxToGgufOptions options = options_for(std::string(SHARED_DIR) + "/corpus/mlx/llama_f16_6b_g64");
  options.repack.exact = true;
  EXPECT_EQ(refusal(options), "convert-inexact");
  options.repack.fallback = TensorType::F32;
  EXPECT_EQ(convert(options).report.inexact_tensors(), 0u);
  options.repack.exact = false;
  double before = 1;
  for (TensorType fallback : {TensorType::BF16, TensorType::Q8_0, TensorType::F16}) {
    options.repack.fallback = fallback;
    const Converted converted = convert(options);
    const CatalogTensor* tensor = converted.catalog.find("blk.0.attn_q.weight");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->type, fallback);
    const auto row = std::find_if(converted.report.tensors.begin(), converted.report.tensors.end(),
                                  [](const TensorReport& report) { return report.name == "blk.0.attn_q.weight"; });
    EXPECT_FALSE(row->exact);
    EXPECT_LT(row->error.relative_rms(), before) << "each of these holds more than the one before";
    before = row->error.relative_rms();
  }
}

TEST_F(MlxToGguf, CompatAvoidsNewTypes) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  for (const auto& [name, type] :
       {std::pair{"llama_bf16_mxfp4", TensorType::Q5_0}, {"llama_bf16_nvfp4", TensorType::F16}}) {
    SCOPED_TRACE(name);
    MlxToGgufOptions options = options_for(std::string(SHARED_DIR) + "/corpus/mlx/" + name);
    options.repack.compat = true;
    const Converted converted = convert(options);
    EXPECT_EQ(converted.catalog.find("blk.0.attn_q.weight")->type, type);
    EXPECT_EQ(converted.report.inexact_tensors(), 0u);
    EXPECT_EQ(parity_errors(converted, options.directory), "");
  }
}

}  // namespace
}  // namespace modelutils::convert
