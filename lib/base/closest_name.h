// "Did you mean": the name that somebody who typed another one most likely meant.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Takes names one after another and keeps the one that is most like `given`: by at most one or two typing errors
/// (letters missing, added or changed; none in names of one or two letters), else one that `given` begins or ends at a
/// dot ("token_embd" of "token_embd.weight"). Of several, the first.
class ClosestName {
 public:
  enum class Reading : u8 { plain, glob };

  /// As `glob`, `*` and `?` of `given` stand for anything, and only typing errors in the rest of it count.
  explicit ClosestName(std::string_view given, Reading reading = Reading::plain);

  /// Time: a step for each letter of both. Names over 128 bytes and all after the first 20,000 that are about as long
  /// as `given` are passed over; nothing is offered for a `given` of more than 64 bytes.
  void offer(std::string_view name);

  /// Empty if none is like it. Raw text of a file, if the names are.
  const std::string& name() const { return part_.empty() ? best_ : part_; }

  /// " (did you mean 'NAME'?)", or else `otherwise`.
  std::string hint(std::string_view otherwise = {}) const;

 private:
  std::string given_;
  bool is_glob_;
  std::size_t limit_;  ///< best_ would have to be closer than that
  u32 compared_ = 0;
  std::string best_;
  std::string part_;
};

}  // namespace modelutils
