// Patterns and look-ups by name: shell-like patterns over names of keys and tensors, the known name closest to a
// mistyped one, and messages for a name or pattern without a match.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

// "Did you mean": finds the known name closest to a mistyped one.

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

// Shell-like patterns over names of keys and tensors.

/// True if `pattern` matches all of `text`. `*` matches any run of bytes (including dots and slashes), `?` one byte,
/// `[a-z]` a byte in the class and `[!a-z]` one outside it; `\` makes the next byte literal. An unclosed `[` matches
/// itself. There are no `{a,b}` alternatives. Takes at most O(pattern × text) time for any input.
bool glob_match(std::string_view pattern, std::string_view text);

/// True if `pattern` selects `text`: one with `*`, `?` or `[` must match all of it, any other is looked for anywhere in
/// it. An empty pattern selects nothing.
bool pattern_selects(std::string_view pattern, std::string_view text);

/// Calls its argument once for every existing name.
using EachName = std::function<void(const std::function<void(std::string_view name)>& name)>;

/// Returns "; --list keys lists them" or " (did you mean 'general.name'?)", to be appended to "there is no such key".
/// `what` is "key" or "tensor".
std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name);

/// Tracks which patterns of one option have matched a name so far, across several models.
class GlobUse {
 public:
  using Match = bool (*)(std::string_view pattern, std::string_view name);

  /// `option` is the option's name, e.g. "--keys"; `what` is the kind of name that it selects, "key" or "tensor".
  GlobUse(std::string_view option, std::string_view what, const std::vector<std::string>& globs,
          Match match = glob_match);

  /// Marks the patterns that match a name of this model.
  void look_at(const EachName& each_name);

  /// Returns an error of kind no_match ("glob-no-match") for each pattern without a match. It suggests the closest
  /// name, or else --list. `lister` is the tool that has --list, if the calling tool has not.
  std::vector<Error> unused(const std::string& path, std::string_view lister = {}) const;

 private:
  struct Use {
    std::string glob;
    ClosestName closest;
    bool is_matched = false;
  };

  std::string option_;
  std::string what_;
  Match match_;
  std::vector<Use> uses_;
};

}  // namespace modelutils
