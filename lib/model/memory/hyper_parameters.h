// The inputs of the memory plan: the hyper-parameters that a model states, with the runtime's defaults for optional
// keys, and the options for running it (docs/memory.md, "Rules"). Overflow of 64 bits is checked once, at the end.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "arch/facts.h"
#include "arch/family_facts.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/gguf/split_set.h"
#include "tensor/types.h"

namespace modelutils::memory {

// Byte and element counts computed from sizes stated in a file. Overflow of 64 bits is checked once, at the end.

/// A number that remembers whether it, or any number it was computed from, overflowed.
class Amount {
 public:
  constexpr Amount() = default;
  constexpr Amount(u64 value) : value_(value) {}  // NOLINT: formulas mix amounts and plain numbers

  /// Returns nullopt after an overflow.
  constexpr std::optional<u64> value() const { return fits_ ? std::optional<u64>(value_) : std::nullopt; }

  friend constexpr Amount operator+(Amount a, Amount b) { return of(checked_add(a.value_, b.value_), a, b); }
  friend constexpr Amount operator*(Amount a, Amount b) { return of(checked_mul(a.value_, b.value_), a, b); }
  constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
  /// Rounds down; `divisor` must not be 0.
  friend constexpr Amount operator/(Amount a, u64 divisor) { return of(a.value_ / divisor, a, a); }
  friend constexpr Amount max(Amount a, Amount b) { return of(std::max(a.value_, b.value_), a, b); }
  friend constexpr Amount min(Amount a, Amount b) { return of(std::min(a.value_, b.value_), a, b); }
  constexpr Amount padded_to(u64 multiple) const { return of(checked_round_up(value_, multiple), *this, *this); }

 private:
  static constexpr Amount of(std::optional<u64> value, Amount a, Amount b) {
    Amount result(value.value_or(0));
    result.fits_ = value.has_value() && a.fits_ && b.fits_;
    return result;
  }

  u64 value_ = 0;
  bool fits_ = true;
};

/// Rounded up to a multiple of `multiple`, which must not be 0.
constexpr Amount padded(Amount amount, u64 multiple) {
  return amount.padded_to(multiple);
}

// The options for running a model: context, sequences, cache types (docs/memory.md, "Rules").

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

/// All vectors have one element per block.
struct HyperParameters {
  std::string architecture;
  const arch::CacheFacts* facts = nullptr;  ///< never null
  u64 blocks = 0;                           ///< block_count
  u64 trunk = 0;                            ///< blocks without the multi-token prediction blocks
  u64 embedding = 0;
  std::optional<u64> trained_context;
  std::vector<u64> heads, kv_heads, feed_forward;
  u64 key_length = 0, value_length = 0;                  ///< per head; with latent attention, of the shared vector
  u64 key_length_sliding = 0, value_length_sliding = 0;  ///< per head, in layers with a sliding window
  bool is_latent = false;                                ///< keys and values share one latent vector
  u64 key_length_latent = 0;                             ///< of a query head with latent attention

  u64 window = 0;            ///< in tokens; 0: none
  bool has_windows = false;  ///< there are two caches, even if no layer slides
  std::vector<bool> slides;
  std::vector<bool> is_recurrent;
  u64 rolling = 0;  ///< number of f32 values that a recurrent layer keeps of the last tokens
  u64 state = 0;    ///< number of f32 values of its state

  u64 own_layers = 0;  ///< only this many of the first blocks have their own keys and values
  u64 indexer_key = 0;
  std::vector<bool> has_indexer;
  std::vector<u64> compression;  ///< tokens per compressed cell; 0: not compressed

  // For the estimate of compute buffers.
  u64 vocabulary = 0;
  u64 experts = 0, experts_used = 0, expert_width = 0, shared_width = 0;
  u64 indexer_heads = 0, hyper_connections = 0, layer_input = 0, state_width = 0;

  /// Elements of a layer's keys or values for one token. The limits of the keys keep this below 2^64.
  u64 k_elements(std::size_t layer) const;
  u64 v_elements(std::size_t layer) const;
};

/// Reads the hyper-parameters; nullopt if the architecture is unknown. `needs_context`: context_length is required,
/// because it determines the context. Errors: "fit-key" and "fit-layers" (model/memory/layer_rules.h).
Result<std::optional<HyperParameters>> read_hyper_parameters(const arch::Facts& stated, bool needs_context);
/// Like read_hyper_parameters() for facts, from the keys of a file. Further errors: read errors.
Result<std::optional<HyperParameters>> read_hyper_parameters(const gguf::SplitSet& set, bool needs_context);

}  // namespace modelutils::memory
