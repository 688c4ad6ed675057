// The exact part of the memory plan: sizes of the KV cache and recurrent state, layer by layer, and the placement of
// the weights on the GPU and in host memory (docs/memory.md, "What is exact and what is not").
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/facts.h"
#include "formats/gguf/split_set.h"
#include "model/memory/hyper_parameters.h"

namespace modelutils::memory {

// Exact sizes of the KV cache and recurrent state, layer by layer (docs/memory.md, "Rules").

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

// A summary of a model's cache in a few numbers.

/// The cache size per token, the sliding window and the recurrent state. cache_summary() returns nullopt if the
/// architecture is unknown or the keys are unusable.
struct CacheSummary {
  u64 bytes_per_token = 0;  ///< of layers with full attention, F16
  u64 window = 0;           ///< in tokens; 0: no layer slides
  u64 sliding_layers = 0, cached_layers = 0;
  u64 state_bytes = 0;  ///< recurrent state of one sequence
};
std::optional<CacheSummary> cache_summary(const arch::Facts& stated);

// The placement of a model's weights on the GPU and in host memory (docs/memory.md, "What is exact and what is not").

/// The assignment of layers to devices, in the terms of llama.cpp's options.
struct Placement {
  static constexpr u64 all_layers = std::numeric_limits<u64>::max();

  bool has_gpu = true;
  u64 gpu_layers = all_layers;  ///< -ngl: this many of the last blocks are on the GPU, counting the output layer as one
  u64 host_expert_blocks = 0;   ///< --n-cpu-moe: the experts of this many of the first blocks stay in host memory
  bool offload_cache = true;    ///< caches are on the device of their block (--no-kv-offload: in host memory)
  std::vector<u64> rooms = {};  ///< available memory of each of several GPUs; empty if there is one

  /// Returns the first block on the GPU. Block `blocks` is the output layer; `blocks` + 1 means that there is none.
  u64 first_gpu_layer(u64 blocks) const;
};

struct WeightSizes {
  Amount gpu, host;
  Amount largest_host_matrix;  ///< the largest matrix that is copied to the GPU when a batch is computed; not the
                               ///< embedding

  bool is_valid() const { return gpu.value() && host.value(); }
};

/// The weights of a model, summed by layer when constructed.
class WeightTable {
 public:
  /// Facts that the tensors' names do not show.
  struct Layout {
    u64 blocks = 0;                                               ///< block_count
    u64 loaded_blocks = 0;                                        ///< further blocks are not loaded
    bool shares_embedding = true;                                 ///< without output.weight, the embedding is the
                                                                  ///< output matrix
    std::function<bool(std::string_view)> is_behind_layers = {};  ///< tensors without a block that are used after the
                                                                  ///< layers although their names look like inputs
    std::function<bool(std::string_view)> stays_on_host = {};     ///< -ot: tensors that the user keeps in host memory
  };
  /// Tensors of unknown size are not counted; unknown_sizes() returns their number.
  WeightTable(const gguf::SplitSet& set, const Layout& layout);

  /// Returns the weights on each side for this placement.
  WeightSizes place(const Placement& placement) const;
  /// Returns the weights on the GPU by layer, the output layer last, without rope factors.
  std::vector<Amount> gpu_layers(const Placement& placement) const;
  /// Rope factors; each GPU with blocks has a copy.
  Amount rope_factors() const { return rope_factors_.gpu; }
  bool has_experts() const { return has_experts_; }
  u64 unknown_sizes() const { return unknown_sizes_; }
  u64 blocks() const { return blocks_; }

 private:
  struct Part {
    Amount gpu, host;
    Amount largest;  ///< largest matrix
    void add(const Part& other);
  };
  struct Layer {
    Part plain, experts;
    Amount pinned_host;  ///< stays in host memory wherever the layer is
    Amount pinned_largest;
  };
  void add_tensor(const gguf::TensorInfo& tensor, const Layout& layout);
  std::size_t layer_of(std::string_view name, const Layout& layout, bool& is_input) const;

  u64 blocks_ = 0;
  std::vector<Layer> layers_;  ///< the last one is the output layer
  Amount input_host_;          ///< embeddings, always in host memory
  Part shared_embedding_;      ///< copied to the GPU with the output layer
  Part rope_factors_;          ///< one copy per device with blocks
  u64 unknown_sizes_ = 0;
  bool has_experts_ = false;
};

/// True for a matrix of routed experts, which --cpu-moe and --n-cpu-moe move.
bool is_expert_tensor(std::string_view name);

/// Returns one more than the largest N of "blk.N." among the tensors: the block count of a model that does not state
/// it.
u64 blocks_of_tensors(const gguf::SplitSet& set);

}  // namespace modelutils::memory
