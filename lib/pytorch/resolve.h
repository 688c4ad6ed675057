// From what a pickle says of tensors and storages to where their bytes are. Internal.
#pragma once

#include <functional>

#include "pytorch/document.h"
#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

/// Fills in where the bytes of a storage are; false (after a finding) if they are nowhere.
using LocateStorage = std::function<bool(Storage&)>;

/// Adds every named tensor of `machine` whose bytes are there to `document`, with its storage; what is wrong with the
/// others is a finding ("pt-tensor", "pt-storage", "pt-expanded").
void add_tensors(const PickleMachine& machine, const LocateStorage& locate, Document& document);

/// The most that a pickle may have in bytes.
inline constexpr u64 max_pickle_bytes = u64{64} << 20;

/// Reads the stream of pickles and storages that torch wrote before 1.6 into `document`. Errors: those of reading.
Status parse_legacy(const ByteSource& source, Document& document);

}  // namespace modelutils::pytorch
