// The keys of PEFT's rank_pattern and alpha_pattern: regular expressions as Python's re module has them.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <string_view>

#include "base/types.h"

namespace modelutils::adapter {

/// A key K that names the modules NAME for which re.match(r"(.*\.)?(K)$", NAME) matches.
class ModulePattern {
 public:
  /// Understands characters, escapes, classes, '.', groups, alternatives, repetitions and the anchors ^ $ \A \Z \b \B.
  /// Returns nullopt for a text that is no regular expression, and for back references, look-around, flags, possessive
  /// repetitions, more than 4096 characters or 16,384 steps after `{m,n}` is written out.
  static std::optional<ModulePattern> parse(std::string_view key);

  /// True if the key names `module`, a text of printable ASCII. Takes at most the product of the lengths of both;
  /// subtracts the steps taken from `budget`, and returns false once it is used up.
  bool names(std::string_view module, u64& budget) const;

  struct Automaton;

 private:
  std::shared_ptr<const Automaton> automaton_;
};

}  // namespace modelutils::adapter
