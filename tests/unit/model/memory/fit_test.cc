#include "model/memory/fit.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/memory/exact_sizes.h"
#include "unit/model/memory/small_model.h"

namespace modelutils::memory {

namespace {

std::vector<u64> layers_of(const std::vector<GpuShare>& shares) {
  std::vector<u64> layers;
  for (const GpuShare& share : shares) layers.push_back(share.layers);
  return layers;
}

using Layers = std::vector<u64>;

const std::vector<LayerBytes> four_of_ten = {{6, 4}, {6, 4}, {6, 4}, {6, 4}};

TEST(GpuSplit, FillsGpusEvenly) {
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{1000, 1000})), (Layers{2, 2}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{3000, 1000})), (Layers{3, 1}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{20, 20})), (Layers{2, 2}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{10, 30})), (Layers{1, 3}));
}

TEST(GpuSplit, EachGpuHasBuffersAndCopiesOfItsOwn) {
  const auto shares = split_layers(four_of_ten, 0, 1, 5, Layers{26, 26});
  ASSERT_EQ(layers_of(shares), (Layers{2, 2}));
  EXPECT_EQ(shares[1].first_layer, 2u);
  EXPECT_EQ(shares[1].weights, 13u);
  EXPECT_EQ(shares[1].caches, 8u);
  EXPECT_EQ(shares[1].compute, 5u);
  EXPECT_EQ(shares[1].total(), 26u);
  EXPECT_TRUE(split_layers(four_of_ten, 0, 1, 5, Layers{26, 25}).empty());
}

TEST(GpuSplit, LeavesOutWhatHasNoRoom) {
  const auto shares = split_layers(four_of_ten, 0, 0, 5, Layers{0, 45, 7});
  ASSERT_EQ(layers_of(shares), (Layers{0, 4, 0}));
  EXPECT_EQ(shares[0].total(), 0u);
  // 40 bytes in total, but each has room for only one layer
  EXPECT_TRUE(split_layers(four_of_ten, 0, 0, 0, Layers{15, 15}).empty());
}

TEST(GpuSplit, TakesLayersFromTheFirstThatIsOnAnyGpu) {
  const auto shares = split_layers(four_of_ten, 2, 0, 0, Layers{100, 100});
  ASSERT_EQ(layers_of(shares), (Layers{1, 1}));
  EXPECT_EQ(shares[0].first_layer, 2u);
  EXPECT_EQ(shares[1].first_layer, 3u);
}

TEST(GpuSplit, LargeLayersStayWhole) {
  const std::vector<LayerBytes> layers = {{10, 0}, {10, 0}, {10, 0}, {40, 0}};
  EXPECT_EQ(layers_of(split_layers(layers, 0, 0, 0, Layers{50, 50})), (Layers{3, 1}));
  constexpr u64 most = std::numeric_limits<u64>::max();
  EXPECT_EQ(layers_of(split_layers(layers, 0, most, 0, Layers{most, most})), Layers{});
}

using test::GgufBuilder;
using test::small_model;

const auto as_it_is = [](GgufBuilder&) {};

FitRequest at(u64 context) {
  FitRequest request;
  if (context != 0) request.contexts = {context};
  return request;
}

ContextFit fit_at(const gguf::SplitSet& set, const FitRequest& request) {
  const Result<FitReport> report = fit(set, request);
  EXPECT_TRUE(report) << report.error().message;
  return report->contexts.at(0);
}

Error error_of(const gguf::SplitSet& set, const FitRequest& request) {
  const Result<FitReport> report = fit(set, request);
  EXPECT_FALSE(report);
  return report ? Error() : report.error();
}

TEST(Fit, CountsCacheByHand) {
  // Rows of 2 heads × 16 values in F16: 64 bytes; 4096 cells; 2 layers.
  const ContextFit result = fit_at(small_model("llama", as_it_is), at(4000));
  EXPECT_EQ(result.extent.n_ctx, 4096u);
  EXPECT_EQ(result.caches.k_bytes, 64u * 4096 * 2);
  EXPECT_EQ(result.caches.v_bytes, 64u * 4096 * 2);
  EXPECT_EQ(result.usage.gpu_weights, 2u * (64 * 64 * 2) + 64 * 100 * 2);
  EXPECT_EQ(result.usage.host_weights, 64u * 100 * 2);
  EXPECT_FALSE(result.fits);
  EXPECT_EQ(result.gpu_layers, 3u);
}

