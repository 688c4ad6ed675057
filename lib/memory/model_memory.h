// One model and what it needs under any options and placement.
#pragma once

#include "memory/fit.h"

namespace modelutils::memory {

class ModelMemory {
 public:
  static Result<ModelMemory> load(const gguf::SplitSet& set, bool needs_context,
                                  std::function<bool(std::string_view)> stays_on_host = {});

  bool is_known() const { return hyper_.has_value(); }
  const HyperParameters& hyper() const { return *hyper_; }
  const WeightTable& weights() const { return weights_; }
  u64 blocks() const { return weights_.blocks(); }

  /// Only of known models. Errors as extent_of() and caches_of().
  Result<Extent> extent(const RunOptions& run) const;
  /// Of unknown models weights alone. Error "fit-too-large".
  Result<Usage> usage(const RunOptions& run, const Extent& extent, const Caches& caches,
                      const Placement& placement) const;

 private:
  void share_out(Usage& usage, const Caches& caches, const Placement& placement) const;

  ModelMemory(std::optional<HyperParameters> hyper, WeightTable weights)
      : hyper_(std::move(hyper)), weights_(std::move(weights)) {}

  std::optional<HyperParameters> hyper_;
  WeightTable weights_;
};

/// Does the usage fit into what there is? True without limits.
bool fits_into(const Usage& usage, const Available& available);
/// The same with compute buffers as large as the errors of the estimate allow.
bool fits_at_most(const Usage& usage, const Available& available);

/// All layers on what GPUs there are.
Placement whole_model(const Available& available);

/// The options of llama.cpp that say this.
std::string options_text(const RunOptions& run, const Usage& usage, u64 blocks, bool has_experts);

/// The largest part of the model that fits on the GPU: all layers and as few experts in host memory as possible, if
/// `moves_experts` and the model has any; else, or where that is not enough, as many layers as possible.
Result<std::optional<Usage>> largest_part(const ModelMemory& model, const RunOptions& run, const Available& available,
                                          bool moves_experts);

/// Ways to run the model that fit where all layers on the GPU do not: at the context of `run` with a smaller cache,
/// with fewer layers on the GPU, with experts in host memory; then at a shorter context.
Result<std::vector<Alternative>> find_alternatives(const ModelMemory& model, const RunOptions& run,
                                                   const Available& available);

}  // namespace modelutils::memory
