// Rules for download caches. For each file: its link target, its size, and with --authentic its content. For the cache:
// unfinished downloads, blobs that no model uses, and revisions without weights whose files are missing.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "io/hash.h"
#include "io/standard_output.h"

namespace modelutils {

/// A file of a model.
struct DownloadedFile {
  std::string path;
  std::string name;         ///< for messages; empty if the model is a single file
  bool has_weights = true;  ///< --authentic reports an unknown checksum only for files with weights
};

/// The checksums computed in one run. Many revisions link to the same blobs, so each is hashed once. Thread-safe.
class DigestMemo {
 public:
  /// Returns the checksum of the whole file. sha1 follows Git: "blob SIZE\0" is hashed before the content.
  Result<std::string> digest(const std::string& path, HashAlgorithm algorithm, Progress* progress);

 private:
  using Key = std::tuple<u64, u64, HashAlgorithm>;  // device, inode
  std::mutex mutex_;
  std::map<Key, std::string> known_;
};

struct DownloadCheck {
  bool authentic = false;     ///< read the content and compare it with the checksum in the cache
  bool follow_links = false;  ///< accept links that leave the repository
  bool is_broken = false;     ///< the model's own rules have already reported missing parts
};

/// Logs problems with how the files were downloaded. Returns the names of files whose blob is missing, so that the
/// caller need not report them as unreadable again. Codes: "cache-blob-missing", "cache-link-outside",
/// "cache-blob-size", "cache-not-authentic", "cache-no-record", those of reading.
std::set<std::string> check_downloads(const std::vector<DownloadedFile>& files, const DownloadCheck& options,
                                      DigestMemo& memo, ThreadBudget& threads, FindingLog& log, Progress* progress);

// Checks that concern a download cache as a whole, beside its models: unfinished downloads, blobs that no model uses,
// and revisions without weights whose files are missing.

/// Examines the folder `path`: a repository in a Hugging Face cache ("models--org--name"), the root of a cache whose
/// repositories share blobs, Ollama's models (a folder with "manifests" and "blobs"), or a download target (with
/// .cache/huggingface/download). Returns the paths of the unused blobs, for --authentic to read. Codes:
/// "cache-unfinished", "cache-blob-unused", "cache-blob-missing", "io-open".
std::vector<std::string> check_cache_folder(const std::string& path, FindingLog& log);

}  // namespace modelutils
