// Carries out a plan of links (link_plan.h): all of it or nothing, and never over anything that exists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/link_plan.h"

namespace modelutils {

enum class LinkWay : u8 { reflink, hard, symlink };
std::string_view link_way_name(LinkWay way);

struct MadeLink {
  std::string from, to;
  LinkWay way = LinkWay::hard;
  bool was_there = false;  ///< the name led to the file before
};

/// Makes the links. `way`: nullopt takes for each file the first of reflink, hard link and symbolic link that works.
/// After an error, or a signal, everything that was created is removed. Errors (kind output): "out-exists" (a name is
/// taken by another file), "link-failed", "out-open", "out-sync".
Result<std::vector<MadeLink>> make_links(const LinkPlan& plan, std::optional<LinkWay> way);

/// Returns the links that make_links() would try to make, without creating anything. Error: "out-exists".
Result<std::vector<MadeLink>> check_links(const LinkPlan& plan);

}  // namespace modelutils
