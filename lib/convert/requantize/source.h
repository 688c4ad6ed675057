// The models that can be quantised, as rows of blocks: a GGUF model, or a directory or an image model as mlx2gguf would
// convert it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arch/image_models.h"
#include "base/error.h"
#include "base/log.h"
#include "convert/to_gguf/plan.h"
#include "formats/gguf/write.h"
#include "model/catalog.h"
#include "tensor/quantize/mix.h"

namespace modelutils::requantize {

/// Returns the number of rows of ne0 elements.
u64 rows_of(const Tensor& tensor);
/// Returns the bytes per row.
u64 row_size_of(const Tensor& tensor);

class Source {
 public:
  virtual ~Source() = default;

  /// Tensors with the shapes and types in which they are read; every one has a type.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Returns the form of a tensor in the source: "BF16", "affine 4-bit, group 64, F16 scales".
  virtual std::string form_text(std::size_t tensor) const = 0;
  /// Returns a number of rows; every read must be a multiple of it.
  virtual u64 granule(std::size_t /*tensor*/) const { return 1; }
  const std::vector<gguf::OutKey>& keys() const { return keys_; }  ///< without the keys of split models
  u64 alignment() const { return alignment_; }
  const quantize::MixModel& model() const { return model_; }
  const std::vector<std::string>& inputs() const { return inputs_; }  ///< every file that is read
  u64 file_bytes() const { return file_bytes_; }      ///< of all files with tensors; 0 if unknown (a pipe)
  u64 tensor_bytes() const { return tensor_bytes_; }  ///< as stored
  const FindingLog& remarks() const { return remarks_; }
  /// For a pipe: indices into tensors() in the order of their data. All their rows must be read once, in that order.
  /// Otherwise empty: rows may be read in any order.
  const std::vector<std::size_t>& only_order() const { return only_order_; }

  /// True if no mix may change this tensor: in a projector, a tensor that llama.cpp reads only in the types that it may
  /// have now; in an image model, one that the architecture exempts.
  bool stays(std::size_t tensor) const { return !stays_.empty() && stays_[tensor]; }
  /// Returns the type of a tensor that no mix changes. It differs from the type in tensors() only if the source has a
  /// form for which GGUF has no type.
  TensorType kept_type(std::size_t tensor) const { return kept_.empty() ? *tensors_[tensor].type : kept_[tensor]; }

  /// Reads rows [first, first + count) of a tensor, whole granules, as blocks of its type. Thread-safe; `thread` is the
  /// number of the calling thread.
  virtual Status read_rows(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) const = 0;

  /// The plan of the projector that is written beside the model (MlxToGgufOptions::with_projector), or nullptr.
  virtual to_gguf::GgufPlan* projector() { return nullptr; }

 protected:
  void count_bytes(const Catalog& catalog);
  void be_image_model(const arch::ImageModel& architecture);

  std::vector<Tensor> tensors_;
  std::vector<gguf::OutKey> keys_;
  u64 alignment_ = 32;
  quantize::MixModel model_;
  std::vector<std::string> inputs_;
  u64 file_bytes_ = 0, tensor_bytes_ = 0;
  FindingLog remarks_;
  std::vector<std::size_t> only_order_;
  std::vector<bool> stays_;       // by tensor; empty if all may change
  std::vector<TensorType> kept_;  // by tensor; empty if they are the types of `tensors_`
};

/// Opens a GGUF file, any part of a split model, or a directory (or its index). Errors: those of opening; every error
/// of class container of a GGUF file; those of mlx2gguf for a directory; "io-pipe" for a pipe with a part of a model,
/// or with adapters; "quantize-big-endian", "quantize-no-tensors"; "convert-not-directory" for a file if a projector is
/// wanted, too. `conversion`: the options of mlx2gguf that go with a directory.
Result<std::unique_ptr<Source>> open_model_source(const std::string& path, const to_gguf::MlxToGgufOptions& conversion,
                                                  unsigned threads);

}  // namespace modelutils::requantize
