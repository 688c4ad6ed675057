// Checksums: OpenSSL's SHA-1, SHA-256 and BLAKE2b-512, XXH64 and XXH3-128.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

/// XXH3-128 of bytes that arrive in pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(const Xxh3Stream&) = delete;
  Xxh3Stream& operator=(const Xxh3Stream&) = delete;

  void update(Bytes bytes);
  std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A running hash. Not for concurrent use. reset() starts a new one without looking the algorithm up again.
class Hasher {
 public:
  explicit Hasher(HashAlgorithm algorithm);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void reset();
  void update(Bytes bytes);
  /// Returns the digest in canonical byte order (big-endian for the XXH family): 32, 16, 20, 8 or 64 bytes. Ends the
  /// run.
  std::string digest();
  /// Like digest(), as lower-case hexadecimal digits.
  std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace modelutils
