// The checksums of a manifest, of which there may be millions: each is a few bytes in blocks of text, and a view when
// it is looked at.
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

/// One checksum of a manifest; views of what holds it.
struct ManifestEntry {
  enum class Subject : u8 {
    tensor,      ///< the bytes of one tensor
    file,        ///< every byte of a file
    all_tensors  ///< the data of all tensors of a file one after another (llama-gguf-hash)
  };
  Subject subject = Subject::tensor;
  std::string_view file = {};    ///< base name; empty if the manifest is about one file that it does not name
  std::string_view tensor = {};  ///< raw text
  HashAlgorithm algorithm = HashAlgorithm::sha256;
  bool is_git_blob = false;        ///< of "blob SIZE\0" and the bytes, as Git names a file
  std::string_view digest = {};    ///< its bytes, as many as the algorithm gives
  std::optional<u64> bytes = {};   ///< size of the subject
  std::optional<u64> offset = {};  ///< where it stands in the file
  std::string_view dtype = {};     ///< element type, where the manifest says it (gguf2bump)
  /// Text manifests: "FILE:TENSOR" or "FILE". Both may hold colons and spaces, so it takes the model's own file names
  /// to tell them apart; subject, file and tensor are not set.
  std::string_view unsplit = {};

  std::string hex() const;  ///< the digest, in lower case
  /// What names the file: `unsplit` where it is set.
  std::string_view name() const { return unsplit.empty() ? file : unsplit; }
};

/// Bytes of the algorithm's digest.
std::size_t digest_bytes(HashAlgorithm algorithm);

/// Entries in the order in which they were added. A line of a SHA-256 takes 38 bytes and its name.
class ManifestEntries {
 public:
  void push_back(const ManifestEntry& entry);
  /// Views that hold until this is destroyed, also if it is moved.
  ManifestEntry operator[](std::size_t number) const;

  std::size_t size() const { return starts_.size(); }
  bool empty() const { return starts_.empty(); }

 private:
  char* room_for(std::size_t bytes);

  std::vector<std::unique_ptr<char[]>> blocks_;  // one that is larger than usual is followed by empty ones
  std::size_t free_at_ = 0;                      // in the last block
  std::size_t free_ = 0;
  std::deque<u32> starts_;  // never moved, so that they are never there twice
};

}  // namespace modelutils
