// The closed list of names that a checkpoint's pickle may ask for: what makes tensors, and plain data. Everything else
// is a finding. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <optional>
#include <string_view>

#include "tensor/types.h"

namespace modelutils::pytorch {

enum class GlobalRole : u8 {
  ordered_dict,
  counter,
  encode,  ///< _codecs.encode: bytes as protocol 2 writes them
  set,
  plain,  ///< bytearray, complex, torch.device and the like: called with anything plain, gives an object
  size,   ///< torch.Size: a tuple
  dtype,
  numpy_dtype,
  rebuild_tensor,
  rebuild_tensor_v2,
  rebuild_tensor_v3,
  rebuild_parameter,
  rebuild_parameter_with_state,
  parameter,
  storage_class,
};

struct KnownGlobal {
  GlobalRole role;
  std::optional<TensorType> type;  ///< of a dtype or storage class, where we have it
  u32 element_bytes = 1;           ///< of a storage class or dtype
};

/// The whole name, module and attribute, must be on the list.
std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name);

}  // namespace modelutils::pytorch