TEST(Fit, IndexersOfHybridModelsStandWhereKeysAreKept) {
  const gguf::SplitSet set = small_model("qwen4exp", [](GgufBuilder& file) {
    file.key_u32("qwen4exp.full_attention_interval", 2)  // layer 0 has a state, layer 1 a key-value cache
        .key_u32("qwen4exp.ssm.conv_kernel", 4)
        .key_u32("qwen4exp.ssm.inner_size", 64)
        .key_u32("qwen4exp.ssm.state_size", 16)
        .key_u32("qwen4exp.ssm.time_step_rank", 4)
        .key_u32("qwen4exp.ssm.group_count", 2)
        .key_u32("qwen4exp.attention.indexer.key_length", 32);
  });
  const ContextFit result = fit_at(set, at(4000));
  EXPECT_EQ(result.caches.k_bytes, 4096u * (2 * 16 + 32) * 2);
  EXPECT_EQ(result.caches.v_bytes, 4096u * (2 * 16) * 2);
}

TEST(Fit, WithoutContextTheTrainedOneCounts) {
  const gguf::SplitSet set = small_model("llama", as_it_is);
  EXPECT_EQ(fit_at(set, at(0)).extent.n_ctx, 8192u);
}

TEST(Fit, AMissingContextSuggestsTheOption) {
  const gguf::SplitSet set = small_model("llama", as_it_is, false);
  const Error error = error_of(set, at(0));
  EXPECT_EQ(error.code, "fit-key");
  EXPECT_EQ(error.where, "key 'llama.context_length'");
  EXPECT_NE(error.message.find("--context"), std::string::npos);
  EXPECT_EQ(fit_at(set, at(256)).extent.n_ctx, 256u);
}

TEST(Fit, NamesKeysThatAreWrong) {
  struct Wrong {
    std::string architecture;
    std::string key;
    u64 value;
    std::string code;
  };
  const Wrong wrong[] = {
      {"llama", "llama.block_count", 0, "fit-key"},
      {"llama", "llama.block_count", 513, "fit-key"},
      {"llama", "llama.attention.key_length", u64{1} << 40, "fit-key"},
      {"llama", "llama.context_length", u64{1} << 33, "fit-key"},
      {"gemma4", "gemma4.attention.shared_kv_layers", 3, "fit-key"},
      {"glm4moe", "glm4moe.nextn_predict_layers", 3, "fit-key"},
      {"qwen3next", "qwen3next.full_attention_interval", 0, "fit-key"},
  };
  for (const Wrong& one : wrong) {
    SCOPED_TRACE(one.key);
    const auto set = small_model(
        one.architecture,
        [&](GgufBuilder& file) {
          file.key_u64(one.key, one.value);
          if (one.architecture == "gemma4") {
            file.key_u32("gemma4.attention.sliding_window", 512).key_u32("gemma4.attention.sliding_window_pattern", 1);
          }
        },
        one.key != "llama.context_length");
    const Error error = error_of(set, at(one.key == "llama.context_length" ? 0 : 4096));
    EXPECT_EQ(error.code, one.code);
    EXPECT_EQ(error.where, "key '" + one.key + "'");
  }
}

TEST(Fit, RequiredWindowsAreRequired) {
  EXPECT_EQ(error_of(small_model("gpt-oss", as_it_is), at(4096)).where, "key 'gpt-oss.attention.sliding_window'");
  EXPECT_EQ(
      error_of(small_model("mellum", [](GgufBuilder& file) { file.key_u32("mellum.attention.sliding_window", 64); }),
               at(4096))
          .where,
      "key 'mellum.attention.sliding_window_pattern'");
}

