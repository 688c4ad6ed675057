// One view on a model of either family: tensors by name with their logical shapes, types, bytes and values; the numbers
// that say what the model is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/names.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "forms/tensor_values.h"
#include "gguf/split_set.h"
#include "model/safetensors_model.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// One tensor as a user thinks of it. A weight that was packed has its logical shape here; its scales and biases are
/// entries of their own, marked as parts.
struct ViewTensor {
  std::string_view name;           ///< as in the file
  std::optional<TensorType> type;  ///< as stored: U32 for packed weights
  std::vector<u64> ne;             ///< logical, contiguous dimension first
  u64 elements = 0;                ///< product of ne
  std::size_t stored = 0;          ///< place in Catalog::tensors
  StoredForm form;                 ///< of its values
  std::array<std::size_t, max_planes> planes{no_tensor, no_tensor, no_tensor,
                                             no_tensor};  ///< places in Catalog::tensors
  bool is_part = false;  ///< scales or biases of another's weight: no parameters of its own

  /// Is it a weight that is made of several stored tensors?
  bool is_packed() const { return planes[1] != no_tensor; }
};

class ModelView {
 public:
  ModelView(ModelView&&) = default;
  ModelView& operator=(ModelView&&) = default;
  ModelView(const ModelView&) = delete;
  ModelView& operator=(const ModelView&) = delete;

  /// "gguf", "safetensors" or "mlx" (a directory with a config.json).
  const std::string& format() const { return catalog_->format; }
  const std::string& path() const { return path_; }
  /// GGUF: general.architecture; else architectures[0] of config.json, or its model_type; empty if none says.
  const std::string& architecture() const { return architecture_; }
  /// Sum of the elements of all tensors that are no parts.
  u64 parameters() const { return parameters_; }

  /// Every tensor whose bytes are all there, in the order of the files.
  std::span<const ViewTensor> tensors() const { return tensors_; }
  /// By the name in the file; else without a wrapper's "language_model."; else, for directories, by its GGUF name
  /// ("blk.0.attn_q.weight"), and for GGUF files by its Hugging Face name. nullptr if there is none.
  const ViewTensor* find(std::string_view name) const;
  /// The same tensor's GGUF name, if the architecture's table maps it one to one (GGUF files: the name itself).
  std::optional<std::string> gguf_name(const ViewTensor& tensor) const;

  /// The stored bytes [offset, offset + out.size()) of the tensor. Errors: those of reading; "model-range".
  Status read_bytes(const ViewTensor& tensor, u64 offset, MutableBytes out) const;
  /// The logical values from element `first` on, dequantised; any `first` and length inside the tensor. Errors: those
  /// of reading; "model-range"; "tensor-no-decoder".
  Status read_values(const ViewTensor& tensor, u64 first, std::span<float> out) const;

  /// The same for many ranges. The view must outlive it.
  MatrixValues values(const ViewTensor& tensor) const;

  const Catalog& catalog() const { return *catalog_; }
  /// Each the model's own form, where it has it.
  const gguf::SplitSet* gguf() const { return gguf_.get(); }
  const safetensors::ShardSet* shards() const { return safetensors_ ? &safetensors_->set : nullptr; }
  const SafetensorsModel* safetensors() const { return safetensors_.get(); }
  const hf::Config* config() const { return safetensors_ && safetensors_->config ? &*safetensors_->config : nullptr; }
  /// What the readers and the config had to remark; rules are verify's business.
  const FindingLog& findings() const { return findings_; }

  /// Views of what was opened.
  static ModelView of_gguf(std::string path, gguf::SplitSet set);
  static ModelView of_safetensors(std::string path, SafetensorsModel model);

 private:
  ModelView() = default;
  void index_tensors();

  std::string path_;
  std::unique_ptr<Catalog> catalog_;    // views point into it
  std::unique_ptr<arch::Names> names_;  // of the family, if it is one we know
  std::unique_ptr<gguf::SplitSet> gguf_;
  std::unique_ptr<SafetensorsModel> safetensors_;
  std::string architecture_;
  std::vector<ViewTensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;  // both forms of the names
  u64 parameters_ = 0;
  FindingLog findings_;
};

/// Opens a GGUF file (with all files of its split set), a safetensors file, an index, or a directory of safetensors
/// files with or without config.json, and looks at it. Reads headers only. Errors: those of opening and parsing (of a
/// directory's config.json too), and the first error of the container that was found, because a view is only given on
/// what is sound.
Result<ModelView> open_view(const std::string& path);

/// "Q4_K", "BF16"; of a packed weight "affine 4-bit, group 64".
std::string type_text(const ViewTensor& tensor);

}  // namespace modelutils
