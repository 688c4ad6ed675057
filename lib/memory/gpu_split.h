// Distributes layers over several GPUs in contiguous parts, as llama.cpp's -ts does.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils::memory {

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

}  // namespace modelutils::memory
