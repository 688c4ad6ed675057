// Statistics of many tensors, for --stats of the dumpers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "listing/listing.h"
#include "model/statistics.h"

namespace modelutils {

inline constexpr std::size_t histogram_bins = 16;

/// The statistics of one tensor, or the reason for their absence.
struct TensorStatistics {
  std::string_view name;  ///< raw text of the file
  std::string type;       ///< form of the values: "Q4_K", "affine 4-bit, group 64"
  std::optional<TensorType> stored_type;
  std::vector<u64> shape;  ///< logical, in the dimension order of the model's own format
  Statistics statistics;
  u64 dead_rows = 0;   ///< rows of a matrix that contain only zeros
  std::string digest;  ///< digest of shape and values; empty if all values are the same or there are none
  const TensorStatistics* duplicate_of = nullptr;  ///< the first tensor with the same shape and values
  std::vector<u64> histogram;  ///< counts of finite values in equal steps between min and max; empty if min equals max
  std::string problem;         ///< set instead of statistics: the tensor cannot be read, or its type has no decoder
};

/// Returns the statistics of listed tensors of the model, in their order; reads all data twice. The model must outlive
/// the result. Errors: those of reading.
Result<std::vector<TensorStatistics>> statistics_of(const Model& model, std::span<const ListedTensor> tensors,
                                                    unsigned threads = default_threads());

}  // namespace modelutils
