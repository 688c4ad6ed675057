// Compiles xxHash into this file alone, without the library's other hashes and OpenSSL. Tools that open a GGUF start
// faster, and programs that link the C API need neither.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/hash.h"

namespace modelutils {

namespace {

std::string canonical_bytes(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

}  // namespace

std::string xxh3_digest(Bytes bytes) {
  return canonical_bytes(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Xxh3Stream::State {
  XXH3_state_t xxh3;
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}
Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::update(Bytes bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::string Xxh3Stream::digest() const {
  return canonical_bytes(XXH3_128bits_digest(&state_->xxh3));
}

}  // namespace modelutils
