// What is quantised: a GGUF model, or a directory as mlx2gguf would convert it, as rows of blocks of some type.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "formats/gguf/write.h"
#include "model/catalog.h"
#include "tensor/quantize/mix.h"

namespace modelutils::requantize {

/// Rows of ne0 elements.
u64 rows_of(const Tensor& tensor);
/// Bytes of a row.
u64 row_size_of(const Tensor& tensor);

class Source {
 public:
  virtual ~Source() = default;

  /// Tensors with the shapes and types in which they are read; all have a type.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Returns how the source has a tensor: "BF16", "affine 4-bit, group 64, F16 scales".
  virtual std::string form_text(std::size_t tensor) const = 0;
  /// Returns the number of rows that a tensor is read in multiples of.
  virtual u64 granule(std::size_t /*tensor*/) const { return 1; }
  const std::vector<gguf::OutKey>& keys() const { return keys_; }  ///< without those of splits
  u64 alignment() const { return alignment_; }
  const quantize::MixModel& model() const { return model_; }
  const std::vector<std::string>& inputs() const { return inputs_; }  ///< every file that is read
  const FindingLog& remarks() const { return remarks_; }
  /// Of a pipe: its tensors in the order of their data, as indexes into tensors(). All of their rows are read once, in
  /// that order. Otherwise empty, and rows may be read in any order.
  const std::vector<std::size_t>& only_order() const { return only_order_; }

  /// Rows [first, first + count) of a tensor, whole granules, as blocks of its type. Called by several threads at once;
  /// `thread` tells them apart.
  virtual Status read_rows(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) const = 0;

 protected:
  std::vector<Tensor> tensors_;
  std::vector<gguf::OutKey> keys_;
  u64 alignment_ = 32;
  quantize::MixModel model_;
  std::vector<std::string> inputs_;
  FindingLog remarks_;
  std::vector<std::size_t> only_order_;
};

/// Opens a GGUF file, any part of a split model, or a directory (or its index). Errors: those of opening; every error
/// of class container of a GGUF file; those of mlx2gguf for a directory; "io-pipe" for a pipe with a part of a model,
/// or with adapters; "quantize-big-endian", "quantize-no-tensors". `conversion`: the options of mlx2gguf that go with a
/// directory.
Result<std::unique_ptr<Source>> open_model_source(const std::string& path, const to_gguf::MlxToGgufOptions& conversion,
                                                  unsigned threads);

}  // namespace modelutils::requantize
