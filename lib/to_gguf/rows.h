// Reading rows of a mapped tensor: as stored (for repacking) and as exact float32 values.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "forms/tensor_values.h"
#include "model/hf_model.h"
#include "to_gguf/tensor_map.h"

namespace modelutils {

/// Reads rows [first, first + count) of `tensor` (which has parts, all of the same storage, and is not read whole);
/// `first` and `count` are multiples of row_granule(). The buffers of `out` are reused. Rows that are computed are
/// elements of computed_type(). Errors: reading.
Status read_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out);

/// Is told which rows, counted from the first of those asked for, have been read.
using TakeRowsOf = std::function<void(u64 row, u64 count)>;

/// The same, some rows at a time, in order, where the rest of what is read is better kept packed until it is wanted:
/// codes that lie across the rows. The rows are in `scratch` when `take` is called.
Status for_stored_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                       const TakeRowsOf& take);

/// Sees the exact values of some rows, the first of which is row `row` of those asked for.
using TakeValues = std::function<void(u64 row, std::span<const float> values)>;

/// The same of a tensor that adapters change: its values, some rows at a time, in order. `scratch` is reused. Errors:
/// reading.
Status read_merged_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& scratch,
                        const TakeValues& take);

/// Type of the elements of rows that are computed: that of the source, F32 if it is quantised or merged with adapters.
TensorType computed_type(const HfModel& model, const MappedTensor& tensor);

/// How a plane of a matrix follows the `source_rows` rows, or pieces of rows, that a part's view sees.
PlaneLayout layout_of(const SourceMatrix& matrix, std::size_t plane, u64 source_rows);

/// What `first` and `count` above must be multiples of: the rows of a head where they are put into another order, or 1.
u64 row_granule(const MappedTensor& tensor);

/// Rows that are best made at once of integer codes, to rows of `out_row_bytes`: few where they lie row after row; many
/// where they are packed across the rows (GPTQ, AWQ), as each line of the file is read in a piece of its own. 0:
/// whatever the streamer takes. All threads together hold some 64 MiB.
u64 rows_at_once(const HfModel& model, const MappedTensor& tensor, u64 out_row_bytes, unsigned threads);

/// Exact float32 values of rows of `tensor` as read_stored_rows() gave them; `out` has rows × columns elements.
void decode_rows(const HfModel& model, const MappedTensor& tensor, const StoredRows& rows, std::span<float> out);

/// The tensor ".scale" of a matrix of FormKind::nvfp4, or of FormKind::fp8 with one scale: one factor, or one for each
/// expert. Errors: reading.
Result<MappedTensor> scale_tensor(const HfModel& model, const MappedTensor& tensor);

/// The values of a GGUF tensor that a directory's tensors make. Both must outlive it.
std::unique_ptr<TensorValues> values_of(const HfModel& model, const MappedTensor& tensor);

/// A tensor that is read whole: decoded, its elements put in order, computed where the architecture wants it.
Result<std::vector<float>> read_whole(const HfModel& model, const MappedTensor& tensor);

/// The length (root of the sum of squares, plus 1e-7) of each column of a matrix, which is read once for it. Errors:
/// reading.
Result<std::vector<float>> column_lengths(const HfModel& model, const MappedTensor& tensor);

/// One number for each layer. Errors: reading.
Result<std::vector<float>> read_numbers(const HfModel& model, const LayerNumbers& numbers);

}  // namespace modelutils
