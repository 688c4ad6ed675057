// What the tensors of a checkpoint are called: the path of keys from the root, joined by '.'. Internal.
#pragma once

#include <string>
#include <vector>

#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

struct NamedTensor {
  std::string name;
  std::size_t tensor = 0;  ///< place in PickleMachine::tensors()
};

struct NamedTensors {
  std::vector<NamedTensor> tensors;
  u64 unnamed = 0;  ///< tensors and bare storages below the root that have no name
};

/// Every tensor below the root in the order of the pickle, under every path that leads to it. Findings:
/// "pt-same-name" for two tensors of one name; "pt-unnamed" for tensors in sets, in attributes and below keys that are
/// neither texts nor numbers; "pt-limit" beyond 100 levels, or if the list of tensors would take far more memory than
/// the file: containers that many paths reach, and long keys of which many names are made.
NamedTensors named_tensors(const PickleMachine& machine, u64 file_size, FindingLog& findings);

/// "state_dict", "model" or "module", where the root is a dictionary that holds the weights under this key; else empty.
std::string wrapper_key(const PickleMachine& machine);

}  // namespace modelutils::pytorch
