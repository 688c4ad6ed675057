// Settings for requests, from the environment and the command line, and the cache of remote headers in
// XDG_CACHE_HOME/modelutils/headers, a folder that only the user can read: at most 256 MiB, the oldest entries are
// removed first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// The tools set these once per process, before opening anything.
struct RemoteSettings {
  bool allow_private_redirect = false;  ///< allow redirects from a public server to a private address
  bool no_cache = false;                ///< disables the cache of headers
  std::string helper = {};              ///< the program that fetches, called as `fetch`, if libexec has none
  std::optional<u64> timeout = {};      ///< --timeout in seconds; replaces HF_HUB_DOWNLOAD_TIMEOUT
  /// Called with a line of text when a request is retried or the server is slow.
  void (*on_note)(const std::string& file, const std::string& text) = nullptr;
};
/// Returns the settings of this process.
RemoteSettings& remote_settings();

/// Returns the value of an environment variable, or nullopt if it is unset or empty.
std::optional<std::string> environment_variable(const char* name);

/// Parses an unsigned decimal number. Returns nullopt for any other text and for numbers beyond 64 bits.
std::optional<u64> whole_number(std::string_view text);

/// Returns HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the first line of the file HF_TOKEN_PATH or $HF_HOME/token, without
/// surrounding spaces. Empty if there is none, if HF_HUB_DISABLE_IMPLICIT_TOKEN is set, or if the token contains
/// characters not allowed in an HTTP header.
std::string hub_token();

/// Returns "remote-offline" if HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set.
Status check_online();

/// Longest time without data before a request fails, in seconds, from RemoteSettings or HF_HUB_DOWNLOAD_TIMEOUT: 1 to
/// most_silence, by default 10.
u64 longest_silence();
inline constexpr u64 most_silence = 600;

// Caches headers of remote files in XDG_CACHE_HOME/modelutils/headers, a folder that only the user can read. At most
// 256 MiB; the oldest entries are removed first.

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
