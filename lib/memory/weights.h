// The placement of a model's weights on the GPU and in host memory (docs/memory.md, "What is exact and what is not").
#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "gguf/split_set.h"
#include "memory/amount.h"

namespace modelutils::memory {

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