TEST(Fit, ArraysMustHaveAnElementForEachLayer) {
  const auto set = small_model("llama", [](GgufBuilder& file) {
    file.key_array("llama.attention.head_count_kv", std::vector<u32>{2, 2, 2});
  });
  const Error error = error_of(set, at(4096));
  EXPECT_EQ(error.code, "fit-layers");
  EXPECT_EQ(error.where, "key 'llama.attention.head_count_kv'");
}

TEST(Fit, ProductsBeyond64BitsAreErrors) {
  const auto set = small_model("llama", [](GgufBuilder& file) {
    file.key_u32("llama.attention.key_length", 4294967295).key_u32("llama.attention.head_count_kv", 4294967295);
  });
  EXPECT_EQ(error_of(set, at(1000000)).code, "fit-too-large");
}

TEST(Fit, OfUnknownArchitecturesWeightsAreCounted) {
  const Result<FitReport> report = fit(small_model("nothing-like-it", as_it_is), at(4096));
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->is_known);
  EXPECT_EQ(report->blocks, 2u);
  EXPECT_EQ(report->contexts[0].usage.gpu_weights, 2u * (64 * 64 * 2) + 64 * 100 * 2);
  EXPECT_TRUE(report->contexts[0].caches.layers.empty());
  EXPECT_FALSE(report->contexts[0].fits);
}

TEST(Fit, LeavesLayersOutFromTheFirstOn) {
  const gguf::SplitSet set = small_model("llama", as_it_is);
  FitRequest request = at(4096);
  const Usage whole = fit_at(set, request).usage;
  request.available.margin = 0;
  request.available.gpu = whole.gpu_total;
  EXPECT_TRUE(*fit_at(set, request).fits);
  // Without the caches and weights of one block (its host copies are not larger than the compute buffers).
  request.available.gpu = whole.gpu_total - 64 * 4096;
  const ContextFit part = fit_at(set, request);
  EXPECT_FALSE(*part.fits);
  EXPECT_EQ(part.gpu_layers, 2u);
  EXPECT_EQ(part.usage.host_caches, 2u * 64 * 4096);
  EXPECT_LE(part.usage.gpu_total, *request.available.gpu);
  request.available.gpu = 0;
  const ContextFit nothing = fit_at(set, request);
  EXPECT_FALSE(*nothing.fits);
  EXPECT_FALSE(nothing.gpu_layers);
}

TEST(Fit, TheMarginStaysFree) {
  const gguf::SplitSet set = small_model("llama", as_it_is);
  FitRequest request = at(4096);
  const Usage whole = fit_at(set, request).usage;
  request.available.unified = whole.gpu_total + whole.host_total + default_margin;
  EXPECT_TRUE(*fit_at(set, request).fits);
  request.available.margin += 1;
  EXPECT_FALSE(*fit_at(set, request).fits);
}

TEST(Fit, OffersASmallerCacheBeforeAShorterContext) {
  // With few layers, an F16 copy of one outweighs the savings in the others.
  const gguf::SplitSet set = small_model("llama", [](GgufBuilder& file) { file.key_u32("llama.block_count", 16); });
  FitRequest request = at(65536);
  const Usage whole = fit_at(set, request).usage;
  request.available.margin = 0;
  request.available.gpu = whole.gpu_total - (u64{1} << 25);  // the cache takes 128 MiB
  const ContextFit result = fit_at(set, request);
  ASSERT_GE(result.alternatives.size(), 2u);
  EXPECT_NE(result.alternatives[0].options.find("-ctk q8_0 -ctv q8_0"), std::string::npos);
  EXPECT_EQ(result.alternatives.back().options.find("-c 65536"), std::string::npos);
  for (const Alternative& alternative : result.alternatives) {
    EXPECT_LE(alternative.usage.gpu_total, *request.available.gpu);
  }
}

