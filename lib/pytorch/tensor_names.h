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

/// Every tensor below the root in the order of the pickle, each name once: of a key that is set twice the last value
/// counts, as in Python. A container that several paths reach is listed under the first. What lies below keys that are
/// neither text nor numbers has no name. Nesting below 100 levels is a finding ("pt-limit").
std::vector<NamedTensor> named_tensors(const PickleMachine& machine, FindingLog& findings);

/// "state_dict", "model" or "module", where the root is a dictionary that holds the weights under this key; else empty.
std::string wrapper_key(const PickleMachine& machine);

}  // namespace modelutils::pytorch
