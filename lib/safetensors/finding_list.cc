#include "safetensors/finding_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "safetensors/parse.h"

namespace modelutils::safetensors {

bool FindingList::count(Severity severity, std::string_view code) {
  auto known = std::find_if(counts_.begin(), counts_.end(),
                            [&](const Count& entry) { return entry.severity == severity && entry.code == code; });
  if (known == counts_.end()) known = counts_.insert(counts_.end(), {code, severity, 0});
  return ++known->number <= max_findings_of_a_code;
}

void FindingList::finish() {
  for (const Count& entry : counts_) {
    if (entry.number <= max_findings_of_a_code) continue;
    findings_.push_back({entry.severity,
                         Scope::container,
                         std::string(entry.code),
                         std::nullopt,
                         {},
                         fmt::format("and {} more of the same", entry.number - max_findings_of_a_code),
                         {}});
  }
}

}  // namespace modelutils::safetensors
