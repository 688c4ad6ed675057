#include "verify/manifest/blake2b.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <new>

namespace modelutils {

namespace {

// OpenSSL's calls fail here only if memory is exhausted, so failure is std::bad_alloc.
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
const EVP_MD* blake2b() {
  static const EVP_MD* const method = [] {
    succeeded(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr));
    static OSSL_LIB_CTX* const context = allocated(OSSL_LIB_CTX_new());
    return allocated(EVP_MD_fetch(context, "BLAKE2B-512", nullptr));
  }();
  return method;
}

class Blake2bState final : public HashState {
 public:
  Blake2bState() { Blake2bState::reset(); }

  void reset() override { succeeded(EVP_DigestInit_ex2(run_.get(), blake2b(), nullptr)); }
  void update(Bytes bytes) override { succeeded(EVP_DigestUpdate(run_.get(), bytes.data(), bytes.size())); }
  std::string digest() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    succeeded(EVP_DigestFinal_ex(run_.get(), bytes.data(), &size));
    return {reinterpret_cast<const char*>(bytes.data()), size};
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* run) const { EVP_MD_CTX_free(run); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> run_{allocated(EVP_MD_CTX_new())};
};

}  // namespace

Hasher hasher_for(HashAlgorithm algorithm) {
  if (algorithm != HashAlgorithm::blake2b) return Hasher(algorithm);
  return Hasher(std::make_unique<Blake2bState>());
}

}  // namespace modelutils
