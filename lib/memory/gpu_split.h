// Which layers go on which of several GPUs: contiguous parts, as llama.cpp's -ts has them.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils::memory {

/// What a layer takes on the GPU that has it, in bytes.
struct LayerBytes {
  u64 weights = 0;
  u64 caches = 0;
};

/// What one of several GPUs has. Bytes.
struct GpuShare {
  u64 room = 0;         ///< what it may hold
  u64 first_layer = 0;  ///< the number of blocks is the output layer
  u64 layers = 0;       ///< 0: the GPU is not used
  u64 weights = 0, caches = 0;
  u64 compute = 0;  ///< an estimate

  u64 total() const { return weights + caches + compute; }
};

/// Layers from `first` on, in parts of neighbours, one for each of `rooms`; a GPU with layers also has `copied` bytes
/// of weights and `compute` bytes of buffers. Of all parts that fit, those whose fullest GPU is the least full. Nothing
/// if none fit. The sums of `layers` must not exceed 2^63.
std::vector<GpuShare> split_layers(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute,
                                   std::span<const u64> rooms);

}  // namespace modelutils::memory
