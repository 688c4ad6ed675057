// Compares the runtime's allocations in every measured case with our estimates.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <tuple>

#include "model/memory/model_memory.h"
#include "unit/model/memory/corpus_cases.h"

namespace modelutils::memory {
namespace {

using test::MeasuredCase;
using test::MemoryCorpus;

class MemoryCorpusTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::memory_cases)) GTEST_SKIP() << "no reference data at " << test::memory_cases;
    corpus_.emplace();
    ASSERT_GE(corpus_->cases().size(), 465u);
  }

  static ModelMemory load(const MemoryCorpus& corpus, const MeasuredCase& one) {
    std::vector<std::regex> patterns;
    for (const std::string& pattern : one.kept_on_host) patterns.emplace_back(pattern);
    const auto stays = [patterns](std::string_view name) {
      return std::ranges::any_of(
          patterns, [&](const std::regex& pattern) { return std::regex_search(name.begin(), name.end(), pattern); });
    };
    return std::move(*ModelMemory::load(corpus.model(one.model), one.run.context == 0, stays));
  }

  std::optional<MemoryCorpus> corpus_;
};

auto row(const LayerCache& layer) {
  return std::make_tuple(layer.layer, layer.kind, layer.cells, layer.streams, layer.k_bytes, layer.v_bytes);
}

TEST_F(MemoryCorpusTest, CachesAndStatesAreEqualLayerByLayer) {
  for (const MeasuredCase& one : corpus_->cases()) {
    SCOPED_TRACE("case " + std::to_string(one.id) + ", " + one.model);
    const ModelMemory model = load(*corpus_, one);
    ASSERT_TRUE(model.is_known());
    const Result<Extent> extent = model.extent(one.run);
    ASSERT_TRUE(extent);
    const Result<Caches> caches = caches_of(model.hyper(), one.run, *extent);
    ASSERT_TRUE(caches) << caches.error().message;
    std::vector<std::tuple<u64, CacheKind, u64, u64, u64, u64>> ours, theirs;
    for (const LayerCache& layer : caches->layers) ours.push_back(row(layer));
    for (const LayerCache& layer : one.layers) theirs.push_back(row(layer));
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    EXPECT_EQ(ours, theirs);
    EXPECT_EQ(caches->f32_bytes, one.f32_bytes);
    if (one.n_ctx == 0) continue;  // cases added later have only layers and buffers
    EXPECT_EQ(extent->n_ctx, one.n_ctx);
    EXPECT_EQ(caches->k_bytes, one.k_bytes);
    EXPECT_EQ(caches->v_bytes, one.v_bytes);
    EXPECT_EQ(caches->rolling_bytes, one.rolling_bytes);
    EXPECT_EQ(caches->state_bytes, one.state_bytes);
  }
}

// The runtime stores rope factors once per buffer, and repacks weights computed on the CPU in separate buffers. So one
// or two cases in a hundred may differ by some kilobytes, as documented.
TEST_F(MemoryCorpusTest, WeightsAndCachesLieWhereTheRuntimePutsThem) {
  std::size_t checked = 0, different = 0;
  for (const MeasuredCase& one : corpus_->cases()) {
    if (!one.placement.has_gpu) continue;
    SCOPED_TRACE("case " + std::to_string(one.id) + ", " + one.model);
    const ModelMemory model = load(*corpus_, one);
    const Extent extent = *model.extent(one.run);
    const Caches caches = *caches_of(model.hyper(), one.run, extent);
    const Usage usage = *model.usage(one.run, extent, caches, one.placement);
    EXPECT_EQ(usage.host_caches, one.host().caches);
    // CUDA pads quantised rows by up to 512 values: less than a kilobyte per tensor.
    const u64 padding = one.gpu().caches - usage.gpu_caches;
    EXPECT_LE(padding, type_info(one.run.k_type).block_elements > 1 ? 2048 * caches.layers.size() : 0);
    ++checked;
    if (usage.gpu_weights == one.gpu().weights && usage.host_weights == one.host().weights) continue;
    ++different;
    std::printf("case %llu, %s: weights %llu on the GPU, %llu in host memory; measured %llu, %llu\n",
                static_cast<unsigned long long>(one.id), one.model.c_str(),
                static_cast<unsigned long long>(usage.gpu_weights), static_cast<unsigned long long>(usage.host_weights),
                static_cast<unsigned long long>(one.gpu().weights),
                static_cast<unsigned long long>(one.host().weights));
  }
  EXPECT_GT(checked, 100u);
  EXPECT_LE(different * 90, checked);
}

// Ratios of estimates to measurements.
class Ratios {
 public:
  void add(u64 estimate, u64 measured, u64 id) {
    if (measured > 0) ratios_.emplace_back(static_cast<double>(estimate) / static_cast<double>(measured), id);
  }

  void expect_within(const char* what, ComputeError error) {
    ASSERT_FALSE(ratios_.empty()) << what;
    std::ranges::sort(ratios_);
    const auto at = [&](std::size_t percent) { return ratios_[(ratios_.size() - 1) * percent / 100].first; };
    std::printf(
        "compute, %s: estimate / measured: %zu cases, least %.3f (case %llu), median %.2f, 90 %% %.2f, most %.2f "
        "(case %llu)\n",
        what, ratios_.size(), at(0), static_cast<unsigned long long>(ratios_.front().second), at(50), at(90), at(100),
        static_cast<unsigned long long>(ratios_.back().second));
    // The documented errors are rounded to three digits.
    EXPECT_GE(at(0), error.least * 0.999) << what;
    EXPECT_LE(at(100), error.most * 1.001) << what;
  }

 private:
  std::vector<std::pair<double, u64>> ratios_;
};

TEST_F(MemoryCorpusTest, ComputeBuffersAreWithinTheErrorsOfThePage) {
  Ratios gpu, host, cpu, partial, mixed;
  for (const MeasuredCase& one : corpus_->cases()) {
    const ModelMemory model = load(*corpus_, one);
    if (model.hyper().facts->has_encoder || !one.has_pinned_memory || !one.placement.offload_cache) continue;
    const Extent extent = *model.extent(one.run);
    const Caches caches = *caches_of(model.hyper(), one.run, extent);
    const ComputeSizes ours = model.usage(one.run, extent, caches, one.placement)->compute;
    const bool has_host_blocks = one.placement.first_gpu_layer(model.blocks()) > 0;
    if (!one.placement.has_gpu) {
      cpu.add(ours.host_bytes, one.host().compute, one.id);
    } else if (has_host_blocks || !one.kept_on_host.empty()) {
      partial.add(ours.gpu_bytes, one.gpu().compute, one.id);
      (has_host_blocks ? mixed : host).add(ours.host_bytes, one.host().compute, one.id);
    } else {
      gpu.add(ours.gpu_bytes, one.gpu().compute, one.id);
      host.add(ours.host_bytes, one.host().compute, one.id);
    }
    const u64 measured = one.gpu().compute + one.host().compute;
    EXPECT_LE(ours.low_bytes, measured) << one.id;
    EXPECT_GE(ours.high_bytes, measured) << one.id;
  }
  gpu.expect_within("one GPU", gpu_error);
  host.expect_within("host next to it", host_error);
  cpu.expect_within("no GPU", cpu_error);
  partial.expect_within("a part on the GPU", partial_error);
  mixed.expect_within("host of a part", mixed_error);
}

}  // namespace
}  // namespace modelutils::memory
