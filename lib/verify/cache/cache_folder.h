// What is said of a folder of a download cache as a whole, next to its models: downloads that are not finished, blobs
// that no model uses, revisions without weights whose files are missing.
#pragma once

#include <string>
#include <vector>

#include "base/finding_log.h"

namespace modelutils {

/// Examines the folder `path`: a repository of a Hugging Face cache ("models--org--name"), the root of one whose
/// repositories share blobs, the models of Ollama (a
/// folder with "manifests" and "blobs"), or one that files were downloaded to (with .cache/huggingface/download).
/// Gives the blobs that nobody uses, for --authentic to read. Codes: "cache-unfinished", "cache-blob-unused",
/// "cache-blob-missing", "io-open".
std::vector<std::string> check_cache_folder(const std::string& path, FindingLog& log);

}  // namespace modelutils