// 16 layers whose caches take 128 MiB in total at 65536 tokens; two of them have 96 MiB of experts.
gguf::SplitSet model_with_experts() {
  return small_model("qwen3moe", [](GgufBuilder& file) {
    file.key_u32("qwen3moe.block_count", 16)
        .key_u32("qwen3moe.expert_count", 512)
        .key_u32("qwen3moe.expert_used_count", 8)
        .key_u32("qwen3moe.expert_feed_forward_length", 512);
    for (const char* block : {"blk.0.", "blk.1."}) {
      for (const char* role : {"ffn_up_exps.weight", "ffn_gate_exps.weight", "ffn_down_exps.weight"}) {
        file.tensor({std::string(block) + role, {64, 512, 512}, 1});
      }
    }
  });
}

TEST(Fit, AlternativesKeepTheContextFirst) {
  const gguf::SplitSet set = model_with_experts();
  FitRequest request = at(65536);
  request.available.margin = 0;
  request.available.gpu = fit_at(set, request).usage.gpu_total - (u64{1} << 25);
  const ContextFit result = fit_at(set, request);
  std::vector<Sacrifice> order;
  for (const Alternative& one : result.alternatives) order.push_back(one.sacrifice);
  EXPECT_EQ(order,
            (std::vector{Sacrifice::cache_bits, Sacrifice::gpu_layers, Sacrifice::gpu_experts, Sacrifice::context}));
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(result.alternatives[0].options, "-c 65536 -ngl 17 -ctk q8_0 -ctv q8_0");
  EXPECT_EQ(result.alternatives[1].options, "-c 65536 -ngl 16");
  EXPECT_EQ(result.alternatives[2].options, "-c 65536 -ngl 17 --n-cpu-moe 1");
  EXPECT_TRUE(result.alternatives[3].options.starts_with("-c ")) << result.alternatives[3].options;
  EXPECT_EQ(result.alternatives[3].options.find("-c 65536"), std::string::npos);
  EXPECT_EQ(result.host_expert_blocks, 1u);  // the first alternative shown
  for (const Alternative& one : result.alternatives) EXPECT_LE(one.usage.gpu_total, *request.available.gpu);
}

TEST(Fit, ACacheOfFourBitsComesAfterOneOfEight) {
  const gguf::SplitSet set = small_model("llama", [](GgufBuilder& file) { file.key_u32("llama.block_count", 16); });
  FitRequest request = at(65536);
  request.available.margin = 0;
  request.available.gpu = fit_at(set, request).usage.gpu_total - (u64{70} << 20);  // 8-bit caches save 60 MiB
  const ContextFit result = fit_at(set, request);
  ASSERT_FALSE(result.alternatives.empty());
  EXPECT_EQ(result.alternatives[0].sacrifice, Sacrifice::cache_bits);
  EXPECT_EQ(result.alternatives[0].options, "-c 65536 -ngl 17 -ctk q4_0 -ctv q4_0");
}

TEST(Fit, SeveralGpusShareTheLayers) {
  const gguf::SplitSet set = small_model("llama", [](GgufBuilder& file) { file.key_u32("llama.block_count", 16); });
  FitRequest request = at(65536);
  request.available.margin = 0;
  const Usage one = fit_at(set, request).usage;
  // Each GPU needs the compute buffers and half of the rest: 8 layers of 8 MiB.
  const u64 room = one.compute.gpu_bytes + 8 * (u64{8} << 20) + 100000;
  request.available.gpus = {room, room};
  request.available.gpu = 2 * room;
  const ContextFit result = fit_at(set, request);
  ASSERT_TRUE(*result.fits);
  ASSERT_EQ(result.usage.gpus.size(), 2u);
  EXPECT_EQ(result.usage.gpus[0].layers, 8u);
  EXPECT_EQ(result.usage.gpus[1].layers, 9u);  // including the output layer
  EXPECT_EQ(result.options, "-c 65536 -ngl 17 -ts 8,9");
  EXPECT_EQ(result.usage.gpu_total, result.usage.gpus[0].total() + result.usage.gpus[1].total());
  EXPECT_EQ(result.usage.gpu_total, one.gpu_total + one.compute.gpu_bytes);
  // One is too small by a layer, although the sum would suffice.
  request.available.gpus = {room - (u64{6} << 20), room + (u64{6} << 20)};
  request.available.gpu = request.available.gpus[0] + request.available.gpus[1];
  const ContextFit part = fit_at(set, request);
  EXPECT_FALSE(*part.fits);
  EXPECT_EQ(part.gpu_layers, 16u);
}

