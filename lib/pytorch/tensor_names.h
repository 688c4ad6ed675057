// Derives tensor names in a checkpoint: the keys from the root, joined by '.'. Internal.
#pragma once

#include <string>
#include <vector>

#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

struct NamedTensor {
  std::string name;
  std::size_t tensor = 0;  ///< index into PickleMachine::tensors()
};

struct NamedTensors {
  std::vector<NamedTensor> tensors;
  u64 unnamed = 0;  ///< tensors and bare storages below the root without a name
};

/// Returns every tensor below the root in pickle order, once per path to it. Findings: "pt-same-name" for two tensors
/// with the same name; "pt-unnamed" for tensors in sets, in attributes, or below keys that are neither text nor
/// numbers; "pt-limit" beyond 100 levels, or if the list would need far more memory than the file (containers reachable
/// by many paths, long keys that recur in many names).
NamedTensors named_tensors(const PickleMachine& machine, u64 file_size, FindingLog& findings);

/// Returns "state_dict", "model" or "module" if the root is a dict with the weights under that key; else empty.
std::string wrapper_key(const PickleMachine& machine);

}  // namespace modelutils::pytorch
