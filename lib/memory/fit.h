// Will it fit? What a model needs at several contexts, and what of it goes on the GPU (docs/memory.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/compute.h"
#include "memory/gpu_split.h"

namespace modelutils::memory {

/// The runtime whose rules these are.
inline constexpr std::string_view runtime = "llama.cpp of August 2026 (ggml 0.20.2)";

inline constexpr u64 default_margin = u64{1} << 30;

/// The memory that there is, in bytes. Without any of it nothing is judged, and all layers are on one GPU.
struct Available {
  std::optional<u64> gpu;       ///< of several: the sum
  std::vector<u64> gpus;        ///< each of several, in the runtime's order; empty if there is one or none
  std::optional<u64> ram;       ///< alone: there is no GPU
  std::optional<u64> unified;   ///< one memory for both
  u64 margin = default_margin;  ///< left free: of each GPU, of unified memory, of the RAM where there is no GPU

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
  std::vector<GpuShare> gpus;  ///< of several GPUs: which has what; empty if the layers do not fit
};

/// What an alternative gives up, what costs least first.
enum class Sacrifice : u8 { cache_bits, gpu_layers, gpu_experts, context };
std::string_view sacrifice_name(Sacrifice sacrifice);  ///< "cache", "layers", "experts", "context"

/// Another way to run the model, that fits.
struct Alternative {
  Sacrifice sacrifice = Sacrifice::cache_bits;
  std::string options;  ///< of llama.cpp
  std::string costs;    ///< "cache of 8 bits"
  Usage usage;
};

struct ContextFit {
  RunOptions run;
  Extent extent;
  Caches caches;
  Usage usage;                            ///< of all layers on the GPU, or of as many as fit
  std::optional<bool> fits;               ///< the whole model; nothing if that is not known
  bool fits_at_most = false;              ///< what `usage` says fits with the largest compute buffers that were seen
  std::optional<u64> gpu_layers;          ///< -ngl; nothing if no number of layers fits, or it is not known
  std::optional<u64> host_expert_blocks;  ///< --n-cpu-moe; nothing for models without experts, and as above
  std::string options;                    ///< of llama.cpp, for what `usage` says; empty if nothing fits
  std::vector<Alternative> alternatives;  ///< what costs least first; only if it does not fit
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
  std::string model_file;               ///< what a runtime is given: of a split model the first part
  bool is_planned = false;              ///< of a conversion that has not been made: there is no such file
  FitRequest request;
  std::vector<ContextFit> contexts;
};

/// Does a model fit in whole that differs from the judged one in the types of its tensors alone? An estimate: caches
/// and buffers are the same, weights are in proportion to the bytes of the files (`judged_bytes` > 0). Nothing if that
/// cannot be said: the judged one does not fit, and the other is smaller.
std::optional<bool> fits_by_size(const FitReport& judged, u64 judged_bytes, u64 bytes);

/// Errors: those of read_hyper_parameters(), "fit-too-large" (products of 2^64 and more), usage (options that do not go
/// together or with the model).
Result<FitReport> fit(const gguf::SplitSet& set, const FitRequest& request);

}  // namespace modelutils::memory
