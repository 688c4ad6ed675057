// Collecting warnings: one finding for each kind of remark, however often the file gives reason for it.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/finding_log.h"

namespace modelutils::hf {

/// Keeps the first of many equal remarks and counts the others.
class Repeated {
 public:
  /// True the first time: only then need the text be made and given to set().
  bool met() { return ++count_ == 1; }
  void set(std::string message) { message_ = std::move(message); }
  u64 count() const { return count_; }
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
