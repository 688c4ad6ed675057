// NaN and Inf in tensor data: in values of plain types, in the scale fields of block types.
#pragma once

#include <optional>
#include <string>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// The first bad block of a run of data.
struct BadBlock {
  u64 block;               ///< index of the block (element, for plain types) in the bytes given
  std::string_view field;  ///< "value", "d", "m", "s", "dmin", "e", "scale"
  std::string_view what;   ///< "NaN", "Inf", "overflows to Inf", "is not 0 or 1", "is a byte that encoders never write"
  bool is_warning = false;  ///< BOOL other than 0/1, NVFP4 scale bytes that encoders never write
};

/// Findings in a run of whole blocks: the first bad one, and how many there are.
struct BlockCheck {
  u64 bad_blocks = 0;             ///< errors and warnings
  std::optional<BadBlock> first;  ///< first error, or first warning if there is no error
};

/// Checks `blocks`, a whole number of blocks of `type`, at any address. Which fields: docs/formats/blocks.md,
/// section 2. Types with nothing to check give an empty answer. Speed matters: verify --data runs this over every byte
/// of a model.
BlockCheck check_blocks(TensorType type, Bytes blocks);

/// Does the type have anything that can be bad (else its data need not even be read)?
bool has_block_check(TensorType type);

}  // namespace modelutils
