// What a cache of downloads knows of a file: where its content lies and what it should be (docs/formats/caches.md).
// Names and small records are read, never the content.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/hash.h"
#include "json/reader.h"

namespace modelutils {

/// The checksum that a file should have.
struct ExpectedContent {
  HashAlgorithm algorithm = HashAlgorithm::sha256;  ///< sha1: of Git's "blob SIZE\0" and the content
  std::string hex;                                  ///< lower case
};

/// By its number of digits: 64 are SHA-256, 40 are Git's SHA-1; nothing for another text. Older Hub caches and
/// metadata may put an ETag into quotes.
std::optional<ExpectedContent> expected_content(std::string_view etag);

/// The name of an Ollama blob, "sha256-" (once "sha256:") and 64 digits, as what it promises.
std::optional<ExpectedContent> ollama_blob(std::string_view base_name);

struct DownloadRecord {
  std::optional<ExpectedContent> expected = {};  ///< nullopt if no cache knows the file
  std::optional<u64> bytes = {};                 ///< that it should have, where that is recorded
  std::string revision = {};                     ///< commit that it belongs to; may be empty
  std::string blob = {};                         ///< path of the blob that a link of a Hub snapshot leads to
  bool is_missing = false;                       ///< the link leads to a blob that is not there
  bool is_outside = false;                       ///< a link of a cache that leads out of it
};

/// A file's place in a Hugging Face cache: "…/models--org--name/snapshots/REVISION/NAME" or "…/blobs/NAME".
struct HubPlace {
  std::string repository = {};  ///< "…/models--org--name"
  bool is_blob = false;
  std::string revision = {};  ///< of a snapshot
  std::string name = {};      ///< from there on
};
/// Of an absolute path without "." and "..".
std::optional<HubPlace> hub_place(std::string_view path);

/// The absolute path without "." and "..", no link resolved.
std::string normal_path(const std::string& path);

/// A blob of a repository that is a link to one that the whole cache shares.
struct SharedLink {
  std::string blob;    ///< its path, below the root as it was given
  std::string target;  ///< name of the shared blob
};
/// Those of all repositories of the Hugging Face cache `root`, sorted. Links in snapshots that go straight to a shared
/// blob are among them.
std::vector<SharedLink> shared_links(const std::string& root);

/// Root of the cache (ending in '/') where the path is that of a shared blob, "ROOT/blobs/ab/ab01…"; else empty.
std::string shared_blob_root(const std::string& path);

/// Looks files up; the list of a revision's files is read once.
class DownloadRecords {
 public:
  /// Never fails: what cannot be read or understood is as if it were not recorded. Of a shared blob, whose name is no
  /// checksum that we can compute, what the name of a repository's blob says that leads to it.
  DownloadRecord find(const std::string& path);

 private:
  DownloadRecord find_in_snapshot(const std::string& path, const HubPlace& place);
  void add_listed(const HubPlace& place, DownloadRecord& record);

  std::string list_path_;
  std::unique_ptr<json::Document> list_;
};

}  // namespace modelutils
