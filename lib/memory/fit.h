// Will it fit? What a model needs at several contexts, and what of it goes on the GPU (docs/memory.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/compute.h"

namespace modelutils::memory {

/// The runtime whose rules these are.
inline constexpr std::string_view runtime = "llama.cpp of August 2026 (ggml 0.20.2)";

inline constexpr u64 default_margin = u64{1} << 30;

/// The memory that there is, in bytes. Without any of it nothing is judged, and all layers are on one GPU.
struct Available {
  std::optional<u64> gpu;
  std::optional<u64> ram;       ///< alone: there is no GPU
  std::optional<u64> unified;   ///< one memory for both
  u64 margin = default_margin;  ///< left free: of the GPU, of unified memory, of the RAM where there is no GPU

  bool is_limited() const { return gpu || ram || unified; }
};

struct FitRequest {
  std::vector<u64> contexts;  ///< empty: what the model was trained for
  RunOptions run;             ///< its context does not count
  Available available;
};

/// What goes where, in bytes.
struct Usage {
  Placement placement;
  u64 gpu_weights = 0, host_weights = 0;
  u64 gpu_caches = 0, host_caches = 0;  ///< KV and states
  ComputeSizes compute;
  u64 gpu_total = 0, host_total = 0;
};

/// Another way to run the model, that fits.
struct Alternative {
  std::string options;  ///< of llama.cpp
  std::string costs;    ///< "half of the precision of the cache"
  Usage usage;
};

struct ContextFit {
  RunOptions run;
  Extent extent;
  Caches caches;
  Usage usage;                            ///< of all layers on the GPU, or of as many as fit
  std::optional<bool> fits;               ///< the whole model; nothing if that is not known
  std::optional<u64> gpu_layers;          ///< -ngl; nothing if no number of layers fits, or it is not known
  std::optional<u64> host_expert_blocks;  ///< --n-cpu-moe; nothing for models without experts, and as above
  std::string options;                    ///< of llama.cpp, for what `usage` says; empty if nothing fits
  std::vector<Alternative> alternatives;  ///< the best first; only if it does not fit
};

struct FitReport {
  std::string architecture;
  bool is_known = true;  ///< else weights are all that is known
  u64 blocks = 0;        ///< -ngl takes one more: the output layer
  bool has_experts = false;
  bool is_draft = false;                ///< blocks that predict further tokens alone, or a draft: no model by itself
  bool has_encoder = false;             ///< the estimate of compute buffers does not hold
  std::optional<u64> trained_context;   ///< what the model was trained for, if the file says it
  u64 unknown_sizes = 0;                ///< tensors of types that the table does not have
  std::optional<gguf::PartOfSet> part;  ///< the only part of a split model that is there
  FitRequest request;
  std::vector<ContextFit> contexts;
};

/// Errors: those of read_hyper_parameters(), "fit-too-large" (products of 2^64 and more), usage (options that do not go
/// together or with the model).
Result<FitReport> fit(const gguf::SplitSet& set, const FitRequest& request);

}  // namespace modelutils::memory
