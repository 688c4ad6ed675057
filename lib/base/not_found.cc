#include "base/not_found.h"

#include <fmt/core.h>

#include "base/glob.h"

namespace modelutils {

namespace {

std::string how_to_list(std::string_view what, std::string_view lister = {}) {
  return fmt::format("; {}{}--list {}s lists them", lister, lister.empty() ? "" : " ", what);
}

}  // namespace

std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name) {
  ClosestName closest(given);
  each_name([&](std::string_view name) { closest.offer(name); });
  return closest.hint(how_to_list(what));
}

GlobUse::GlobUse(std::string_view option, std::string_view what, const std::vector<std::string>& globs)
    : option_(option), what_(what) {
  for (const std::string& glob : globs) uses_.push_back({glob, ClosestName(glob, ClosestName::Reading::glob)});
}

void GlobUse::look_at(const EachName& each_name) {
  for (Use& use : uses_) {
    if (use.is_matched) continue;
    each_name([&](std::string_view name) {
      if (use.is_matched) return;
      use.is_matched = glob_match(use.glob, name);
      if (!use.is_matched) use.closest.offer(name);
    });
  }
}

std::vector<Error> GlobUse::unused(const std::string& path, std::string_view lister) const {
  std::vector<Error> errors;
  for (const Use& use : uses_) {
    if (use.is_matched) continue;
    std::string message = fmt::format("matches no {}{}", what_, use.closest.hint(how_to_list(what_, lister)));
    errors.push_back(no_match_error(fmt::format("{} '{}'", option_, use.glob), std::move(message), path).value());
  }
  return errors;
}

}  // namespace modelutils
