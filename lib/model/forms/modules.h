// Finds the modules of a directory (the stored tensors that form a weight, its form, and its logical shape) and reads
// and decodes their values in any form. The rules for MLX are in model/mlx/modules.h; other forms are recognised by the
// tensors next to a weight (foreign_forms.h), which the settings in quantization_config only help to interpret
// (docs/formats/hf-quantized.md).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/hf/config.h"
#include "model/forms/stored_form.h"
#include "model/mlx/modules.h"

namespace modelutils {

// The settings in quantization_config of methods other than MLX's. They only help to interpret the tensors, which
// determine a module's form (foreign_forms.h). See docs/formats/hf-quantized.md.

/// Layouts of packed codes with scales and qzeros: GPTQ's, and AWQ's two versions.
enum class WordLayout : u8 { gptq, awq_gemm, awq_gemv };

/// The settings for some of the weights: a group in config_groups, an exception, or all.
struct StatedWeights {
  std::optional<u64> bits;
  std::optional<u64> group_size;  ///< columns per scale; 0: one scale per row
  std::optional<bool> is_symmetric;
};

struct ForeignMethod {
  std::string name;                   ///< quant_method; empty if there is none
  bool is_known = false;              ///< we recognise its forms
  std::string refusal;                ///< why a known method cannot be converted; empty if it can
  u64 group_size = 0;                 ///< 0: not stated, or one group per row
  std::vector<u64> bits;              ///< num_bits of every group, or `bits`
  std::vector<StatedWeights> stated;  ///< tensors that match none of these contradict the settings
  u64 block_rows = 128;               ///< weight_block_size
  u64 block_columns = 128;
  bool states_block = false;             ///< weight_block_size is set, for all modules
  WordLayout layout = WordLayout::gptq;  ///< preferred if the shapes fit several layouts
  bool states_version = false;           ///< AWQ: the settings name the layout
  bool is_gptq_v2 = false;               ///< checkpoint_format
  bool is_symmetric = false;
  bool orders_columns = false;  ///< desc_act: a g_idx must assign the columns to groups
};

/// `name` is the method's name, which may come from hf_quant_config.json instead of `config`.
ForeignMethod read_foreign_method(const hf::Config& config, std::string name);

using mlx::no_tensor;

/// A module that owns a weight. Planes are indices into the list of tensors, or no_tensor.
struct Module {
  std::string_view path;  ///< the weight's name without ".weight", as in the file
  std::array<std::size_t, max_planes> planes{no_tensor, no_tensor, no_tensor, no_tensor, no_tensor};  ///< [0]: weight
  bool quantized = false;          ///< several tensors form the weight
  std::optional<StoredForm> form;  ///< for quantised modules of a known form; use it only if `decodable`
  bool decodable = false;          ///< quantised, and all types and shapes match `form`
  std::vector<u64> shape;          ///< safetensors order: the logical shape if decodable, else the stored weight's

  std::size_t weight() const { return planes[0]; }
  /// Visits the planes of a quantised module other than the weight.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    for (std::size_t i = 1; quantized && i < max_planes; ++i) {
      if (planes[i] != no_tensor) visit(planes[i]);
    }
  }
};

struct Modules {
  std::vector<Module> list;  ///< in the order of their weights in the list of tensors
  FindingLog findings;       ///< from mlx::find_modules() and recognise_foreign_form()
};

/// Finds the modules of a directory in time proportional to the number of tensors. The paths are views of the tensor
/// names.
Modules find_stored_modules(std::span<const mlx::TensorRef> tensors, const mlx::Quantization& quantization,
                            const ForeignMethod& foreign);

// Reads and decodes the values of a tensor in any form, for listings, statistics, comparisons and converters. Reading
// and decoding are separate, because values that are equal byte for byte need not be decoded.

/// The elements of one tensor, contiguous dimension first. They are read in units, the smallest number of elements that
/// can be decoded alone (a block, a group, a row). Thread-safe.
class TensorValues {
 public:
  virtual ~TensorValues() = default;

  /// Returns the form of the bytes returned by read(). For tensors of the same form, equal bytes mean equal values.
  const StoredForm& form() const { return form_; }
  u64 elements() const { return elements_; }
  /// Elements per unit; at least 1, and a divisor of elements().
  u64 unit() const { return unit_; }
  /// True if decode() may be called.
  virtual bool can_decode() const { return true; }

  /// Reads units [first, first + count). Fails only if reading fails.
  virtual Status read(u64 first, u64 count, StoredRows& out) const = 0;
  /// Decodes units returned by read(); `out` must have count × unit() elements.
  virtual void decode(const StoredRows& rows, std::span<float> out) const = 0;
  /// True if decode_some() may be called. False if values depend on more than their own bytes.
  virtual bool can_decode_some() const { return false; }
  /// Decodes out.size() / unit() units of `rows`, starting with unit `first`.
  virtual void decode_some(const StoredRows& /*rows*/, u64 /*first*/, std::span<float> /*out*/) const {}

  /// Reads and decodes any range of elements. Fails if reading fails, with "tensor-no-decoder", or with "internal" for
  /// a range outside of the tensor.
  Status read_values(u64 first, std::span<float> out) const;

 protected:
  TensorValues(const StoredForm& form, u64 elements, u64 unit) : form_(form), elements_(elements), unit_(unit) {}

 private:
  /// Returns the error of read_values() if can_decode() is false.
  virtual Error no_decoder() const;

  StoredForm form_;
  u64 elements_;
  u64 unit_;
};

/// The values of a matrix in a file; other tensors are treated as matrices, too.
class MatrixValues : public TensorValues {
 public:
  /// `name` and `path` are for error messages. The files must outlive this object.
  MatrixValues(StoredMatrix matrix, std::string_view name, std::string_view path);

  bool can_decode() const override;
  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;
  bool can_decode_some() const override { return form().is_plain(); }
  void decode_some(const StoredRows& rows, u64 first, std::span<float> out) const override;

 private:
  Error no_decoder() const override;

  StoredMatrix matrix_;
  std::array<PlaneLayout, max_planes> layouts_;  // layouts per unit
  std::string name_, path_;
};

}  // namespace modelutils
