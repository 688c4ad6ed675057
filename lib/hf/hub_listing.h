// Parses the Hugging Face Hub's answer about a repository: /api/models/ORG/REPO/revision/REV?blobs=true.
#pragma once

#include <string>

#include "io/remote_folder.h"

namespace modelutils::hf {

/// Parses the answer. Skips names that leave the folder (an empty part, ".", "..") or contain control characters, as
/// they cannot be requested safely. At most a million files. Codes: "json-syntax", "remote-listing".
Result<RemoteListing> parse_hub_listing(const std::string& text, const std::string& name);

/// Enables repositories at an address as folders (io/remote_folder.h), by registering parse_hub_listing(). The tools
/// call it.
void read_hub_listings();

}  // namespace modelutils::hf
