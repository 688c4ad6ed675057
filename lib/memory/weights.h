// Where the weights of a model lie: on the GPU or in host memory (docs/memory.md, "What is exact and what is not").
#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "gguf/split_set.h"
#include "memory/amount.h"

namespace modelutils::memory {

/// Which device has what, as llama.cpp's options say it.
struct Placement {
  static constexpr u64 all_layers = std::numeric_limits<u64>::max();

  bool has_gpu = true;
  u64 gpu_layers = all_layers;  ///< -ngl: so many of the last blocks, the output layer counted as one of them
  u64 host_expert_blocks = 0;   ///< --n-cpu-moe: experts of so many of the first blocks stay in host memory
  bool offload_cache = true;    ///< caches lie with their blocks (--no-kv-offload: in host memory)
  std::vector<u64> rooms = {};  ///< of several GPUs, what each may hold; empty: there is one

  /// The first block on the GPU; block `blocks` is the output layer, `blocks` + 1 means none.
  u64 first_gpu_layer(u64 blocks) const;
};

struct WeightSizes {
  Amount gpu, host;
  Amount largest_host_matrix;  ///< of those that are copied over when a batch is computed: not the embedding

  bool is_valid() const { return gpu.value() && host.value(); }
};

/// The weights of a model by layer, summed once.
class WeightTable {
 public:
  /// What is not said by the tensors' names.
  struct Layout {
    u64 blocks = 0;                                               ///< block_count
    u64 loaded_blocks = 0;                                        ///< the others are not loaded
    bool shares_embedding = true;                                 ///< without output.weight the embedding is the output
    std::function<bool(std::string_view)> is_behind_layers = {};  ///< block-less tensors that only seem to come first
    std::function<bool(std::string_view)> stays_on_host = {};     ///< -ot: tensors that the user keeps in host memory
  };
  /// Tensors whose size is not known count nothing; `unknown_sizes` says how many there are.
  WeightTable(const gguf::SplitSet& set, const Layout& layout);

  WeightSizes place(const Placement& placement) const;
  /// What the GPU holds of each layer, the output layer last; without the factors of rope.
  std::vector<Amount> gpu_layers(const Placement& placement) const;
  /// Factors of rope, of which each GPU with blocks has a copy.
  Amount rope_factors() const { return rope_factors_.gpu; }
  bool has_experts() const { return has_experts_; }
  u64 unknown_sizes() const { return unknown_sizes_; }
  u64 blocks() const { return blocks_; }

 private:
  struct Part {
    Amount gpu, host;
    Amount largest;  ///< matrix
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
  Amount input_host_;          ///< embeddings: always in host memory
  Part shared_embedding_;      ///< copied to the GPU with the output layer
  Part rope_factors_;          ///< one copy for each device that has blocks
  u64 unknown_sizes_ = 0;
  bool has_experts_ = false;
};

/// Is it a matrix of routed experts, which --cpu-moe and --n-cpu-moe move?
bool is_expert_tensor(std::string_view name);

/// One more than the largest N of "blk.N." among the tensors: the blocks of a model that does not say.
u64 blocks_of_tensors(const gguf::SplitSet& set);

}  // namespace modelutils::memory
