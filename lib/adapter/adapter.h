// LoRA adapters as PEFT and mlx-lm save them: pairs of factors and by how much their product counts. Facts:
// docs/formats/adapters.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "io/model_folder.h"
#include "safetensors/shard_set.h"
#include "tensor/types.h"

namespace modelutils::adapter {

enum class Origin : u8 { peft, mlx_lm };

/// One stored tensor, and how its elements are those of a stack of matrices. Element (e, i, j) of the stack is at
/// start + e × stack_stride + i × row_stride + j × column_stride.
struct Factor {
  std::string name;  ///< of the tensor in the file
  TensorType type = TensorType::F32;
  u64 offset = 0;    ///< absolute in Adapter::source
  u64 elements = 0;  ///< stored
  u64 start = 0;
  u64 stack = 1;
  u64 rows = 0;
  u64 columns = 0;
  u64 stack_stride = 0;
  u64 row_stride = 0;
  u64 column_stride = 1;
};

/// A pair on one module: the module's matrix W [out, in] becomes W + scale × B·A.
struct Module {
  std::string name;  ///< as transformers or mlx-lm call it, without PEFT's prefix: "model.layers.0.self_attn.q_proj"
  Factor a;          ///< [r, in]
  Factor b;          ///< [out, r]
  double scale = 1;  ///< with all of alpha, rank, rslora and patterns in it

  u64 rank() const { return a.rows; }
};

/// What an adapter has besides pairs, which only merging can carry.
struct Extra {
  enum class Kind : u8 {
    magnitude,  ///< DoRA: the lengths of the rows, [out]
    saved,      ///< a tensor that replaces the base's
  };
  Kind kind = Kind::saved;
  std::string name;  ///< of the module; of what replaces a tensor with its suffix ("lm_head.weight")
  Factor values;     ///< one row, or [rows, columns]
};

struct Adapter {
  std::string path;  ///< of the directory, as the user gave it
  Origin origin = Origin::peft;
  std::optional<double> alpha;  ///< lora_alpha of PEFT, whatever patterns say of single modules
  std::string base_model;       ///< what it says it was trained on; may be empty
  std::vector<Module> modules;
  std::vector<Extra> extras;
  /// Which axis of a three-dimensional parameter PEFT took for the module's inputs: the last since 0.19.1, before that
  /// the middle one. Nothing: the adapter does not say which PEFT wrote it.
  std::optional<bool> last_axis_is_in;
  std::vector<u32> invocation_tokens;  ///< alora: the tokens from which on it is active
  std::shared_ptr<ByteSource> source;  ///< of the weights
  std::string weights;                 ///< its path

  /// The values of a factor as they are stored, in float32. Errors: reading.
  Result<std::vector<float>> read(const Factor& factor) const;
};

/// Is it the directory of an adapter: an adapter_config.json and no config.json?
bool is_adapter(const ModelFolder& folder);

/// Reads the headers of an adapter's directory. Errors of kind input: "adapter-config" (a field of adapter_config.json
/// that is missing or of no use, a rank that is not the tensors'), "adapter-method" (another method than LoRA, named),
/// "adapter-pair" (half a pair, ranks or dimensions that do not fit), "adapter-tensor" (a tensor of neither form, or of
/// a type that has no factors); those of reading and of json/reader.h and safetensors/parse.h.
Result<Adapter> read_adapter(const std::string& directory);
/// The same of a directory that is open.
Result<Adapter> read_adapter(const ModelFolder& folder, const safetensors::ShardSet& weights);

}  // namespace modelutils::adapter
