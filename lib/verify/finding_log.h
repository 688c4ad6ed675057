// Collects the findings of a run: counts exactly, keeps a bounded number of each kind.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// A hostile file can break one rule a million times. The log keeps the first `kept_per_code` findings of each code and
/// severity, counts all of them, and says at the end how many more there were. Errors and warnings are always counted
/// exactly.
class FindingLog {
 public:
  static constexpr u64 kept_per_code = 100;

  FindingLog() = default;
  /// Findings made elsewhere (by a parser, for one).
  explicit FindingLog(Findings findings) { add_all(std::move(findings)); }

  void add(Finding finding);
  void add_all(Findings findings);
  /// Takes over the findings and the counts of another log.
  void add_all(FindingLog other);

  /// Would a finding of this code still be kept? If not, count_only() saves the work of writing its message.
  bool keeps(Severity severity, std::string_view code) const;
  void count_only(Severity severity, std::string_view code, u64 count = 1);

  /// Names the file of a set in every finding that names none.
  void set_file(std::string_view base_name);

  u64 errors() const { return errors_; }
  u64 warnings() const { return warnings_; }

  /// What was kept, in the order of arrival but what leads before all others, then a note for each code of which more
  /// was counted than kept.
  Findings findings() const;

 private:
  struct Kind {
    Severity severity;
    std::string code;
    auto operator<=>(const Kind&) const = default;
  };
  struct KindView {
    Severity severity;
    std::string_view code;
  };
  struct KindLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.severity != b.severity) return a.severity < b.severity;
      return std::string_view(a.code) < std::string_view(b.code);
    }
  };

  u64& counter(Severity severity, std::string_view code);

  Findings kept_;
  std::map<Kind, u64, KindLess> counts_;
  u64 errors_ = 0;
  u64 warnings_ = 0;
};

}  // namespace modelutils
