// The rules for files of a download cache: links that lead where they should, sizes, and with --authentic the content.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/finding_log.h"
#include "base/thread_budget.h"
#include "io/hash.h"
#include "io/progress.h"

namespace modelutils {

/// A file that belongs to a model.
struct DownloadedFile {
  std::string path;
  std::string name;         ///< for messages; empty for the only file of a model
  bool has_weights = true;  ///< --authentic says of these alone that nobody knows what they should be
};

/// Checksums of one run: many revisions link to the same blobs. Safe from any thread.
class DigestMemo {
 public:
  /// The checksum of the whole file; sha1 in Git's way, with "blob SIZE\0" before the content.
  Result<std::string> digest(const std::string& path, HashAlgorithm algorithm, Progress* progress);

 private:
  using Key = std::tuple<u64, u64, HashAlgorithm>;  // device, inode
  std::mutex mutex_;
  std::map<Key, std::string> known_;
};

struct DownloadCheck {
  bool authentic = false;     ///< read the content and compare it with what the cache says of it
  bool follow_links = false;  ///< links out of a repository are meant
  bool is_broken = false;     ///< the model's own rules have said already that something is missing
};

/// Adds what is wrong with how the files were downloaded. Gives the names of files whose blob is missing, so that
/// nobody else need say that they cannot be opened. Codes: "cache-blob-missing", "cache-link-outside",
/// "cache-blob-size", "cache-not-authentic", "cache-no-record", those of reading.
std::set<std::string> check_downloads(const std::vector<DownloadedFile>& files, const DownloadCheck& options,
                                      DigestMemo& memo, ThreadBudget& threads, FindingLog& log, Progress* progress);

}  // namespace modelutils
