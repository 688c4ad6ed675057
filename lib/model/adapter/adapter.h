// LoRA adapters in PEFT's and mlx-lm's formats: pairs of low-rank factors with a scale, and the keys of rank_pattern
// and alpha_pattern, which are regular expressions as in Python's re module. Source: docs/formats/adapters.md.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/safetensors/shard_set.h"
#include "io/model_folder.h"
#include "tensor/types.h"

namespace modelutils::adapter {

// The keys of PEFT's rank_pattern and alpha_pattern: regular expressions as in Python's re module.

/// Matches module names NAME for which re.match(r"(.*\.)?(KEY)$", NAME) succeeds.
class ModulePattern {
 public:
  /// Supports characters, escapes, classes, '.', groups, alternatives, repetitions and the anchors ^ $ \A \Z \b \B.
  /// Returns nullopt for invalid expressions, and for back references, look-around, flags, possessive repetitions, more
  /// than 4096 characters, or more than 16,384 states after expanding `{m,n}`.
  static std::optional<ModulePattern> parse(std::string_view key);

  /// True if the key matches `module`, which must be printable ASCII. Takes at most as many steps as the product of
  /// both lengths; subtracts them from `budget`, and returns false once it is exhausted.
  bool names(std::string_view module, u64& budget) const;

  struct Automaton;

 private:
  std::shared_ptr<const Automaton> automaton_;
};

/// The rank and the scale that PEFT gives each module.
class PeftScaling {
 public:
  using Patterns = std::vector<std::pair<ModulePattern, double>>;

  PeftScaling() = default;
  PeftScaling(double rank, double alpha, bool is_rslora, Patterns ranks, Patterns alphas)
      : rank_(rank), alpha_(alpha), is_rslora_(is_rslora), ranks_(std::move(ranks)), alphas_(std::move(alphas)) {}

  struct Values {
    double rank = 0;
    double scale = 0;  ///< alpha / rank; with rslora, alpha / √rank
  };
  /// Returns the values for a module, or for a parameter with its own pair ("….experts.down_proj"): from the first
  /// pattern that matches, else the defaults. Fails with "adapter-config" for a name that is not printable ASCII, or if
  /// there are too many keys and modules to try. Not thread-safe.
  Result<Values> of(std::string_view module) const;

 private:
  Result<double> value(std::string_view field, const Patterns& patterns, std::string_view module,
                       double otherwise) const;

  double rank_ = 1;
  double alpha_ = 1;
  bool is_rslora_ = false;
  Patterns ranks_, alphas_;
  mutable u64 steps_ = u64{1} << 30;  // remaining steps for matching keys
};

enum class Origin : u8 { peft, mlx_lm };

/// A stored tensor, viewed as a stack of matrices. Element (e, i, j) is stored at element start + e × stack_stride + i
/// × row_stride + j × column_stride.
struct Factor {
  std::string name;  ///< the tensor's name in the file
  TensorType type = TensorType::F32;
  u64 offset = 0;    ///< absolute offset in Adapter::source
  u64 elements = 0;  ///< number of stored elements
  u64 start = 0;
  u64 stack = 1;
  u64 rows = 0;
  u64 columns = 0;
  u64 stack_stride = 0;
  u64 row_stride = 0;
  u64 column_stride = 1;
};

/// A pair of factors for one module: its matrix W [out, in] becomes W + scale × B·A.
struct Module {
  std::string name;  ///< in transformers or mlx-lm, without PEFT's prefix: "model.layers.0.self_attn.q_proj"
  Factor a;          ///< [r, in]
  Factor b;          ///< [out, r]
  double scale = 1;  ///< includes alpha, rank, rslora and patterns

  u64 rank() const { return a.rows; }
};

/// Parts of an adapter other than pairs, which can only be merged.
struct Extra {
  enum class Kind : u8 {
    magnitude,  ///< DoRA: the norms of the rows, [out]
    saved,      ///< a tensor that replaces the base's
  };
  Kind kind = Kind::saved;
  std::string name;  ///< the module's name; for a replaced tensor, including the suffix ("lm_head.weight")
  Factor values;     ///< one row, or [rows, columns]
};

struct Adapter {
  std::string path;  ///< the directory, as the user gave it
  Origin origin = Origin::peft;
  PeftScaling scaling;          ///< PEFT: the settings from which Module::scale was computed
  std::optional<double> alpha;  ///< PEFT's lora_alpha, without the patterns for single modules
  std::string base_model;       ///< the base model that it names; may be empty
  std::vector<Module> modules;
  std::vector<Extra> extras;
  /// The axis of a three-dimensional parameter that PEFT treats as the module's input: the last one since 0.19.1, the
  /// middle one before. nullopt if the adapter does not name the PEFT version.
  std::optional<bool> last_axis_is_in;
  bool ties_head = false;              ///< a change to the embedding also applies to the output head tied to it
  std::vector<u32> invocation_tokens;  ///< alora: the tokens after which the adapter is active
  std::string task, prompt_prefix;     ///< from read_task(): the task, and the prefix of its texts
  std::shared_ptr<ByteSource> source;  ///< the weights file
  std::string weights;                 ///< path of the weights file

  /// Returns a factor's values in stored order, as float32. Fails if reading fails, or with "adapter-not-finite" if one
  /// is NaN or infinite.
  Result<std::vector<float>> read(const Factor& factor) const;
  /// True if read() returns the stored values exactly; always for types other than F64. Fails only if reading fails.
  Result<bool> fits_float(const Factor& factor) const;

 private:
  Result<std::vector<std::byte>> read_stored(const Factor& factor) const;
};

/// True for floating-point and block types. Integers cannot represent the factors of an adapter.
bool may_be_factor(TensorType type);

/// Fails with "adapter-not-finite" if a value is NaN or infinite.
Status check_finite(std::span<const float> values, std::string_view tensor);

/// True if the folder is an adapter's: it has an adapter_config.json and no config.json.
bool is_adapter(const ModelFolder& folder);

/// Opens the weights file in an adapter's directory. Fails with "adapter-config" (no adapter_config.json),
/// "adapter-tensor" (no weights), or like open_in_folder() and safetensors::open_set().
Result<safetensors::ShardSet> open_weights(const ModelFolder& folder);

/// Reads an adapter's headers. Errors of kind input: "adapter-config" (a missing or unusable field of
/// adapter_config.json, or a rank that contradicts the tensors), "adapter-method" (a method other than LoRA),
/// "adapter-pair" (an incomplete pair, or ranks or dimensions that do not match), "adapter-tensor" (an unexpected
/// tensor, or a type that factors cannot have); also fails if reading or json/reader.h fails, or on findings of
/// `weights`. Does not apply the container rules; see rules/safetensors/rules.h.
Result<Adapter> read_adapter(const ModelFolder& folder, const safetensors::ShardSet& weights);

}  // namespace modelutils::adapter
