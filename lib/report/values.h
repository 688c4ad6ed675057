// The values of a tensor, and statistics of all tensors: --values and --stats of the dumpers.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "io/text_output.h"
#include "model/model_view.h"
#include "model/tensor_catalog.h"

namespace modelutils {

struct ValuesOptions {
  std::optional<u64> count;  ///< at most so many, from the first on
  bool json = false;         ///< {"schema":"values/1","name","type","shape","values":[…]} on one line
  bool raw = false;          ///< the stored words as unsigned numbers, not what they mean
  std::string path = {};     ///< the model's, to be told where several are shown; else empty
};

struct StatisticsOptions {
  bool json = false;      ///< "stats/1", one object a line
  std::string path = {};  ///< as above
  unsigned threads = default_threads();
};

/// A tensor, wherever it comes from. What the view or the catalog holds must outlive it.
struct ValueSource {
  std::string name;                       ///< raw text of the file
  std::string type;                       ///< what the values are: "Q4_K", "affine 4-bit, group 64"
  std::optional<TensorType> stored_type;  ///< what the bytes are
  bool packed = false;                    ///< a weight that MLX packed
  std::vector<u64> shape;                 ///< logical, in the order of the model's own format, like the next
  std::vector<u64> stored_shape;
  std::string problem;  ///< why the values cannot be read; then nothing below is set
  u64 elements = 0;     ///< logical
  u64 bytes = 0;        ///< stored
  std::function<Status(u64 first, std::span<float> out)> read_values;  ///< any range of elements
  std::function<Status(u64 offset, MutableBytes out)> read_bytes;      ///< any range of bytes
};

/// A tensor of a view. (In a file of its own: who needs no view need not link what views need.)
ValueSource value_source(const ModelView& view, const ViewTensor& tensor);
/// A tensor of a catalog as it is stored; the shape in ne order.
ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor);

/// Prints values, one a line: floats as the shortest decimals that read back to the same float32 (F64: the same
/// double), integers as they are. Errors: those of reading, "tensor-no-decoder".
Status write_values(TextOutput& out, const ValueSource& tensor, const ValuesOptions& options);

/// Prints count, min, max, mean, standard deviation, zeros, NaN and Inf of each tensor; instead of them what is wrong
/// where a tensor has a problem or no decoder. Errors: those of reading.
Status write_statistics(TextOutput& out, std::span<const ValueSource> tensors, const StatisticsOptions& options);

}  // namespace modelutils
