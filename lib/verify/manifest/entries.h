// The checksums of a manifest. There may be millions, so each takes a few bytes in large blocks and is decoded into a
// view on access.
#pragma once

#include <deque>
#include <memory>
#include <optional>
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

}  // namespace modelutils
