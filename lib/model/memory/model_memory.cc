#include "model/memory/model_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

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
  const Amount projector = projector_.bytes();
  const Amount on_gpu = placement.has_gpu ? projector : Amount();
  const std::optional<u64> gpu = (sizes.gpu + gpu_caches + usage.compute.gpu_bytes + on_gpu).value();
  const std::optional<u64> host =
      (sizes.host + host_caches + usage.compute.host_bytes + (placement.has_gpu ? Amount() : projector)).value();
  if (!gpu || !host) return input_error("fit-too-large", "weights, caches and buffers together exceed 2^64 bytes");
  usage.gpu_weights = *sizes.gpu.value();
  usage.host_weights = *sizes.host.value();
  usage.gpu_caches = *gpu_caches.value();
  usage.host_caches = *host_caches.value();
  usage.gpu_total = *gpu;
  usage.host_total = *host;
  if (!placement.rooms.empty()) share_out(usage, caches, placement);
  (placement.has_gpu ? usage.gpu_weights : usage.host_weights) += projector_.weights;
  add_compute(usage.compute, placement.has_gpu);
  return usage;
}

void ModelMemory::add_compute(ComputeSizes& compute, bool on_gpu) const {
  const u64 high = scaled_by(projector_.compute, projector_error.least);
  (on_gpu ? compute.gpu_bytes : compute.host_bytes) += projector_.compute;
  compute.low_bytes += scaled_by(projector_.compute, projector_error.most);
  compute.high_bytes += high;
  if (on_gpu) compute.gpu_high_bytes += high;
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
  std::vector<u64> rooms = placement.rooms;
  const u64 projector = std::min(rooms.front(), projector_.bytes());
  rooms.front() -= projector;
  usage.gpus = split_layers(layers, first, copied, usage.compute.gpu_bytes, rooms);
  if (usage.gpus.empty()) return;
  const ComputeSizes one = usage.compute;
  u64 used = 0;
  for (const GpuShare& share : usage.gpus) used += share.layers > 0 ? 1 : 0;
  usage.gpu_weights += copied * (used - 1);
  usage.compute.gpu_bytes = one.gpu_bytes * used;
  usage.compute.gpu_high_bytes = one.gpu_high_bytes * used;
  usage.compute.low_bytes += scaled_by(one.gpu_bytes, one.gpu_range.most) * (used - 1);
  usage.compute.high_bytes += one.gpu_high_bytes * (used - 1);
  usage.gpu_total = usage.gpu_weights + usage.gpu_caches + usage.compute.gpu_bytes + projector_.bytes();
  usage.gpus.front().room += projector;
  usage.gpus.front().weights += projector_.weights;
  usage.gpus.front().compute += projector_.compute;
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

namespace {

constexpr u64 least_context = 4096;  // the same minimum as llama.cpp's own --fit
constexpr u64 context_step = 1024;

double bits_of(TensorType type) {
  return 8.0 * type_info(type).block_bytes / type_info(type).block_elements;
}

// Returns the same run with a cache of that type; nullopt if it would not be smaller or the model's rows do not allow
// it.
std::optional<RunOptions> with_cache(const ModelMemory& model, RunOptions run, TensorType type) {
  const bool is_smaller = bits_of(run.k_type) > bits_of(type) || bits_of(run.v_type) > bits_of(type);
  if (!run.flash_attention || !is_smaller) return std::nullopt;
  run.k_type = run.v_type = type;
  const Result<Extent> extent = model.extent(run);
  if (!extent || !caches_of(model.hyper(), run, *extent)) return std::nullopt;
  return run;
}

// Computes the usage of one run in different placements.
class Trial {
 public:
  static Result<Trial> of(const ModelMemory& model, const RunOptions& run, const Available& available) {
    Trial trial(model, run, available);
    MU_ASSIGN(trial.extent_, model.extent(run));
    MU_ASSIGN(trial.caches_, caches_of(model.hyper(), run, trial.extent_));
    return trial;
  }

  // Returns the usage of a placement; nullopt if it does not fit.
  Result<std::optional<Usage>> fitting(const Placement& placement) const {
    MU_ASSIGN(Usage usage, model_.usage(run_, extent_, caches_, placement));
    return fits_into(usage, available_) ? std::optional<Usage>(std::move(usage)) : std::nullopt;
  }

 private:
  Trial(const ModelMemory& model, const RunOptions& run, const Available& available)
      : model_(model), run_(run), available_(available) {}

  const ModelMemory& model_;
  RunOptions run_;
  const Available& available_;
  Extent extent_;
  Caches caches_;
};

class Search {
 public:
  Search(const ModelMemory& model, const RunOptions& run, const Available& available)
      : model_(model), run_(run), available_(available) {}

  Result<std::vector<Alternative>> find() {
    MU_TRY(try_smaller_caches());
    if (available_.gpu) {
      MU_TRY(try_part(false));
      if (model_.weights().has_experts()) MU_TRY(try_part(true));
    }
    MU_TRY(try_shorter(run_, ""));
    const std::optional<RunOptions> small = with_cache(model_, run_, TensorType::Q8_0);
    if (small && !keeps_model_whole_) MU_TRY(try_shorter(*small, ", 8-bit cache"));
    return std::move(found_);
  }

 private:
  void add(Sacrifice sacrifice, const RunOptions& run, std::string costs, Usage usage) {
    std::string options = options_text(run, usage, model_.blocks(), model_.weights().has_experts());
    found_.push_back({sacrifice, std::move(options), std::move(costs), std::move(usage)});
  }

  // Returns the usage of the whole model with these options; nullopt if it does not fit.
  Result<std::optional<Usage>> whole(const RunOptions& run) const {
    MU_ASSIGN(const Trial trial, Trial::of(model_, run, available_));
    return trial.fitting(whole_model(available_));
  }

  // Tries cache types from larger to smaller until the model fits.
  Status try_smaller_caches() {
    for (const auto& [type, costs] :
         {std::pair(TensorType::Q8_0, "8-bit cache"), std::pair(TensorType::Q4_0, "4-bit cache: less exact")}) {
      const std::optional<RunOptions> small = with_cache(model_, run_, type);
      if (!small) continue;
      MU_ASSIGN(std::optional<Usage> usage, whole(*small));
      if (!usage) continue;
      add(Sacrifice::cache_bits, *small, costs, std::move(*usage));
      keeps_model_whole_ = true;
      return {};
    }
    return {};
  }

  // Tries a part of the model on the GPU, first with the requested cache, then with a smaller one.
  Status try_part(bool moves_experts) {
    const std::optional<RunOptions> small = with_cache(model_, run_, TensorType::Q8_0);
    for (const bool is_small : {false, true}) {
      if (is_small && !small) continue;
      const RunOptions& run = is_small ? *small : run_;
      MU_ASSIGN(std::optional<Usage> usage, largest_part(model_, run, available_, moves_experts));
      if (!usage) continue;
      const bool has_moved_experts = usage->placement.host_expert_blocks > 0;
      if (moves_experts && !has_moved_experts) return {};
      const u64 layers = std::min(usage->placement.gpu_layers, model_.blocks() + 1);
      std::string costs =
          has_moved_experts
              ? fmt::format("experts of {} in host memory",
                            counted(std::min(usage->placement.host_expert_blocks, model_.blocks()), "layer"))
              : std::string();
      if (layers <= model_.blocks()) {
        costs += fmt::format("{}{} of {} layers on the GPU", costs.empty() ? "" : ", ", layers, model_.blocks() + 1);
      }
      if (is_small) costs += ", 8-bit cache";
      add(moves_experts ? Sacrifice::gpu_experts : Sacrifice::gpu_layers, run, costs + ": slower", std::move(*usage));
      return {};
    }
    return {};
  }

  Status try_shorter(RunOptions run, std::string_view costs) {
    MU_ASSIGN(const u64 context, longest(run));
    if (context == 0) return {};
    run.context = context;
    MU_ASSIGN(std::optional<Usage> usage, whole(run));
    if (usage) {
      add(Sacrifice::context, run, fmt::format("{} tokens{}", thousands(context), costs), std::move(*usage));
    }
    return {};
  }

  // Returns the longest context that fits; 0 if even the minimum does not.
  Result<u64> longest(RunOptions run) const {
    u64 fitting = 0, too_long = run.context / context_step + 1;
    run.context = least_context;
    if (too_long <= least_context / context_step) return u64{0};
    MU_ASSIGN(const std::optional<Usage> least, whole(run));
    if (!least) return u64{0};
    fitting = least_context / context_step;
    while (fitting + 1 < too_long) {
      const u64 middle = fitting + (too_long - fitting) / 2;
      run.context = middle * context_step;
      MU_ASSIGN(const std::optional<Usage> usage, whole(run));
      (usage ? fitting : too_long) = middle;
    }
    return fitting * context_step;
  }

  const ModelMemory& model_;
  const RunOptions& run_;
  const Available& available_;
  std::vector<Alternative> found_;
  bool keeps_model_whole_ = false;  // a smaller cache was sufficient
};

}  // namespace

std::string_view sacrifice_name(Sacrifice sacrifice) {
  switch (sacrifice) {
    case Sacrifice::cache_bits: return "cache";
    case Sacrifice::gpu_layers: return "layers";
    case Sacrifice::gpu_experts: return "experts";
    case Sacrifice::context: return "context";
  }
  return {};
}

Result<std::optional<Usage>> largest_part(const ModelMemory& model, const RunOptions& run, const Available& available,
                                          bool moves_experts) {
  MU_ASSIGN(const Trial trial, Trial::of(model, run, available));
  const u64 blocks = model.blocks();
  Placement placement = whole_model(available);
  if (moves_experts && model.weights().has_experts()) {
    for (placement.host_expert_blocks = 1; placement.host_expert_blocks < blocks; ++placement.host_expert_blocks) {
      MU_ASSIGN(std::optional<Usage> part, trial.fitting(placement));
      if (part) return part;
    }
    placement.host_expert_blocks = blocks;
  }
  for (u64 layers = blocks + 2; layers-- > 0;) {
    placement.gpu_layers = layers;
    MU_ASSIGN(std::optional<Usage> part, trial.fitting(placement));
    if (part) return part;
  }
  return std::nullopt;
}

Result<std::vector<Alternative>> find_alternatives(const ModelMemory& model, const RunOptions& run,
                                                   const Available& available) {
  return Search(model, run, available).find();
}

}  // namespace modelutils::memory
