// How a model is to be run: context, sequences, cache types (docs/memory.md, "Rules").
#pragma once

#include "base/error.h"
#include "tensor/types.h"

namespace modelutils::memory {

/// As llama.cpp's options of the same names; the defaults are those of its tools.
struct RunOptions {
  u64 context = 0;    ///< -c: tokens; 0: as many as the model was trained for
  u64 batch = 2048;   ///< -b
  u64 ubatch = 512;   ///< -ub; 0: as large as a batch
  u64 sequences = 1;  ///< -np
  bool unified = false;
  TensorType k_type = TensorType::F16;
  TensorType v_type = TensorType::F16;
  bool flash_attention = true;
  bool full_windows = false;  ///< --swa-full
  u64 snapshots = 0;          ///< rollback snapshots of recurrent states
  u64 outputs = 0;            ///< most tokens of a batch that logits are wanted of; 0: a whole batch
};

/// What the runtime makes of the options.
struct Extent {
  u64 n_ctx = 0;    ///< tokens of all sequences together
  u64 cells = 0;    ///< of one stream of a cache with full attention
  u64 streams = 0;  ///< one for all sequences if unified, else one each
  u64 ubatch = 0;   ///< tokens computed at once
  u64 outputs = 0;  ///< logits computed at once
};

inline constexpr u64 cell_padding = 256;   ///< caches have a multiple of so many cells
inline constexpr u64 max_sequences = 256;  ///< the runtime's limit

/// Types that a cache may have.
bool is_cache_type(TensorType type);

/// `trained`: context_length, for options without a context. `is_causal`: batches are no longer than the context.
/// Errors (usage): a number that the runtime does not take. No context at all gives an empty extent.
Result<Extent> extent_of(const RunOptions& options, u64 trained, bool is_causal);

}  // namespace modelutils::memory
