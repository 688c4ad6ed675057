// Checksums: SHA-1 and SHA-256 of OpenSSL, XXH64 and XXH3-128. BLAKE2b is in verify/manifest/blake2b.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/types.h"

namespace modelutils {

enum class HashAlgorithm : u8 { sha256, xxh3, sha1, xxh64, blake2b };
inline constexpr std::size_t hash_algorithms = 5;

/// "sha256", "xxh3", "sha1", "xxh64", "blake2b".
std::string_view hash_name(HashAlgorithm algorithm);
/// Returns the algorithm with a name; nullopt for unknown names.
std::optional<HashAlgorithm> hash_from_name(std::string_view name);

/// XXH3-128 of bytes in memory: 16 bytes in canonical (big-endian) order. Equals the digest of Hasher.
std::string xxh3_digest(Bytes bytes);

/// The state of one algorithm; Hasher's implementation.
class HashState {
 public:
  virtual ~HashState() = default;
  virtual void reset() = 0;
  virtual void update(Bytes bytes) = 0;
  virtual std::string digest() = 0;
};

/// A running hash. Not for concurrent use.
class Hasher {
 public:
  /// Any algorithm but BLAKE2b, for which it throws std::logic_error. For that, call hasher_for() of
  /// verify/manifest/blake2b.h: few programs need it, and its implementation makes them start slowly.
  explicit Hasher(HashAlgorithm algorithm);
  explicit Hasher(std::unique_ptr<HashState> state) : state_(std::move(state)) {}

  /// Starts a new run, which costs less than a new hasher.
  void reset() { state_->reset(); }
  void update(Bytes bytes) { state_->update(bytes); }
  /// Returns the digest in canonical byte order (big-endian for the XXH family): 32, 16, 20, 8 or 64 bytes. Ends the
  /// run.
  std::string digest() { return state_->digest(); }
  /// Like digest(), as lower-case hexadecimal digits.
  std::string hex_digest();

 private:
  std::unique_ptr<HashState> state_;
};

}  // namespace modelutils
