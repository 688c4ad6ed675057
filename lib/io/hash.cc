#include "io/hash.h"

// Not through OpenSSL's EVP layer: its tables of algorithms contain 340 kB of pointers, which every start would
// relocate.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <stdexcept>

#include "base/escape.h"
#include "base/instructions.h"
#include "io/xxh3_avx2.h"

namespace modelutils {

namespace {

constexpr std::array<std::string_view, hash_algorithms> names = {"sha256", "xxh3", "sha1", "xxh64", "blake2b"};

// The functions return 1 always.
template <typename Context, int (*begin)(Context*), int (*add)(Context*, const void*, std::size_t),
          int (*end)(unsigned char*, Context*), std::size_t digest_size>
class ShaState final : public HashState {
 public:
  ShaState() { begin(&context_); }
  void reset() override { begin(&context_); }
  void update(Bytes bytes) override { add(&context_, bytes.data(), bytes.size()); }
  std::string digest() override {
    std::string bytes(digest_size, '\0');
    end(reinterpret_cast<unsigned char*>(bytes.data()), &context_);
    return bytes;
  }

 private:
  Context context_;
};

using Sha256State = ShaState<SHA256_CTX, SHA256_Init, SHA256_Update, SHA256_Final, SHA256_DIGEST_LENGTH>;
using Sha1State = ShaState<SHA_CTX, SHA1_Init, SHA1_Update, SHA1_Final, SHA_DIGEST_LENGTH>;

class Xxh3State final : public HashState {
 public:
  Xxh3State() { XXH3_128bits_reset(&xxh3_); }
  void reset() override { XXH3_128bits_reset(&xxh3_); }
  void update(Bytes bytes) override {
#if defined(__x86_64__)
    if (best_instructions() == Instructions::avx2) return xxh3_update_avx2(&xxh3_, bytes.data(), bytes.size());
#endif
    XXH3_128bits_update(&xxh3_, bytes.data(), bytes.size());
  }
  std::string digest() override {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&xxh3_));
    return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
  }

 private:
  XXH3_state_t xxh3_;
};

class Xxh64State final : public HashState {
 public:
  Xxh64State() { XXH64_reset(&xxh64_, 0); }
  void reset() override { XXH64_reset(&xxh64_, 0); }
  void update(Bytes bytes) override { XXH64_update(&xxh64_, bytes.data(), bytes.size()); }
  std::string digest() override {
    XXH64_canonical_t canonical;
    XXH64_canonicalFromHash(&canonical, XXH64_digest(&xxh64_));
    return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
  }

 private:
  XXH64_state_t xxh64_;
};

std::unique_ptr<HashState> state_for(HashAlgorithm algorithm) {
  switch (algorithm) {
    case HashAlgorithm::sha256: return std::make_unique<Sha256State>();
    case HashAlgorithm::xxh3: return std::make_unique<Xxh3State>();
    case HashAlgorithm::sha1: return std::make_unique<Sha1State>();
    case HashAlgorithm::xxh64: return std::make_unique<Xxh64State>();
    case HashAlgorithm::blake2b: break;
  }
  throw std::logic_error("BLAKE2b needs hasher_for()");
}

}  // namespace

std::string_view hash_name(HashAlgorithm algorithm) {
  return names[static_cast<std::size_t>(algorithm)];
}

std::optional<HashAlgorithm> hash_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<HashAlgorithm>(i);
  }
  return std::nullopt;
}

std::string xxh3_digest(Bytes bytes) {
  Xxh3State state;
  state.update(bytes);
  return state.digest();
}

Hasher::Hasher(HashAlgorithm algorithm) : state_(state_for(algorithm)) {}

std::string Hasher::hex_digest() {
  const std::string bytes = digest();
  return hex(std::as_bytes(std::span(bytes)));
}

}  // namespace modelutils
