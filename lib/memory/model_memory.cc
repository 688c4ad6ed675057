#include "memory/model_memory.h"

#include <fmt/core.h>

#include <algorithm>

namespace modelutils::memory {

Result<ModelMemory> ModelMemory::load(const gguf::SplitSet& set, bool needs_context,
                                      std::function<bool(std::string_view)> stays_on_host) {
  MU_ASSIGN(std::optional<HyperParameters> hyper, read_hyper_parameters(set, needs_context));
  WeightTable::Layout layout;
  layout.stays_on_host = std::move(stays_on_host);
  if (hyper) {
    layout.blocks = hyper->blocks;
    const bool loads_all = hyper->facts->prediction == arch::PredictionBlocks::loaded;
    layout.loaded_blocks = loads_all ? hyper->blocks : hyper->trunk;
    layout.shares_embedding = hyper->facts->has_cache;
    layout.is_behind_layers = [&](std::string_view base) { return arch::is_behind_layers(hyper->architecture, base); };
  } else {
    layout.blocks = layout.loaded_blocks = blocks_of_tensors(set);
  }
  WeightTable weights(set, layout);
  return ModelMemory(std::move(hyper), std::move(weights));
}

Result<Extent> ModelMemory::extent(const RunOptions& run) const {
  return extent_of(run, hyper_->trained_context.value_or(0), hyper_->facts->has_cache);
}

Result<Usage> ModelMemory::usage(const RunOptions& run, const Extent& extent, const Caches& caches,
                                 const Placement& placement) const {
  const WeightSizes sizes = weights_.place(placement);
  Amount gpu_caches, host_caches;
  const u64 first = placement.offload_cache ? placement.first_gpu_layer(blocks()) : blocks() + 1;
  for (const LayerCache& layer : caches.layers) {
    (layer.layer >= first ? gpu_caches : host_caches) += Amount(layer.k_bytes) + layer.v_bytes + layer.f32_bytes;
  }
  Usage usage;
  usage.placement = placement;
  if (hyper_) {
    MU_ASSIGN(usage.compute, compute_sizes(*hyper_, run, extent, caches, weights_, placement, sizes));
  }
  const std::optional<u64> gpu = (sizes.gpu + gpu_caches + usage.compute.gpu_bytes).value();
  const std::optional<u64> host = (sizes.host + host_caches + usage.compute.host_bytes).value();
  if (!gpu || !host) return input_error("fit-too-large", "weights, caches and buffers together exceed 2^64 bytes");
  usage.gpu_weights = *sizes.gpu.value();
  usage.host_weights = *sizes.host.value();
  usage.gpu_caches = *gpu_caches.value();
  usage.host_caches = *host_caches.value();
  usage.gpu_total = *gpu;
  usage.host_total = *host;
  return usage;
}

bool fits_into(const Usage& usage, const Available& available) {
  const auto fits = [&](Amount used, u64 there, u64 margin) {
    const std::optional<u64> wanted = (used + margin).value();
    return wanted && *wanted <= there;
  };
  if (available.unified) {
    return fits(Amount(usage.gpu_total) + usage.host_total, *available.unified, available.margin);
  }
  if (available.gpu && !fits(usage.gpu_total, *available.gpu, available.margin)) return false;
  return !available.ram || fits(usage.host_total, *available.ram, available.gpu ? 0 : available.margin);
}

std::string options_text(const RunOptions& run, const Placement& placement, u64 blocks, bool has_experts) {
  const RunOptions usual;
  std::string text = fmt::format("-c {}", run.context);
  text += fmt::format(" -ngl {}", placement.has_gpu ? std::min(placement.gpu_layers, blocks + 1) : 0);
  if (has_experts && placement.host_expert_blocks > 0) {
    text += fmt::format(" --n-cpu-moe {}", std::min(placement.host_expert_blocks, blocks));
  }
  const auto type = [](TensorType kind) {
    std::string name(type_name(kind));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return name;
  };
  if (run.k_type != usual.k_type || run.v_type != usual.v_type) {
    text += fmt::format(" -ctk {} -ctv {}", type(run.k_type), type(run.v_type));
  }
  if (!run.flash_attention) text += " -fa off";
  if (run.sequences != usual.sequences) text += fmt::format(" -np {}", run.sequences);
  if (run.unified) text += " --kv-unified";
  if (run.batch != usual.batch) text += fmt::format(" -b {}", run.batch);
  if (run.ubatch != usual.ubatch) text += fmt::format(" -ub {}", run.ubatch);
  if (run.full_windows) text += " --swa-full";
  return text;
}

}  // namespace modelutils::memory
