// Findings of one parser, bounded: a hostile header can break a rule a million times. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::safetensors {

/// Keeps the first max_findings_of_a_code findings of a code; finish() says how many more there were.
class FindingList {
 public:
  explicit FindingList(Findings& findings) : findings_(findings) {}

  /// `make_text()` gives {where, message}; it is called only if the finding is kept.
  template <typename MakeText>
  void add(Severity severity, std::string_view code, std::optional<u64> offset, MakeText&& make_text) {
    if (!count(severity, code)) return;
    auto [where, message] = make_text();
    findings_.push_back(
        {severity, Scope::container, std::string(code), offset, std::move(where), std::move(message), {}});
  }

  /// Adds a last finding of each code of which not all were kept. To be called once.
  void finish();

 private:
  struct Count {
    std::string_view code;
    Severity severity;
    u64 number;
  };
  bool count(Severity severity, std::string_view code);

  Findings& findings_;
  std::vector<Count> counts_;
};

struct FindingText {
  std::string where;
  std::string message;
};

}  // namespace modelutils::safetensors
