// What verify says of a path, and its two forms: text for people, one JSON object a line for programs.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace modelutils {

struct VerifyReport {
  std::string path;    ///< as given
  std::string format;  ///< "gguf", "safetensors", "mlx", "bumpwgt3"; empty if not recognised
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

struct VerifyTextOptions {
  bool color = false;
  bool errors_only = false;  ///< leave out warnings, notes and the summary of a path that is not bad
  bool strict = false;       ///< a path with warnings is bad
};

/// A line for each finding, "PATH: error: byte N: WHERE: MESSAGE [CODE]" (behind PATH the file of a model in several),
/// then "PATH: ok" or "PATH: N errors, M warnings". Everything from files is escaped.
std::string verify_text(const VerifyReport& report, const VerifyTextOptions& options);

/// What was looked at, on one line: "PATH: gguf, 1 file, 12 tensors, 3.1 GB of tensor data read, 0.250 s".
std::string verify_summary(const VerifyReport& report);

/// One line: {"schema":"verify/1","path","format","verdict","errors","warnings","findings":[{"severity","code","file",
/// "offset","where","message"}]}. docs/json.md says what each is.
std::string verify_json(const VerifyReport& report, bool strict);

}  // namespace modelutils
