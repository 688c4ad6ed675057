// Calculates the memory that a model needs at several contexts, with an estimate of the compute buffers, and the part
// of it that fits on one or several GPUs, split in contiguous parts as llama.cpp's -ts does (docs/memory.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "model/memory/exact_sizes.h"
#include "model/memory/hyper_parameters.h"

namespace modelutils::memory {

// An estimate of the compute buffers and its measured error (docs/memory.md, "What is exact and what is not").

/// The least and the largest ratio of estimate to measurement over all measured cases.
struct ComputeError {
  double least = 1;
  double most = 1;
};
inline constexpr ComputeError gpu_error = {0.859, 2.3};     ///< all layers on one GPU
inline constexpr ComputeError host_error = {0.995, 1.8};    ///< host memory used in addition to one GPU
inline constexpr ComputeError cpu_error = {0.985, 5.95};    ///< no GPU
inline constexpr ComputeError partial_error = {0.6, 6.65};  ///< some layers or experts on the GPU
inline constexpr ComputeError mixed_error = {0.68, 21.5};   ///< host memory while some blocks are computed on the CPU

struct ComputeSizes {
  u64 gpu_bytes = 0;
  u64 host_bytes = 0;
  u64 low_bytes = 0;  ///< lower bound of both together, from the errors
  u64 high_bytes = 0;
  u64 gpu_high_bytes = 0;              ///< the GPU's part of `high_bytes`
  ComputeError gpu_range, host_range;  ///< the errors from which the bounds are computed
};

/// Corrects an estimate of `bytes` for a ratio `error` of estimate to measurement.
u64 scaled_by(u64 bytes, double error);

/// Estimates the compute buffers. `weights` must be those of `placement`. Error: "fit-too-large" (2^64 bytes or more).
Result<ComputeSizes> compute_sizes(const HyperParameters& model, const RunOptions& options, const Extent& extent,
                                   const Caches& caches, const WeightTable& table, const Placement& placement,
                                   const WeightSizes& weights);

// Distributes layers over several GPUs in contiguous parts, as llama.cpp's -ts does.

/// The memory that a layer needs on its GPU, in bytes.
struct LayerBytes {
  u64 weights = 0;
  u64 caches = 0;
};

/// The share of one of several GPUs, in bytes.
struct GpuShare {
  u64 room = 0;         ///< available memory
  u64 first_layer = 0;  ///< equal to the block count for the output layer
  u64 layers = 0;       ///< 0: the GPU is not used
  u64 weights = 0, caches = 0;
  u64 compute = 0;  ///< an estimate

  u64 total() const { return weights + caches + compute; }
};

/// Splits the layers from `first` on into contiguous parts, one for each of `rooms`. Each GPU with layers also holds
/// `copied` bytes of weights and `compute` bytes of buffers. Of all splits that fit, returns one whose fullest GPU is
/// the least full; empty if none fits. The sums over `layers` must not exceed 2^63.
std::vector<GpuShare> split_layers(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute,
                                   std::span<const u64> rooms);

/// The runtime whose rules are used.
inline constexpr std::string_view runtime = "llama.cpp of August 2026 (ggml 0.20.2)";

inline constexpr u64 default_margin = u64{1} << 30;

/// The available memory in bytes. If none is given, the result does not say whether the model fits, and all layers are
/// on one GPU.
struct Available {
  std::optional<u64> gpu;       ///< with several GPUs their sum
  std::vector<u64> gpus;        ///< size of each GPU, in the runtime's order; empty if there are less than two
  std::optional<u64> ram;       ///< if it is the only one given, there is no GPU
  std::optional<u64> unified;   ///< memory shared by CPU and GPU
  std::optional<u64> mac;       ///< `unified` is the GPU's share on a Mac; this is the whole memory
  u64 margin = default_margin;  ///< kept free: on each GPU, in unified memory, or in RAM if there is no GPU

  bool is_limited() const { return gpu || ram || unified; }
};

// A projector's memory in llama.cpp's multimodal library, which comes on top of its model's.

struct ProjectorMemory {
  std::string path;
  u64 weights = 0;  ///< exact
  u64 compute = 0;  ///< an estimate of the buffer that llama.cpp reserves when it starts
  u64 picture = 0;  ///< for a picture with this side in pixels; 0: for a sound

