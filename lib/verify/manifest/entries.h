// The checksums of a manifest, and an index of them by file. There may be millions, so each takes a few bytes in large
// blocks and is decoded into a view on access.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "io/hash.h"

namespace modelutils {

/// One checksum of a manifest. Its texts are views into the storage.
struct ManifestEntry {
  enum class Subject : u8 {
    tensor,      ///< the bytes of one tensor
    file,        ///< every byte of a file
    all_tensors  ///< the data of all tensors in a file, concatenated (llama-gguf-hash)
  };
  Subject subject = Subject::tensor;
  std::string_view file = {};    ///< base name; empty if the manifest is about a single file and does not name it
  std::string_view tensor = {};  ///< raw text
  HashAlgorithm algorithm = HashAlgorithm::sha256;
  bool is_git_blob = false;        ///< the digest is over "blob SIZE\0" and the bytes, as in a Git object name
  std::string_view digest = {};    ///< raw bytes; the algorithm determines the length
  std::optional<u64> bytes = {};   ///< size of the subject
  std::optional<u64> offset = {};  ///< absolute offset in the file
  std::string_view dtype = {};     ///< element type, if the manifest has it (gguf2bump)
  /// Text manifests: "FILE:TENSOR" or "FILE". Both parts may contain colons and spaces, so only the model's file names
  /// can separate them; subject, file and tensor are not set.
  std::string_view unsplit = {};

  std::string hex() const;  ///< the digest, in lower case
  /// Returns the text that names the file: `unsplit` if it is set, otherwise `file`.
  std::string_view name() const { return unsplit.empty() ? file : unsplit; }
};

/// Returns the length of the algorithm's digest in bytes.
std::size_t digest_bytes(HashAlgorithm algorithm);

/// Entries in insertion order. A SHA-256 line takes 38 bytes plus its name.
class ManifestEntries {
 public:
  void push_back(const ManifestEntry& entry);
  /// Returns views that stay valid until this object is destroyed, even if it is moved.
  ManifestEntry operator[](std::size_t number) const;

  std::size_t size() const { return starts_.size(); }
  bool empty() const { return starts_.empty(); }

 private:
  char* room_for(std::size_t bytes);

  std::vector<std::unique_ptr<char[]>> blocks_;  // an oversized block is followed by empty slots
  std::size_t free_at_ = 0;                      // in the last block
  std::size_t free_ = 0;
  std::deque<u32> starts_;  // a deque never moves its elements, so growing never holds two copies
};

// Finds the lines of a manifest about a file by the file's name, without scanning all lines. Internal.

/// Built in one pass over the entries, which must outlive it and must not move.
class ManifestIndex {
 public:
  explicit ManifestIndex(const ManifestEntries& entries);

  /// A manifest entry about a file.
  struct Match {
    std::size_t entry = 0;       ///< number of the entry
    std::string_view rest = {};  ///< text manifests: the text after the file's name, "" or ":TENSOR"
  };
  /// Returns the entries for the file `name` (a base name or a relative path), in manifest order. In the
  /// "PATH/FILE:TENSOR" of a text manifest the name begins at the start or after a '/' or '\' and ends at the end or
  /// before a ':'; the leftmost match counts. (A name that begins with ':' or '\' after its leading slashes is not
  /// found in text.) The cost is proportional to the number of such entries.
  std::vector<Match> about(std::string_view name) const;
  /// Returns the file name shared by all entries with this base name; nullopt if there is none or more than one.
  /// Ignores text manifests.
  std::optional<std::string_view> only_name_with_base(std::string_view base) const;
  /// Entries that name no file: the manifest is about a single file.
  std::span<const std::size_t> unnamed() const { return unnamed_; }

 private:
  /// An entry under one of its keys: the base name of its file or, in a text manifest, a piece of its subject. A piece
  /// begins where a name can begin and ends before the next ':' at the latest.
  struct Place {
    u32 key = 0;  // hash of the key
    u32 entry = 0;
    u32 at = 0;  // offset of the base name or the piece
  };
  std::string_view text_from(const Place& place) const;
  std::span<const Place> places_of(std::string_view key) const;
  std::span<const Place> files_with_base(std::string_view base) const;

  const ManifestEntries& entries_;
  std::vector<Place> places_;  // sorted by key, text from `at` on, files before text, full name
  std::vector<std::size_t> unnamed_;
};

}  // namespace modelutils
