// The report of verify: for people, and as one JSON object per line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/verify_report.h"

namespace modelutils {

// The result of verify for one path: its summary line, and one JSON object.

/// Returns the scope of the check on one line: "PATH: gguf, 1 file, 12 tensors, 3.1 GB of tensor data read, 0.250 s".
std::string verify_summary(const VerifyReport& report);

/// Returns one line: {"schema":"verify/1","path","format","verdict","errors","warnings","findings":[{"severity","code",
/// "file","offset","where","message"}]}. docs/json.md describes the members.
std::string verify_json(const VerifyReport& report, bool strict);

struct VerifyTextOptions {
  bool color = false;
  bool errors_only = false;  ///< omit warnings, notes and the summary line of a good path
  bool strict = false;       ///< a path with warnings is bad
  bool all = false;          ///< a line for each finding, even if they repeat
  std::size_t width = 0;     ///< wrap lines to this many columns, between words; 0: never
};

// Repeated findings. Two findings repeat each other if severity, code and message are equal apart from numbers and
// quoted names. Three or more become one line: the first of them, with their count. Manifest errors about single
// tensors are never merged.

/// Returns what to append to the message of each finding, " (the first of 57; -v lists all)" or nothing; nullopt for a
/// finding that an earlier one counts.
std::vector<std::optional<std::string>> count_repeated(const Findings& findings);

/// Writes a line for each finding, "PATH: error: byte N: WHERE: MESSAGE [CODE]" (after PATH the file, if the model has
/// several), then "PATH: ok (GGUF v3, 12 tensors, …)" or "PATH: 1 error, 2 warnings". All text from files is escaped.
///
/// Findings that repeat each other in a path become one line. A note that an earlier path already had is only counted.
class VerifyText {
 public:
  explicit VerifyText(VerifyTextOptions options) : options_(options) {}

  /// Returns the lines of one path.
  std::string add(const VerifyReport& report);

  /// Call after the last path. Returns a line for each note that several paths had, and totals for models found in
  /// directories, "412 models: 409 ok, 3 bad, 1.2 TB".
  std::string finish() const;

 private:
  struct Note {
    Finding first;
    u64 first_path;  // number of the path that listed it
    u64 last_path;
    u64 more_paths;
  };

  std::string colored(std::string_view text, std::string_view color) const;
  std::string wrapped(std::string head, std::size_t columns, std::string_view rest) const;
  std::string line(std::string_view path, const Finding& finding, std::string_view remark) const;
  bool has_been_noted(const Finding& finding, const std::string& kind);

  std::string totals() const;

  VerifyTextOptions options_;
  u64 models_ = 0, bad_ = 0, bytes_ = 0, folders_ = 0;
  bool is_tree_ = false;
  u64 paths_ = 0;
  std::map<std::string, Note> notes_;  // by message without numbers and names
};

}  // namespace modelutils
