// The memory of one model under any options and placement.
#pragma once

#include "model/memory/fit.h"

namespace modelutils::memory {

class ModelMemory {
 public:
  /// Reads the hyper-parameters and sums the weights. Errors: those of read_hyper_parameters().
  static Result<ModelMemory> load(const gguf::SplitSet& set, bool needs_context,
                                  std::function<bool(std::string_view)> stays_on_host = {});

  /// Counts a projector's weights and buffer with the model's, on the first GPU if there is one.
  void add_projector(const ProjectorMemory& projector) { projector_ = projector; }

  bool is_known() const { return hyper_.has_value(); }
  const HyperParameters& hyper() const { return *hyper_; }
  const WeightTable& weights() const { return weights_; }
  u64 blocks() const { return weights_.blocks(); }

  /// Returns the sizes of a run. Precondition: the architecture is known. Errors: those of extent_of() and caches_of().
  Result<Extent> extent(const RunOptions& run) const;
  /// Returns the memory on each device; for unknown architectures only the weights. Error: "fit-too-large".
  Result<Usage> usage(const RunOptions& run, const Extent& extent, const Caches& caches,
                      const Placement& placement) const;

 private:
  void share_out(Usage& usage, const Caches& caches, const Placement& placement) const;
  void add_compute(ComputeSizes& compute, bool on_gpu) const;

  ModelMemory(std::optional<HyperParameters> hyper, WeightTable weights)
      : hyper_(std::move(hyper)), weights_(std::move(weights)) {}

  std::optional<HyperParameters> hyper_;
  WeightTable weights_;
  ProjectorMemory projector_;
};

/// True if the usage fits into the available memory, or if there are no limits.
bool fits_into(const Usage& usage, const Available& available);
/// Like fits_into(), with compute buffers as large as the error of the estimate allows.
bool fits_at_most(const Usage& usage, const Available& available);

/// Places all layers on the available GPUs.
Placement whole_model(const Available& available);

/// Returns the equivalent options for llama.cpp.
std::string options_text(const RunOptions& run, const Usage& usage, u64 blocks, bool has_experts);

/// Returns the largest part of the model that fits on the GPU. If `moves_experts` and the model has experts: all
/// layers, with as few experts as possible in host memory. Otherwise, or if that is not enough: as many layers as
/// possible.
Result<std::optional<Usage>> largest_part(const ModelMemory& model, const RunOptions& run, const Available& available,
                                          bool moves_experts);

/// Returns ways to run a model that does not fit with all layers on the GPU: at the context of `run`, with a smaller
/// cache, with fewer layers on the GPU, or with experts in host memory; then at a shorter context.
Result<std::vector<Alternative>> find_alternatives(const ModelMemory& model, const RunOptions& run,
                                                   const Available& available);

}  // namespace modelutils::memory
