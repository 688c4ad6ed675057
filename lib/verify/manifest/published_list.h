// Fetches the Hub's current list of a repository's files as a manifest (--published).
#pragma once

#include <string>
#include <vector>

#include "verify/manifest/manifest.h"

namespace modelutils {

/// Loads the list for the repository, folder or file at an address, "hf://ORG/REPO[@REVISION][/PATH]". `paths`: the
/// local paths to compare; a repository folder in a download cache is replaced by its snapshot of the list's revision.
/// If the cache lacks that revision or has another one, the manifest gets a remark ("manifest-revision"). Errors: those
/// of remote_listing() and parse_manifest(); "remote-missing" (the repository has no file or folder of that name).
Result<Manifest> load_published(const std::string& address, std::vector<std::string>& paths);

}  // namespace modelutils