  u64 bytes() const { return weights + compute; }
};
/// The least and the largest ratio of estimate to measurement (docs/memory.md).
inline constexpr ComputeError projector_error = {0.996, 1.084};

/// Returns nullopt if the set is not a projector's. Errors: "fit-key" (a size is missing), "fit-too-large".
Result<std::optional<ProjectorMemory>> projector_memory(const gguf::SplitSet& set);

/// Returns the memory that macOS gives the GPU by default on a Mac with this much memory: two thirds, from 36 GiB on
/// three quarters (docs/memory.md, "Macs").
u64 gpu_share_of_mac(u64 bytes);

struct FitRequest {
  std::vector<u64> contexts;                 ///< if empty, the context that the model was trained for
  RunOptions run;                            ///< its context is ignored
  std::optional<ProjectorMemory> projector;  ///< loaded with the model
  Available available;
};

/// The memory on each device, in bytes.
struct Usage {
  Placement placement;
  u64 gpu_weights = 0, host_weights = 0;
  u64 gpu_caches = 0, host_caches = 0;  ///< KV caches and states
  ComputeSizes compute;
  u64 gpu_total = 0, host_total = 0;
  std::vector<GpuShare> gpus;  ///< the share of each GPU if there are several; empty if the layers do not fit
};

/// The drawback of an alternative, from the cheapest on.
enum class Sacrifice : u8 { cache_bits, gpu_layers, gpu_experts, context };
std::string_view sacrifice_name(Sacrifice sacrifice);  ///< "cache", "layers", "experts", "context"

/// Another way to run the model that fits.
struct Alternative {
  Sacrifice sacrifice = Sacrifice::cache_bits;
  std::string options;  ///< options for llama.cpp
  std::string costs;    ///< a description, such as "cache of 8 bits"
  Usage usage;
};

struct ContextFit {
  RunOptions run;
  Extent extent;
  Caches caches;
  Usage usage;                            ///< with all layers on the GPU, or with as many as fit
  std::optional<bool> fits;               ///< whether the whole model fits; nullopt if unknown
  bool fits_at_most = false;              ///< `usage` fits even with the largest compute buffers within the error
  std::optional<u64> gpu_layers;          ///< -ngl; nullopt if no number of layers fits, or if unknown
  std::optional<u64> host_expert_blocks;  ///< --n-cpu-moe; nullopt for models without experts, and in the same cases as
                                          ///< gpu_layers
  std::string options;                    ///< options for llama.cpp to run with `usage`; empty if nothing fits
  std::vector<Alternative> alternatives;  ///< cheapest first; only if the model does not fit
};

struct FitReport {
  std::string architecture;
  bool is_known = true;  ///< false: only the weights are known
  u64 blocks = 0;        ///< -ngl counts one more, the output layer
  bool has_experts = false;
  bool is_draft = false;                ///< a draft model or only multi-token prediction blocks: not a complete model
  bool is_projector = false;            ///< the file is a projector: only its weights and its buffer are counted
  bool has_encoder = false;             ///< the estimate of compute buffers is not valid
  std::optional<u64> trained_context;   ///< the context that the model was trained for, if the file states it
  u64 unknown_sizes = 0;                ///< number of tensors of unknown types
  std::optional<gguf::PartOfSet> part;  ///< the only part of a split model that is available
  std::string model_file;               ///< the file to pass to a runtime; for a split model its first part
  bool is_planned = false;              ///< this is a planned conversion, and the file does not exist
  FitRequest request;
  std::vector<ContextFit> contexts;
};

/// True if a model fits completely that differs from the judged one only in its tensor types. This is an estimate:
/// caches and buffers are the same, weights are scaled in proportion to the file sizes (`judged_bytes` must not be 0).
/// Returns nullopt if the answer is unknown: the judged model does not fit and the other is smaller.
std::optional<bool> fits_by_size(const FitReport& judged, u64 judged_bytes, u64 bytes);

/// Computes the memory at each requested context. Errors: those of read_hyper_parameters(); "fit-too-large" (a size of
/// 2^64 or more); usage (options that conflict with each other or with the model).
Result<FitReport> fit(const gguf::SplitSet& set, const FitRequest& request);

}  // namespace modelutils::memory
