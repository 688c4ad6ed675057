// Caches headers of remote files in XDG_CACHE_HOME/modelutils/headers, a folder that only the user can read. At most
// 256 MiB; the oldest entries are removed first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// The start of a file, with the version of the file that it belongs to.
struct CachedHeader {
  std::string version;  ///< ETag or date
  u64 total = 0;        ///< size of the whole file in bytes
  std::vector<std::byte> bytes;
};

/// The cache entry of one address. Read and write failures are ignored: an unreadable entry counts as absent.
class HeaderCache {
 public:
  /// `url`, including its query, identifies the entry; only a digest of the query is stored. `name` is the address as
  /// shown to the user; shell completion offers it.
  HeaderCache(const std::string& url, std::string name);

  /// Returns the entry if its version and length match. An empty `version` or absent `total` matches any.
  std::optional<CachedHeader> find(const std::string& version, std::optional<u64> total) const;
  /// Stores `bytes`, the start of a file of `total` bytes, replacing an older entry. Does nothing without a version.
  void keep(const std::string& version, u64 total, std::span<const std::byte> bytes) const;

 private:
  std::string url_;
  std::string name_;
  std::string path_;  // empty: caching is off
};

}  // namespace modelutils
