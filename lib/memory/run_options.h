// The options for running a model: context, sequences, cache types (docs/memory.md, "Rules").
#pragma once

#include "base/error.h"
#include "tensor/types.h"

namespace modelutils::memory {

/// Equivalent to llama.cpp's options of the same names, with the defaults of its tools.
struct RunOptions {
  u64 context = 0;    ///< -c, in tokens; 0: the model's training context
  u64 batch = 2048;   ///< -b
  u64 ubatch = 512;   ///< -ub; 0: same as the batch
  u64 sequences = 1;  ///< -np
  bool unified = false;
  TensorType k_type = TensorType::F16;
  TensorType v_type = TensorType::F16;
  bool flash_attention = true;
  bool full_windows = false;  ///< --swa-full
  u64 snapshots = 0;          ///< rollback snapshots of recurrent states
  u64 outputs = 0;            ///< maximum tokens per batch whose logits are needed; 0: the whole batch
};

/// The sizes that the runtime derives from the options.
struct Extent {
  u64 n_ctx = 0;    ///< tokens of all sequences together
  u64 cells = 0;    ///< cells per stream of a cache with full attention
  u64 streams = 0;  ///< 1 if unified, else one per sequence
  u64 ubatch = 0;   ///< tokens computed at once
  u64 outputs = 0;  ///< logits computed at once
};

inline constexpr u64 cell_padding = 256;   ///< the cell count of a cache is a multiple of this
inline constexpr u64 max_sequences = 256;  ///< the runtime's limit

/// True for types that a cache may have.
bool is_cache_type(TensorType type);

/// Derives the extent. `trained` is context_length, for options without a context. `is_causal` limits batches to the
/// context. Errors (usage): a number that the runtime does not accept. Returns an empty extent if there is no context
/// at all.
Result<Extent> extent_of(const RunOptions& options, u64 trained, bool is_causal);

}  // namespace modelutils::memory
