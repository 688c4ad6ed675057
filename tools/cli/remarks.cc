#include "cli/remarks.h"

#include <optional>
#include <vector>

#include "report/verify_text.h"

namespace modelutils::cli {

void show_remarks(const Messages& messages, const CommonOptions& common, const Findings& remarks,
                  const std::string& path) {
  const bool all = common.verbosity > 0 || common.json_errors;
  const std::vector<std::optional<std::string>> counts = count_repeated(remarks);
  for (std::size_t i = 0; i < remarks.size(); ++i) {
    Finding remark = remarks[i];
    if (!all && !counts[i]) continue;
    if (!all) remark.message += *counts[i];
    messages.remark(remark, path);
  }
}

}  // namespace modelutils::cli
