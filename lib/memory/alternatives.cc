#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "memory/model_memory.h"

namespace modelutils::memory {

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
