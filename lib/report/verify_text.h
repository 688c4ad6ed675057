// What verify says of its paths, for people.
#pragma once

#include <map>
#include <string>

#include "report/verify_report.h"

namespace modelutils {

struct VerifyTextOptions {
  bool color = false;
  bool errors_only = false;  ///< leave out warnings, notes and the summary of a path that is not bad
  bool strict = false;       ///< a path with warnings is bad
  bool all = false;          ///< a line for each finding, however many say the same
};

/// A line for each finding, "PATH: error: byte N: WHERE: MESSAGE [CODE]" (after PATH the file of a model in several),
/// then "PATH: ok (GGUF v3, 12 tensors, …)" or "PATH: 1 error, 2 warnings". Everything from files is escaped.
///
/// Findings say the same if severity, code and message are equal but for numbers and quoted names. Three or more in one
/// path are one line, the first with their count (what a manifest says of each tensor is always told one by one); a
/// note that an earlier path had is only counted.
class VerifyText {
 public:
  explicit VerifyText(VerifyTextOptions options) : options_(options) {}

  /// The lines of one path.
  std::string add(const VerifyReport& report);

  /// After the last path: a line for each note that more than one of them had; for what was found in directories the
  /// totals, "412 models: 409 ok, 3 bad, 1.2 TB".
  std::string finish() const;

 private:
  struct Note {
    Finding first;
    u64 first_path;  // number of the path that it was listed for
    u64 last_path;
    u64 more_paths;
  };

  std::string colored(std::string_view text, std::string_view color) const;
  std::string line(std::string_view path, const Finding& finding, std::string_view remark) const;
  bool has_been_noted(const Finding& finding, const std::string& kind);

  std::string totals() const;

  VerifyTextOptions options_;
  u64 models_ = 0, bad_ = 0, bytes_ = 0, folders_ = 0;
  bool is_tree_ = false;
  u64 paths_ = 0;
  std::map<std::string, Note> notes_;  // by what they say
};

}  // namespace modelutils
