// What is said when a name or a pattern finds nothing: with the name that was most likely meant.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/closest_name.h"
#include "base/error.h"

namespace modelutils {

/// Calls its argument for every name that there is.
using EachName = std::function<void(const std::function<void(std::string_view name)>& name)>;

/// "; --list keys lists them", or " (did you mean 'general.name'?)": to stand after "there is no such key". `what`:
/// "key" or "tensor".
std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name);

/// The patterns of one option, and which of them have selected something yet, in whichever of several models.
class GlobUse {
 public:
  /// `option`: "--keys"; `what` its patterns select: "key" or "tensor".
  GlobUse(std::string_view option, std::string_view what, const std::vector<std::string>& globs);

  /// Notes which patterns match a name of this model.
  void look_at(const EachName& each_name);

  /// An error of kind no_match ("glob-no-match") for each pattern that has matched nothing, with a name that it nearly
  /// matched, or else how to see the names: `lister` is the tool that has --list, where it is not the caller.
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
