// Collecting warnings: one finding for each kind of remark, however often the file gives reason for it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace modelutils::hf {

/// Adds a warning about the tokenizer files.
inline void warn(Findings& findings, std::string code, std::string message, std::string where = {},
                 Severity severity = Severity::warning) {
  findings.push_back({severity, Scope::model, std::move(code), std::nullopt, std::move(where), std::move(message), {}});
}

/// Keeps the first of many equal remarks and counts the others.
class Repeated {
 public:
  /// True the first time: only then need the text be made and given to set().
  bool met() { return ++count_ == 1; }
  void set(std::string message) { message_ = std::move(message); }
  u64 count() const { return count_; }
  void emit(Findings& findings, std::string code) const {
    if (count_ == 0) return;
    warn(findings, std::move(code),
         count_ == 1 ? message_ : fmt::format("{} (and {} more like it)", message_, count_ - 1));
  }

 private:
  u64 count_ = 0;
  std::string message_;
};

}  // namespace modelutils::hf