TEST(Fit, SaysWhereOnlyTheEstimateDecides) {
  const gguf::SplitSet set = small_model("llama", as_it_is);
  FitRequest request = at(4096);
  request.available.margin = 0;
  const Usage whole = fit_at(set, request).usage;
  request.available.gpu = whole.gpu_total;
  EXPECT_TRUE(*fit_at(set, request).fits);
  EXPECT_FALSE(fit_at(set, request).fits_at_most);
  const u64 more = whole.compute.gpu_high_bytes - whole.compute.gpu_bytes;
  EXPECT_NEAR(static_cast<double>(whole.compute.gpu_high_bytes), static_cast<double>(whole.compute.gpu_bytes) / 0.859,
              2);
  request.available.gpu = whole.gpu_total + more;
  EXPECT_TRUE(fit_at(set, request).fits_at_most);
}

TEST(Fit, TypesOfALatentCacheMustBeEqual) {
  const auto set = small_model("deepseek2", [](GgufBuilder& file) {
    file.key_u32("deepseek2.attention.key_length_mla", 16).key_u32("deepseek2.attention.value_length_mla", 16);
  });
  FitRequest request = at(4096);
  request.run.k_type = TensorType::Q8_0;
  EXPECT_EQ(error_of(set, request).kind, ErrorKind::usage);
}

TEST(Fit, ExpertTensorsAreKnownByName) {
  EXPECT_TRUE(is_expert_tensor("blk.3.ffn_gate_exps.weight"));
  EXPECT_TRUE(is_expert_tensor("blk.3.ffn_gate_up_exps.weight"));
  EXPECT_TRUE(is_expert_tensor("blk.3.ffn_down_chexps.weight"));
  EXPECT_FALSE(is_expert_tensor("blk.3.ffn_gate_shexp.weight"));
  EXPECT_FALSE(is_expert_tensor("blk.3.ffn_gate.weight"));
}

TEST(Fit, SummaryHasBytesForEachToken) {
  const auto summary = cache_summary(*arch::read_facts(small_model("gemma2", as_it_is)));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->bytes_per_token, 128u);  // one of two layers covers the whole context
  EXPECT_EQ(summary->window, 4096u);
  EXPECT_EQ(summary->sliding_layers, 1u);
  EXPECT_EQ(summary->cached_layers, 2u);
}

// Usage other than weights is constant; weights scale with the file sizes.
TEST(FitsBySize, WeightsInProportion) {
  const gguf::SplitSet set = small_model("llama", as_it_is);
  FitRequest request = at(512);
  request.available.margin = 0;
  request.available.gpu = u64{1} << 40;
  const Usage usage = fit_at(set, request).usage;
  request.available.gpu = usage.gpu_total + usage.gpu_weights;  // for a file of twice the size
  const FitReport judged = *fit(set, request);
  EXPECT_EQ(fits_by_size(judged, 1000, 1000), true);
  EXPECT_EQ(fits_by_size(judged, 1000, 2000), true);
  EXPECT_EQ(fits_by_size(judged, 1000, 2001), false);
  EXPECT_EQ(fits_by_size(judged, 1000, 1), true);
  EXPECT_EQ(fits_by_size(judged, 1, ~u64{0}), false);  // sizes come from servers, so any value is possible
}

TEST(FitsBySize, WhatDoesNotFitSaysNothingOfSmallerOnes) {
  FitRequest request = at(512);
  request.available.gpu = 1;
  const FitReport judged = *fit(small_model("llama", as_it_is), request);
  EXPECT_EQ(fits_by_size(judged, 1000, 1001), false);
  EXPECT_EQ(fits_by_size(judged, 1000, 999), std::nullopt);
  EXPECT_EQ(fits_by_size(*fit(small_model("llama", as_it_is), at(512)), 1000, 999), std::nullopt);  // no memory limit
}

}  // namespace

}  // namespace modelutils::memory
