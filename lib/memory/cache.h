// Exact sizes of the KV cache and recurrent state, layer by layer (docs/memory.md, "Rules").
#pragma once

#include <string_view>
#include <vector>

#include "memory/hyper_parameters.h"
#include "memory/run_options.h"

namespace modelutils::memory {

enum class CacheKind : u8 {
  full,        ///< all tokens
  sliding,     ///< a window of the last tokens
  compressed,  ///< one cell per 4 tokens
  summary,     ///< one cell per 128 tokens
  indexer,     ///< keys that select the tokens to attend to
  recurrent,   ///< a state whose size does not depend on the context
};

/// "full", "swa", "csa", "hca", "indexer", "recurrent".
std::string_view kind_name(CacheKind kind);

/// One cache of a layer; a layer may have several.
struct LayerCache {
  u64 layer = 0;
  CacheKind kind = CacheKind::full;
  u64 cells = 0;  ///< per stream; for recurrent caches the number of sequences
  u64 streams = 0;
  u64 k_bytes = 0;    ///< recurrent: the rolling state
  u64 v_bytes = 0;    ///< recurrent: the state itself
  u64 f32_bytes = 0;  ///< compressed caches: state for tokens that are not yet compressed
};

struct Caches {
  std::vector<LayerCache> layers;
  u64 k_bytes = 0, v_bytes = 0;  ///< of all caches that are not recurrent
  u64 rolling_bytes = 0, state_bytes = 0;
  u64 f32_bytes = 0;

  u64 attention_bytes() const { return k_bytes + v_bytes; }
  u64 recurrent_bytes() const { return rolling_bytes + state_bytes + f32_bytes; }
};

/// Computes the caches of every layer. Errors: "fit-too-large" (2^64 bytes or more), usage (a cache type that the model
/// does not allow).
Result<Caches> caches_of(const HyperParameters& model, const RunOptions& options, const Extent& extent);

}  // namespace modelutils::memory
