// The report of pt2st, for scripts (pt2st/1, docs/json.md) and for people.
#pragma once

#include <string>

#include "transfer/report.h"

namespace modelutils {

/// Returns one JSON object and a line feed.
std::string checkpoint_json(const TransferReport& report);
/// `all`: list every tensor as well.
std::string checkpoint_text(const TransferReport& report, bool all);

}  // namespace modelutils
