// Outputs, reports and refusals of conversions: split outputs, pipes, options, broken models, files written by MLX.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "json/reader.h"
#include "mlx_to_gguf_fixture.h"
#include "report/transfer_report.h"
#include "support/temp_dir.h"

namespace modelutils::to_gguf {
namespace {

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
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const std::string source = write(test::hf_directory("llama"));
  const Converted converted = convert(options_for(source));
  MlxToGgufOptions piped = options_for(source);
  piped.output = folder_.file("fifo");
  test::make_fifo(piped.output);
  std::string copy;
  {
    const std::jthread reader([&] { copy = test::read_file(piped.output); });  // ends when the writer closes the pipe
    Progress silent;
    ASSERT_TRUE(mlx_to_gguf(piped, silent));
  }
  EXPECT_EQ(copy, test::read_file(converted.path));
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
      {"heads contradict", [](auto& m) { m.config["num_attention_heads"] = "8"; }, ""},
      {"no epsilon", [](auto& m) { m.config.erase("rms_norm_eps"); }, "convert-config"},
      {"activation", [](auto& m) { m.config["hidden_act"] = "\"relu\""; }, "convert-config"},
      {"partial rotary of a new config",
       [](auto& m) { m.config["rope_parameters"] = R"({"rope_theta":1e4,"partial_rotary_factor":0.5})"; },
       "convert-architecture"},
      {"base of the rope", [](auto& m) { m.config["rope_theta"] = "-5"; }, "hf-rope"},
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

// Published models may keep the publisher's quantization_config after dequantisation; the tensors count.
TEST_F(MlxToGguf, PlainWeightsConvertWhateverQuantizationConfigSays) {
  test::HfDirectory model = test::hf_directory("llama");
  model.config["quantization_config"] = R"({"quant_method":"gptq","bits":4})";
  EXPECT_EQ(refusal(options_for(write(model, "plain"))), "converted");
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

TEST_F(MlxToGguf, PhiIsCalledPhi) {
  test::HfDirectory model = test::hf_directory("phi3");
  EXPECT_EQ(convert(options_for(write(model, "clone"))).report.name, "clone") << "a vocabulary without Phi-3's tokens";
  for (const std::string_view token : {"</s>", "<unk>", "<s>"}) {
    const std::size_t at = model.tokenizer_json.find("\"ab\":");
    model.tokenizer_json.insert(at, fmt::format("\"{}\":{},", token, 260 + token.size()));
  }
  const Converted converted = convert(options_for(write(model, "clone")));
  EXPECT_EQ(converted.report.name, "Phi-3 clone");
  EXPECT_EQ(converted.value<std::string>("general.name"), "Phi-3 clone");
}

TEST_F(MlxToGguf, DemoModelIsExactAndReported) {
  const std::string source = test::data_dir() + "/demo-model";
  const Converted converted = convert(options_for(source));
  EXPECT_EQ(parity_errors(converted, source), "");
  EXPECT_EQ(converted.report.inexact_tensors(), 0u);
  const Result<std::unique_ptr<json::Document>> report = json::parse(transfer_json(converted.report), "report");
  ASSERT_TRUE(report);
  EXPECT_EQ(json::string_member((*report)->root, "schema"), "mlx2gguf/1");
  EXPECT_EQ(json::u64_member(*json::member((*report)->root, "totals"), "tensors"), converted.report.tensors.size());
  EXPECT_NE(transfer_text(converted.report, true).find("affine 4-bit, group 64, F16 scales, exact"), std::string::npos);
  EXPECT_EQ(converted.value<std::string>("tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(converted.value<std::string>("general.license"), "mit");
  EXPECT_EQ(converted.value<u32>("tokenizer.ggml.bos_token_id"), 509u);
  EXPECT_EQ(converted.catalog.find("token_embd.weight")->type, TensorType::Q4_1);
}

TEST_F(MlxToGguf, DryRunWritesNothing) {
  MlxToGgufOptions options = options_for(test::data_dir() + "/demo-model");
  options.dry_run = true;
  Progress silent;
  const Result<TransferReport> report = mlx_to_gguf(options, silent);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->dry_run);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

// Compares a dry run with the report of the conversion.
u64 compare_dry_run(MlxToGgufOptions options, const TransferReport& done) {
  options.dry_run = true;
  Progress silent;
  const Result<TransferReport> dry = mlx_to_gguf(options, silent);
  if (!dry) ADD_FAILURE() << dry.error().message;
  if (!dry || dry->tensors.size() != done.tensors.size()) return 0;
  // A dry run assumes that f16 holds bf16 scales; if one is larger, the tensor becomes F32.
  const auto is_too_large = [](const TensorReport& tensor) {
    return tensor.reason.find("too large for f16") != std::string::npos;
  };
  if (std::none_of(done.tensors.begin(), done.tensors.end(), is_too_large)) {
    EXPECT_EQ(dry->bytes(), done.bytes());
  }
  for (std::size_t i = 0; i < done.tensors.size(); ++i) {
    if (is_too_large(done.tensors[i])) {
      EXPECT_FALSE(dry->tensors[i].exact.has_value()) << done.tensors[i].name;
      continue;
    }
    EXPECT_EQ(dry->tensors[i].form, done.tensors[i].form) << done.tensors[i].name;
    if (!dry->tensors[i].exact) continue;
    EXPECT_EQ(dry->tensors[i].exact, done.tensors[i].exact) << done.tensors[i].name;
    EXPECT_EQ(dry->tensors[i].reason, done.tensors[i].reason) << done.tensors[i].name;
  }
  return dry->unmeasured_tensors();
}

TEST_F(MlxToGguf, ADryRunSaysWhatItHasNotMeasured) {
  const MlxToGgufOptions options = options_for(test::data_dir() + "/mlx/h96_bf16_4b_g32");
  EXPECT_GT(compare_dry_run(options, convert(options).report), 0u) << "whether f16 holds bf16 scales is not known";
  MlxToGgufOptions exact = options;
  exact.dry_run = exact.repack.exact = true;
  exact.repack.fallback = TensorType::F32;
  Progress silent;
  const Result<TransferReport> report = mlx_to_gguf(exact, silent);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->unmeasured_tensors(), 0u) << "whether it is refused depends on it";
}

TEST_F(MlxToGguf, ReferenceModelsConvertAndPassParity) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/mlx")) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Converted converted = convert(options_for(entry.path().string()));
    EXPECT_EQ(parity_errors(converted, entry.path().string()), "");
    for (const TensorReport& tensor : converted.report.tensors) {
      if (tensor.exact != true) {
        EXPECT_GT(tensor.rms.value_or(0), 0.0) << tensor.name;
        EXPECT_LT(tensor.rms.value_or(1), 0.01) << tensor.name;
      }
    }
    compare_dry_run(options_for(entry.path().string()), converted.report);
    ++models;
  }
  EXPECT_EQ(models, 23);
}

TEST_F(MlxToGguf, ExactRefusesAndFallbacksAreReported) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  MlxToGgufOptions options = options_for(test::shared_dir() + "/corpus/mlx/llama_f16_6b_g64");
  options.repack.exact = true;
  EXPECT_EQ(refusal(options), "convert-inexact");
  options.repack.fallback = TensorType::F32;
  EXPECT_EQ(convert(options).report.inexact_tensors(), 0u);
  options.repack.exact = false;
  double before = 1;
  for (TensorType fallback : {TensorType::BF16, TensorType::Q8_0, TensorType::F16}) {
    options.repack.fallback = fallback;
    const Converted converted = convert(options);
    const Tensor* tensor = converted.catalog.find("blk.0.attn_q.weight");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->type, fallback);
    const auto row = std::find_if(converted.report.tensors.begin(), converted.report.tensors.end(),
                                  [](const TensorReport& report) { return report.name == "blk.0.attn_q.weight"; });
    EXPECT_EQ(row->exact, false);
    EXPECT_LT(row->rms.value_or(1), before) << "each of these holds more than the one before";
    before = row->rms.value_or(1);
  }
}

TEST_F(MlxToGguf, CompatAvoidsNewTypes) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  for (const auto& [name, type] :
       {std::pair{"llama_bf16_mxfp4", TensorType::Q5_0}, {"llama_bf16_nvfp4", TensorType::F16}}) {
    SCOPED_TRACE(name);
    MlxToGgufOptions options = options_for(test::shared_dir() + "/corpus/mlx/" + name);
    options.repack.compat = true;
    const Converted converted = convert(options);
    EXPECT_EQ(converted.catalog.find("blk.0.attn_q.weight")->type, type);
    EXPECT_EQ(converted.report.inexact_tensors(), 0u);
    EXPECT_EQ(parity_errors(converted, options.directory), "");
  }
}

}  // namespace
}  // namespace modelutils::to_gguf
