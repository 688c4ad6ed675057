// The keys of PEFT's rank_pattern and alpha_pattern: regular expressions as in Python's re module.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <string_view>

#include "base/types.h"

namespace modelutils::adapter {

/// Matches module names NAME for which re.match(r"(.*\.)?(KEY)$", NAME) succeeds.
class ModulePattern {
 public:
  /// Supports characters, escapes, classes, '.', groups, alternatives, repetitions and the anchors ^ $ \A \Z \b \B.
  /// Returns nullopt for invalid expressions, and for back references, look-around, flags, possessive repetitions, more
  /// than 4096 characters, or more than 16,384 states after expanding `{m,n}`.
  static std::optional<ModulePattern> parse(std::string_view key);

  /// True if the key matches `module`, which must be printable ASCII. Takes at most as many steps as the product of
  /// both lengths; subtracts them from `budget`, and returns false once it is exhausted.
  bool names(std::string_view module, u64& budget) const;

  struct Automaton;

 private:
  std::shared_ptr<const Automaton> automaton_;
};

}  // namespace modelutils::adapter
