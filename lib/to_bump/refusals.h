// Collects all reasons against a conversion, so that the user sees the complete list, with one line for 80 layers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Errors of kind input about tensors and keys. Errors that differ only in the block number are merged.
class Refusals {
 public:
  /// `subject` is the tensor's or key's raw name, `kind` is "tensor" or "key"; both are empty for the whole file.
  /// Refusals with the same code are merged if their subjects differ only in the block number, or if they have the same
  /// non-empty `group`.
  void add(std::string code, std::string_view kind, std::string_view subject, std::string message,
           std::string group = {});

  bool empty() const { return errors_.empty(); }
  /// In the order in which they were first added; merged ones state how many more there are.
  std::vector<Error> errors() const;

 private:
  std::vector<Error> errors_;
  std::vector<std::string> likes_;
  std::vector<u64> counts_;
  std::map<std::pair<std::string, std::string>, std::size_t> known_;
};

/// "blk.7.attn_q.weight" -> "blk.*.attn_q.weight", a glob for all layers; other names are unchanged.
std::string layer_pattern(std::string_view tensor);

}  // namespace modelutils
