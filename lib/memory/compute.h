// An estimate of the compute buffers and its measured error (docs/memory.md, "What is exact and what is not").
#pragma once

#include "memory/cache.h"
#include "memory/hyper_parameters.h"
#include "memory/run_options.h"
#include "memory/weights.h"

namespace modelutils::memory {

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

}  // namespace modelutils::memory
