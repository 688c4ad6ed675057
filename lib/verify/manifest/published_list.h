// What the Hub says of a repository's files now, as a manifest (--published).
#pragma once

#include <string>
#include <vector>

#include "verify/manifest/manifest.h"

namespace modelutils {

/// The list of the repository, folder or file at an address, "hf://ORG/REPO[@REVISION][/PATH]". `paths`: those that are
/// compared with it; of a repository's folder in a download cache the snapshot of the list's revision is meant, which
/// takes its place. A revision that the cache lacks, or another one than the list's, is a remark ("manifest-revision").
/// Errors: those of remote_listing() and parse_manifest(); "remote-missing" (nothing in the repository has that name).
Result<Manifest> load_published(const std::string& address, std::vector<std::string>& paths);

}  // namespace modelutils
