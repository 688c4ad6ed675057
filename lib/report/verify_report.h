// What verify found out about a path for programs: one JSON object per line. For people: verify_text.h.
#pragma once

#include <string>

#include "verify/verify_report.h"

namespace modelutils {

/// What was looked at, on one line: "PATH: gguf, 1 file, 12 tensors, 3.1 GB of tensor data read, 0.250 s".
std::string verify_summary(const VerifyReport& report);

/// One line: {"schema":"verify/1","path","format","verdict","errors","warnings","findings":[{"severity","code","file",
/// "offset","where","message"}]}. docs/json.md says what each is.
std::string verify_json(const VerifyReport& report, bool strict);

}  // namespace modelutils
