#include "report/not_found.h"

#include <fmt/format.h>

#include "base/closest_name.h"
#include "base/glob.h"

namespace modelutils {

namespace {

std::string how_to_list(std::string_view what) {
  return fmt::format("; --list {}s lists them", what);
}

}  // namespace

std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name) {
  ClosestName closest(given);
  each_name([&](std::string_view name) { closest.offer(name); });
  return closest.hint(how_to_list(what));
}

std::vector<Error> unmatched_globs(std::string_view option, std::string_view what,
                                   const std::vector<std::string>& globs, const EachName& each_name,
                                   const std::string& path) {
  std::vector<Error> errors;
  for (const std::string& glob : globs) {
    bool is_matched = false;
    ClosestName closest(glob, ClosestName::Reading::glob);
    each_name([&](std::string_view name) {
      if (is_matched) return;
      is_matched = glob_match(glob, name);
      if (!is_matched) closest.offer(name);
    });
    if (is_matched) continue;
    errors.push_back(no_match_error(fmt::format("{} '{}'", option, glob),
                                    fmt::format("matches no {}{}", what, closest.hint(how_to_list(what))), path)
                         .value());
  }
  return errors;
}

}  // namespace modelutils
