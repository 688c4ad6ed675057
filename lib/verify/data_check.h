// verify --data: NaN and Inf in every tensor of a catalog, whatever its format.
#pragma once

#include <functional>
#include <span>

#include "base/finding_log.h"
#include "io/progress.h"
#include "model/tensor_catalog.h"
#include "rules/directory/packed_check.h"

namespace modelutils {

/// Reads every tensor whose type has something to check (tensor/block_check.h), in block-aligned pieces that `threads`
/// threads claim one after another; memory stays at one piece a thread. One finding for each bad tensor: the first bad
/// block or element, its absolute offset, and how many there are. `packed`: weights whose values may overflow, which is
/// said of their scales and biases. Plain types of a big-endian file are checked, block types are not. Codes:
/// "data-nan", "data-inf", "data-overflow", "data-bool", "data-scale", "data-big-endian", "data-zeros" (a note); those
/// of reading if the file fails meanwhile. `first`: other work, done by one of the threads before it reads anything,
/// while the others read.
void check_data(const Catalog& catalog, std::span<const PackedWeight> packed, unsigned threads, FindingLog& log,
                Progress* progress = nullptr, const std::function<void()>& first = {});

}  // namespace modelutils
