// What is said when a name or a pattern finds nothing: with the name that was most likely meant.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Calls its argument for every name that there is.
using EachName = std::function<void(const std::function<void(std::string_view name)>& name)>;

/// "; --list keys lists them", or " (did you mean 'general.name'?)": to stand after "there is no such key". `what`:
/// "key" or "tensor".
std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name);

/// An error of kind no_match ("glob-no-match") for each glob of `option` that matches none of the names.
std::vector<Error> unmatched_globs(std::string_view option, std::string_view what,
                                   const std::vector<std::string>& globs, const EachName& each_name,
                                   const std::string& path);

}  // namespace modelutils
