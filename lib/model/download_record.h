// Records that download caches and Ollama's manifests keep about a file: the location of its content and its expected
// checksum and size (docs/formats/caches.md). Reads names and small records, never the content.
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

/// The expected checksum of a file.
struct ExpectedContent {
  HashAlgorithm algorithm = HashAlgorithm::sha256;  ///< sha1 covers Git's "blob SIZE\0" and the content
  std::string hex;                                  ///< lower case
};

/// Parses a checksum by its number of digits: 64 for SHA-256, 40 for Git's SHA-1. Returns nullopt for other texts.
/// Accepts quotes, because older Hub caches and metadata may quote an ETag.
std::optional<ExpectedContent> expected_content(std::string_view etag);

/// Parses the name of an Ollama blob: "sha256-" ("sha256:" in old versions) and 64 digits. Returns nullopt for other
/// names.
std::optional<ExpectedContent> ollama_blob(std::string_view base_name);

struct DownloadRecord {
  std::optional<ExpectedContent> expected = {};  ///< nullopt if no cache knows the file
  std::optional<u64> bytes = {};                 ///< expected size, if recorded
  std::string revision = {};                     ///< commit to which the file belongs; may be empty
  std::string blob = {};                         ///< path of the blob to which a link in a Hub snapshot leads
  bool is_missing = false;                       ///< the link's blob does not exist
  bool is_outside = false;                       ///< a link leads out of the cache
};

/// The location of a file in a Hugging Face cache: "…/models--org--name/snapshots/REVISION/NAME" or "…/blobs/NAME".
struct HubPlace {
  std::string repository = {};  ///< "…/models--org--name"
  bool is_blob = false;
  std::string revision = {};  ///< revision of the snapshot
  std::string name = {};      ///< path within the snapshot
};
/// Parses an absolute path without "." and ".."; nullopt if it is not in such a cache.
std::optional<HubPlace> hub_place(std::string_view path);

/// A repository's blob that is a link to a blob shared by the whole cache.
struct SharedLink {
  std::string blob;    ///< path of the repository's blob, beginning with the given root
  std::string target;  ///< name of the shared blob
};
/// Returns the shared links of all repositories in the Hugging Face cache `root`, sorted, including links in snapshots
/// that lead directly to a shared blob.
std::vector<SharedLink> shared_links(const std::string& root);

/// Returns the root of the cache (ending in '/') if the path is that of a shared blob, "ROOT/blobs/ab/ab01…"; else
/// empty.
std::string shared_blob_root(const std::string& path);

/// Finds the records of files. Reads the file list of each revision once.
class DownloadRecords {
 public:
  /// Returns the record of a file. Never fails: records that cannot be read count as absent. The name of a shared blob
  /// is not a checksum that we can compute, so its record comes from the name of a repository's blob that links to it.
  DownloadRecord find(const std::string& path);

 private:
  DownloadRecord find_in_snapshot(const std::string& path, const HubPlace& place);
  void add_listed(const HubPlace& place, DownloadRecord& record);

  std::string list_path_;
  std::unique_ptr<json::Document> list_;
};

// Reads Ollama's manifests, which list the blobs of a model (docs/formats/caches.md).

struct OllamaLayer {
  std::string kind;  ///< last part of the media type: "model", "projector", "template", …; "config"
  std::string name;  ///< name of a tensor; otherwise empty
  std::string hex;   ///< SHA-256
  u64 bytes = 0;

  /// True if the layer is a GGUF with its own rules.
  bool is_gguf() const { return kind == "model" || kind == "projector" || kind == "adapter" || kind == "draft"; }
};

struct OllamaManifest {
  std::string blobs;  ///< the folder of the blobs
  std::vector<OllamaLayer> layers;

  /// Returns the path of a layer's blob. Uses the older name "sha256:HEX" if only that exists.
  std::string blob(const OllamaLayer& layer) const;
};

/// True for the path of a manifest: "…/manifests/HOST/NAMESPACE/NAME/TAG" with a folder "blobs" next to "manifests".
bool is_ollama_manifest(const std::string& path);

/// Reads a manifest. Error "cache-manifest": not JSON, or a layer with an invalid digest or size.
Result<OllamaManifest> read_ollama_manifest(const std::string& path);

// Finds the model that a path stands for if it is not itself a model: a blob of a download cache, or a directory of
// GGUF files.

/// Returns the file in a snapshot that links to the blob `path` of a Hugging Face cache, in a repository or shared; its
/// name and folder identify the blob. Returns the first by name if there are several; nullopt if `path` is not such a
/// blob or no snapshot links to it.
std::optional<std::string> snapshot_file(const std::string& path);

/// Returns the first GGUF file of a directory by name; empty if there is none.
std::string gguf_in(const std::string& directory);

/// Returns the folder of the first snapshot by name in a repository's folder ("models--org--name") of a Hugging Face
/// cache; empty if the directory is not such a folder.
std::string snapshot_in(const std::string& directory);

}  // namespace modelutils
