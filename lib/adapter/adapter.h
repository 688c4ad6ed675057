// LoRA adapters as PEFT and mlx-lm save them: pairs of factors and by how much their product counts. Facts:
// docs/formats/adapters.md.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/peft_scaling.h"
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
  PeftScaling scaling;          ///< of PEFT; what Module::scale was made by
  std::optional<double> alpha;  ///< lora_alpha of PEFT, whatever patterns say of single modules
  std::string base_model;       ///< what it says it was trained on; may be empty
  std::vector<Module> modules;
  std::vector<Extra> extras;
  /// Which axis of a three-dimensional parameter PEFT took for the module's inputs: the last since 0.19.1, before that
  /// the middle one. Nothing: the adapter does not say which PEFT wrote it.
  std::optional<bool> last_axis_is_in;
  bool ties_head = false;              ///< a change of the embedding is one of the output head that is tied to it
  std::vector<u32> invocation_tokens;  ///< alora: the tokens from which on it is active
  std::shared_ptr<ByteSource> source;  ///< of the weights
  std::string weights;                 ///< its path

  /// The values of a factor as they are stored, in float32. Errors: reading; "adapter-not-finite" if one is NaN or
  /// infinite.
  Result<std::vector<float>> read(const Factor& factor) const;
  /// True if read() gives the stored values exactly; all but F64 fit. Errors: reading.
  Result<bool> fits_float(const Factor& factor) const;

 private:
  Result<std::vector<std::byte>> read_stored(const Factor& factor) const;
};

/// True for the types that factors can have: floats and blocks. Rounded to integers, an adapter has no values left.
bool may_be_factor(TensorType type);

/// "adapter-not-finite" if one of a tensor's values is NaN or infinite.
Status check_finite(std::span<const float> values, std::string_view tensor);

/// Is it the directory of an adapter: an adapter_config.json and no config.json?
bool is_adapter(const ModelFolder& folder);

/// Opens the file of weights in an adapter's directory. Errors: "adapter-config" (there is no adapter_config.json),
/// "adapter-tensor" (there are no weights), those of open_in_folder() and safetensors::open_set().
Result<safetensors::ShardSet> open_weights(const ModelFolder& folder);

/// Reads the headers of an adapter's directory, which is open. Errors of kind input: "adapter-config" (a field of
/// adapter_config.json that is missing or of no use, a rank that is not the tensors'), "adapter-method" (another method
/// than LoRA, named), "adapter-pair" (half a pair, ranks or dimensions that do not fit), "adapter-tensor" (a tensor of
/// neither form, or of a type that has no factors); those of reading and of json/reader.h and the findings of
/// `weights`. The rules for containers are not applied: rules/safetensors/adapter.h does that.
Result<Adapter> read_adapter(const ModelFolder& folder, const safetensors::ShardSet& weights);

}  // namespace modelutils::adapter
