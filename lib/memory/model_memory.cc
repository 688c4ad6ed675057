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
  if (!placement.rooms.empty()) share_out(usage, caches, placement);
  return usage;
}

// Splits the usage over several GPUs, each with its own compute buffers and rope factors.
void ModelMemory::share_out(Usage& usage, const Caches& caches, const Placement& placement) const {
  constexpr u64 most = u64{1} << 62;
  const u64 first = placement.first_gpu_layer(blocks());
  if (first > blocks() || usage.gpu_total > most) return;
  std::vector<LayerBytes> layers;
  for (const Amount& weights : weights_.gpu_layers(placement)) layers.push_back({weights.value().value_or(0), 0});
  for (const LayerCache& layer : caches.layers) {
    if (placement.offload_cache && layer.layer < layers.size()) {
      layers[static_cast<std::size_t>(layer.layer)].caches += layer.k_bytes + layer.v_bytes + layer.f32_bytes;
    }
  }
  const u64 copied = first < blocks() ? weights_.rope_factors().value().value_or(0) : 0;
  usage.gpus = split_layers(layers, first, copied, usage.compute.gpu_bytes, placement.rooms);
  if (usage.gpus.empty()) return;
  const ComputeSizes one = usage.compute;
  u64 used = 0;
  for (const GpuShare& share : usage.gpus) used += share.layers > 0 ? 1 : 0;
  usage.gpu_weights += copied * (used - 1);
  usage.compute.gpu_bytes = one.gpu_bytes * used;
  usage.compute.gpu_high_bytes = one.gpu_high_bytes * used;
  usage.compute.low_bytes += scaled_by(one.gpu_bytes, one.gpu_range.most) * (used - 1);
  usage.compute.high_bytes += one.gpu_high_bytes * (used - 1);
  usage.gpu_total = usage.gpu_weights + usage.gpu_caches + usage.compute.gpu_bytes;
}

namespace {

// True if the usage fits with additional bytes on each GPU and in host memory.
bool fits_with(const Usage& usage, const Available& available, u64 gpu_more, u64 host_more) {
  const auto fits = [&](Amount used, u64 there, u64 margin) {
    const std::optional<u64> wanted = (used + margin).value();
    return wanted && *wanted <= there;
  };
  if (available.unified) {
    return fits(Amount(usage.gpu_total) + usage.host_total + gpu_more + host_more, *available.unified,
                available.margin);
  }
  if (usage.placement.rooms.empty()) {
    if (available.gpu && !fits(Amount(usage.gpu_total) + gpu_more, *available.gpu, available.margin)) return false;
  } else {
    // A GPU without layers is still used for batches.
    if (usage.gpus.empty() && (usage.placement.gpu_layers > 0 || usage.gpu_total > usage.placement.rooms.front())) {
      return false;
    }
    const u64 used =
        static_cast<u64>(std::ranges::count_if(usage.gpus, [](const auto& gpu) { return gpu.layers > 0; }));
    for (const GpuShare& gpu : usage.gpus) {
      if (gpu.layers > 0 && !fits(Amount(gpu.total()) + gpu_more / used, gpu.room, 0)) return false;
    }
  }
  return !available.ram ||
         fits(Amount(usage.host_total) + host_more, *available.ram, available.gpu ? 0 : available.margin);
}

}  // namespace

bool fits_into(const Usage& usage, const Available& available) {
  return fits_with(usage, available, 0, 0);
}

bool fits_at_most(const Usage& usage, const Available& available) {
  const ComputeSizes& compute = usage.compute;
  const u64 gpu_more = compute.gpu_high_bytes - std::min(compute.gpu_high_bytes, compute.gpu_bytes);
  const u64 host_high = compute.high_bytes - compute.gpu_high_bytes;
  return fits_with(usage, available, gpu_more, host_high - std::min(host_high, compute.host_bytes));
}

Placement whole_model(const Available& available) {
  Placement placement;
  placement.has_gpu = available.gpu || available.unified || !available.ram;
  for (const u64 gpu : available.gpus) placement.rooms.push_back(gpu - std::min(gpu, available.margin));
  return placement;
}

std::string options_text(const RunOptions& run, const Usage& usage, u64 blocks, bool has_experts) {
  const Placement& placement = usage.placement;
  const RunOptions usual;
  std::string text = fmt::format("-c {}", run.context);
  text += fmt::format(" -ngl {}", placement.has_gpu ? std::min(placement.gpu_layers, blocks + 1) : 0);
  if (has_experts && placement.host_expert_blocks > 0) {
    text += fmt::format(" --n-cpu-moe {}", std::min(placement.host_expert_blocks, blocks));
  }
  // Layer counts as proportions make the runtime split exactly at these layers.
  for (std::size_t i = 0; i < usage.gpus.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? " -ts " : ",", usage.gpus[i].layers);
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
