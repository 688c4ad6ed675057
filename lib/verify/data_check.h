// verify --data: finds NaN and Inf in every tensor of a catalog, in any format.
#pragma once

#include <functional>
#include <span>

#include "base/finding_log.h"
#include "io/progress.h"
#include "model/catalog.h"
#include "rules/directory/packed_check.h"

namespace modelutils {

/// Reads every tensor whose type has a check (tensor/block_check.h), in block-aligned pieces that `threads` threads
/// claim one after another; memory stays at one piece per thread. Logs one finding per bad tensor: the first bad block
/// or element, its absolute offset, and the number of bad ones. `packed`: weights whose unpacked values may overflow;
/// this is reported for their scales and biases. In a big-endian file plain types are checked and block types are not.
/// `first`: other work that one of the threads does before it starts to read. Codes: "data-nan", "data-inf",
/// "data-overflow", "data-bool", "data-scale", "data-big-endian", "data-zeros" (a note), and those of reading if the
/// file fails meanwhile.
void check_data(const Catalog& catalog, std::span<const PackedWeight> packed, unsigned threads, FindingLog& log,
                Progress* progress = nullptr, const std::function<void()>& first = {});

}  // namespace modelutils
