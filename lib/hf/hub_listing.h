// What the Hugging Face Hub says of a repository: /api/models/ORG/REPO/revision/REV?blobs=true.
#pragma once

#include <string>

#include "io/remote_folder.h"

namespace modelutils::hf {

/// Reads the answer. Names that lead out of a folder (an empty part, ".", "..") or hold control characters are left
/// out: nothing of theirs could be asked for. At most a million files. Codes: "json-syntax", "remote-listing".
Result<RemoteListing> parse_hub_listing(const std::string& text, const std::string& name);

/// From now on repositories at an address are folders (io/remote_folder.h). The tools call it.
void read_hub_listings();

}  // namespace modelutils::hf
