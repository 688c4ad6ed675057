// Everything that stands against a conversion, collected: a user wants the whole list at once, and one line for 80
// layers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Errors of kind input about tensors and keys. Those that differ only in the block number are folded into one.
class Refusals {
 public:
  /// `subject` is the tensor's or key's name (raw), `kind` "tensor" or "key"; empty for the file as a whole.
  /// Refusals of one code whose subjects differ only in the block number are folded into one; with `group` all of that
  /// group are.
  void add(std::string code, std::string_view kind, std::string_view subject, std::string message,
           std::string group = {});

  bool empty() const { return errors_.empty(); }
  /// In the order of their first arrival, each with a word on how many more there are like it.
  std::vector<Error> errors() const;

 private:
  std::vector<Error> errors_;
  std::vector<std::string> likes_;
  std::vector<u64> counts_;
  std::map<std::pair<std::string, std::string>, std::size_t> known_;
};

/// "blk.7.attn_q.weight" -> "blk.*.attn_q.weight"; other names as they are. A glob for all layers.
std::string layer_pattern(std::string_view tensor);

}  // namespace modelutils
