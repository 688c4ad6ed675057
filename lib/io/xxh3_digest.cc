// Compiled into its caller: neither the library's other code nor OpenSSL comes with it, so that what opens a GGUF
// starts fast and programs that link the C API need neither.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/hash.h"

namespace modelutils {

std::string xxh3_digest(Bytes bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

}  // namespace modelutils
