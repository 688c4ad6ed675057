// The result of verify for one path as JSON, one object per line. verify_text.h has the form for people.
#pragma once

#include <string>

#include "verify/verify_report.h"

namespace modelutils {

/// Returns the scope of the check on one line: "PATH: gguf, 1 file, 12 tensors, 3.1 GB of tensor data read, 0.250 s".
std::string verify_summary(const VerifyReport& report);

/// Returns one line: {"schema":"verify/1","path","format","verdict","errors","warnings","findings":[{"severity","code",
/// "file","offset","where","message"}]}. docs/json.md describes the members.
std::string verify_json(const VerifyReport& report, bool strict);

}  // namespace modelutils
