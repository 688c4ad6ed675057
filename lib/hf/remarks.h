// Collects warnings: one finding per kind of remark, however often it occurs.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/finding_log.h"

namespace modelutils::hf {

/// Keeps the first remark of a kind and counts the others.
class Repeated {
 public:
  /// Counts a remark. Returns true the first time; only then does the caller need to build the text and call set().
  bool met() { return ++count_ == 1; }
  void set(std::string message) { message_ = std::move(message); }
  u64 count() const { return count_; }
  /// Adds a warning with the first remark and the number of the others; adds nothing if there were none.
  void emit(FindingLog& findings, std::string_view code) const {
    if (count_ == 0) return;
    findings.warning(Scope::model, code,
                     count_ == 1 ? message_ : fmt::format("{} (and {} more like it)", message_, count_ - 1));
  }

 private:
  u64 count_ = 0;
  std::string message_;
};

}  // namespace modelutils::hf
