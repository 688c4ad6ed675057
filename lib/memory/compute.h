// An estimate of the compute buffers, with the errors that it showed (docs/memory.md, "What is exact and what is not").
#pragma once

#include "memory/cache.h"
#include "memory/hyper_parameters.h"
#include "memory/run_options.h"
#include "memory/weights.h"

namespace modelutils::memory {

/// How far an estimate was from what was measured: estimate / measured, the least and the most of all cases.
struct ComputeError {
  double least = 1;
  double most = 1;
};
inline constexpr ComputeError gpu_error = {0.859, 2.3};     ///< all layers on one GPU
inline constexpr ComputeError host_error = {0.995, 1.8};    ///< host memory next to it
inline constexpr ComputeError cpu_error = {0.985, 5.95};    ///< no GPU
inline constexpr ComputeError partial_error = {0.6, 6.65};  ///< a part of the layers or of the experts on the GPU
inline constexpr ComputeError mixed_error = {0.68, 21.5};   ///< host memory while some blocks are computed there

struct ComputeSizes {
  u64 gpu_bytes = 0;
  u64 host_bytes = 0;
  u64 low_bytes = 0;  ///< of both together, by the errors
  u64 high_bytes = 0;
  u64 gpu_high_bytes = 0;              ///< of `high_bytes`, those of the GPU
  ComputeError gpu_range, host_range;  ///< the errors that these come from
};

/// What an estimate of `bytes` means if its error was `error`.
u64 scaled_by(u64 bytes, double error);

/// `weights`: of the same placement. Error "fit-too-large": 2^64 bytes or more.
Result<ComputeSizes> compute_sizes(const HyperParameters& model, const RunOptions& options, const Extent& extent,
                                   const Caches& caches, const WeightTable& table, const Placement& placement,
                                   const WeightSizes& weights);

}  // namespace modelutils::memory
