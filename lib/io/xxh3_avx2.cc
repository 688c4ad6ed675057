// Includes nothing else that defines functions: the linker could choose its copies for the whole program, which would
// then need AVX2.
#include "io/xxh3_avx2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2
#include <xxhash.h>

namespace modelutils {

void xxh3_update_avx2(void* state, const void* bytes, std::size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

}  // namespace modelutils

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
