// Headers of files at addresses, kept for the next look: under XDG_CACHE_HOME/modelutils/headers, a folder that only
// the user can read. At most 256 MiB; the oldest go first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// The start of a file, and which content of it that is.
struct CachedHeader {
  std::string version;  ///< ETag or date
  u64 total = 0;        ///< bytes of the whole file
  std::vector<std::byte> bytes;
};

/// The entry of one address. What cannot be read is not there; what cannot be written is not kept.
class HeaderCache {
 public:
  /// `url` tells entries apart, with its query, of which a digest alone is kept; `name` is what people call it:
  /// completions offer it.
  HeaderCache(const std::string& url, std::string name);

  /// What is kept, if it is of this version and length; of any where one is not given.
  std::optional<CachedHeader> find(const std::string& version, std::optional<u64> total) const;
  void keep(const std::string& version, u64 total, std::span<const std::byte> bytes) const;

 private:
  std::string url_;
  std::string name_;
  std::string path_;  // empty: nothing is kept
};

}  // namespace modelutils
