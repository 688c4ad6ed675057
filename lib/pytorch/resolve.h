// Resolves the tensors and storages described by a pickle to bytes in the file. Internal.
#pragma once

#include <functional>

#include "pytorch/document.h"
#include "pytorch/pickle_machine.h"

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

}  // namespace modelutils::pytorch
