// Messages for a name or pattern without a match; they suggest the closest name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/closest_name.h"
#include "base/error.h"

namespace modelutils {

/// Calls its argument once for every existing name.
using EachName = std::function<void(const std::function<void(std::string_view name)>& name)>;

/// Returns "; --list keys lists them" or " (did you mean 'general.name'?)", to be appended to "there is no such key".
/// `what` is "key" or "tensor".
std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name);

/// Tracks which patterns of one option have matched a name so far, across several models.
class GlobUse {
 public:
  /// `option` is the option's name, e.g. "--keys"; `what` is the kind of name that it selects, "key" or "tensor".
  GlobUse(std::string_view option, std::string_view what, const std::vector<std::string>& globs);

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
  std::vector<Use> uses_;
};

}  // namespace modelutils
