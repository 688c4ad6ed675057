// What verify found out about a path, and its form for programs: one JSON object a line. For people: verify_text.h.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace modelutils {

struct VerifyReport {
  std::string path;          ///< as given
  std::string format;        ///< "gguf", "safetensors", "mlx", "bumpwgt3"; empty if not recognised
  std::string checked = {};  ///< what it is and what was looked at: "GGUF v3, 12 tensors, structure and values"
  Findings findings = {};
  u64 errors = 0;  ///< exact, even where `findings` folds many of a kind into a note
  u64 warnings = 0;
  u64 files = 0;  ///< of the model, with so many tensors that can be read
  u64 tensors = 0;
  u64 bytes_read = 0;  ///< of tensor data, for --data, --hash and --check
  double seconds = 0;
  std::optional<Error> unreadable = {};  ///< the path could not be opened, or is of no known format: exit 3

  bool is_bad(bool strict) const { return errors != 0 || (strict && warnings != 0); }
};

/// What was looked at, on one line: "PATH: gguf, 1 file, 12 tensors, 3.1 GB of tensor data read, 0.250 s".
std::string verify_summary(const VerifyReport& report);

/// One line: {"schema":"verify/1","path","format","verdict","errors","warnings","findings":[{"severity","code","file",
/// "offset","where","message"}]}. docs/json.md says what each is.
std::string verify_json(const VerifyReport& report, bool strict);

}  // namespace modelutils
