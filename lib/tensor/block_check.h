// Checks tensor data for NaN and Inf (the values of plain types, the scale fields of block types) and for tensors that
// contain only zeros.
#pragma once

#include <optional>
#include <string>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// The first bad block in a run of data.
struct BadBlock {
  u64 block;               ///< index of the block (of the element, for plain types) in the given bytes
  std::string_view field;  ///< "value", "d", "m", "s", "dmin", "e", "scale"
  std::string_view what;   ///< "NaN", "Inf", "overflows to Inf", "is not 0 or 1", "is a byte that encoders never write"
  bool is_warning = false;  ///< a BOOL other than 0 and 1, or an NVFP4 scale byte that encoders never write
};

/// The result of checking whole blocks: the first bad one and the count.
struct BlockCheck {
  u64 bad_blocks = 0;             ///< errors and warnings
  std::optional<BadBlock> first;  ///< first error, or first warning if there is no error
};

/// Checks `blocks`, a whole number of blocks of `type`, at any alignment. The fields checked are listed in
/// docs/formats/blocks.md, section 2. Returns an empty result for types with nothing to check. Speed matters: verify
/// --data runs this over every byte of a model.
BlockCheck check_blocks(TensorType type, Bytes blocks);

/// True if check_blocks() can find errors in this type; otherwise its data need not be read.
bool has_block_check(TensorType type);

// Detects tensors that contain only zeros.

/// True if all values of these whole blocks are 0 or -0. Stops at the first other value. False for types without a
/// decoder.
bool holds_only_zeros(TensorType type, Bytes blocks);

}  // namespace modelutils
