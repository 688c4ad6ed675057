// Names the tensors described by a pickle, and resolves them and their storages to bytes in the file. Internal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/pytorch/parse.h"
#include "formats/pytorch/pickle_machine.h"

namespace modelutils::pytorch {

/// Fills in the location of a storage's data. Returns false, after a finding, if the file does not have it.
using LocateStorage = std::function<bool(Storage&)>;

/// Adds every named tensor of `machine` whose data exists, and its storage, to `document`. Problems with the others are
/// findings ("pt-tensor", "pt-storage", "pt-expanded").
void add_tensors(const PickleMachine& machine, const LocateStorage& locate, Document& document);

/// Maximum size of a pickle in bytes.
inline constexpr u64 max_pickle_bytes = u64{64} << 20;

/// Reads the legacy form, used before torch 1.6, into `document`. Fails only if reading fails.
Status parse_legacy(const ByteSource& source, Document& document);

// Tensor names: the keys from the root, joined by '.'.

struct NamedTensor {
  std::string name;
  std::size_t tensor = 0;  ///< index into PickleMachine::tensors()
};

/// Returns every tensor below the root in pickle order, once per path to it. Findings: "pt-same-name" for two tensors
/// with the same name; "pt-unnamed" for tensors in sets, in attributes, or below keys that are neither text nor
/// numbers; "pt-limit" beyond 100 levels, or if the list would need far more memory than the file (containers reachable
/// by many paths, long keys that recur in many names).
std::vector<NamedTensor> named_tensors(const PickleMachine& machine, u64 file_size, FindingLog& findings);

/// Returns "state_dict", "model" or "module" if the root is a dict with the weights under that key; else empty.
std::string wrapper_key(const PickleMachine& machine);

}  // namespace modelutils::pytorch
