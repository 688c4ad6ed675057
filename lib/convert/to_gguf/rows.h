// Reads rows of a mapped tensor, either as stored (for repacking) or as exact float32 values.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "convert/to_gguf/tensor_map.h"
#include "model/forms/modules.h"
#include "model/hf_model.h"

namespace modelutils {

/// Reads rows [first, first + count) of `tensor`, which has parts of one storage form and is not read whole. `first`
/// and `count` are multiples of row_granule(). Reuses the buffers of `out`. Computed rows are elements of
/// computed_type(). Errors: those of reading.
Status read_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out);

/// Called after `count` rows have been read; `row` is counted from the first row requested.
using TakeRowsOf = std::function<void(u64 row, u64 count)>;

/// Like read_stored_rows(), but delivers the rows in order, a few at a time. Codes packed across rows stay packed until
/// their rows are delivered. During a call of `take` the rows are in `scratch`.
Status for_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                       const TakeRowsOf& take);

/// Called with the exact values of some rows; `row` is counted from the first row requested.
using TakeValues = std::function<void(u64 row, std::span<const float> values)>;

/// Like read_stored_rows(), but for a tensor that adapters change: delivers the merged values in order, some rows at a
/// time. Reuses `scratch`. Errors: those of reading.
Status read_merged_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                        const TakeValues& take);

/// Returns the element type of computed rows: the source's, or F32 if it is quantised or merged with adapters.
TensorType computed_type(const HfModel& model, const MappedTensor& tensor);

/// Returns the layout of one plane of a matrix, for a part whose view has `source_rows` rows or pieces of rows.
PlaneLayout layout_of(const Weight& matrix, std::size_t plane, u64 source_rows);

/// Returns the number of which `first` and `count` above must be multiples: a head's rows if its rows are reordered,
/// otherwise 1.
u64 row_granule(const MappedTensor& tensor);

/// Returns how many rows to convert at once from integer codes into rows of `out_row_bytes`, or 0 to leave it to the
/// streamer. Few if rows are stored one after another; many if they are packed across rows (GPTQ, AWQ), where each line
/// of the file needs a separate read. All threads together hold about 64 MiB.
u64 rows_at_once(const HfModel& model, const MappedTensor& tensor, u64 out_row_bytes, unsigned threads);

/// Decodes rows read by read_stored_rows() into exact float32 values; `out` has rows × columns elements.
void decode_rows(const HfModel& model, const MappedTensor& tensor, const StoredRows& rows, std::span<float> out);

/// Returns the ".scale" tensor of a matrix stored as FormKind::nvfp4, or as FormKind::fp8 with one scale: one factor,
/// or one per expert. Errors: those of reading.
Result<MappedTensor> scale_tensor(const HfModel& model, const MappedTensor& tensor);

/// Returns a reader for the values of a GGUF tensor assembled from a directory's tensors. Both arguments must outlive
/// it.
std::unique_ptr<TensorValues> values_of(const HfModel& model, const MappedTensor& tensor);

/// Returns the values of a tensor that is read whole: decoded, reordered, and with the architecture's operation
/// applied.
Result<std::vector<float>> read_whole(const HfModel& model, const MappedTensor& tensor);

/// Returns the length (root of the sum of squares, plus 1e-7) of each column of a matrix. Reads the whole matrix.
/// Errors: those of reading.
Result<std::vector<float>> column_lengths(const HfModel& model, const MappedTensor& tensor);

/// Returns one number per layer. Errors: those of reading.
Result<std::vector<float>> read_numbers(const HfModel& model, const LayerNumbers& numbers);

}  // namespace modelutils
