// Checks that concern a download cache as a whole, beside its models: unfinished downloads, blobs that no model uses,
// and revisions without weights whose files are missing.
#pragma once

#include <string>
#include <vector>

#include "base/finding_log.h"

namespace modelutils {

/// Examines the folder `path`: a repository in a Hugging Face cache ("models--org--name"), the root of a cache whose
/// repositories share blobs, Ollama's models (a folder with "manifests" and "blobs"), or a download target (with
/// .cache/huggingface/download). Returns the paths of the unused blobs, for --authentic to read. Codes:
/// "cache-unfinished", "cache-blob-unused", "cache-blob-missing", "io-open".
std::vector<std::string> check_cache_folder(const std::string& path, FindingLog& log);

}  // namespace modelutils
