// "Did you mean": finds the known name closest to a mistyped one.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Takes candidate names one by one and keeps the one closest to `given`: within one edit (a letter added, missing or
/// changed), or two edits if `given` has five letters or more. A name that starts or ends with `given` at a dot, such
/// as "token_embd.weight" for "token_embd", takes precedence. The first of equally close names wins. No name is close
/// to a `given` of one or two letters or of more than 64 bytes.
class ClosestName {
 public:
  enum class Reading : u8 { plain, glob };

  /// With `glob`, `*` and `?` in `given` match anything and only edits to the other characters count.
  explicit ClosestName(std::string_view given, Reading reading = Reading::plain);

  /// Takes O(given × name) time. To bound the total, names over 128 bytes are ignored, as are further names after the
  /// first 20,000 comparisons.
  void offer(std::string_view name);

  /// Returns the closest name, or empty. Not escaped: if the names come from a file, so does this.
  const std::string& name() const { return part_.empty() ? best_ : part_; }

  /// Returns " (did you mean 'NAME'?)", or `otherwise` if no name is close.
  std::string hint(std::string_view otherwise = {}) const;

 private:
  std::string given_;
  bool is_glob_;
  std::size_t limit_;  ///< a name must have fewer edits than this to replace best_
  u32 compared_ = 0;
  std::string best_;
  std::string part_;
};

}  // namespace modelutils
