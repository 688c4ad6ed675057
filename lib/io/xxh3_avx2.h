// XXH3 for machines with AVX2.
#pragma once

#include <cstddef>

namespace modelutils {

#if defined(__x86_64__)
/// XXH3_128bits_update() compiled for AVX2, which the machine must support. `state` is an XXH3_state_t; it is declared
/// as void because the type's real name differs where xxhash.h is included as header-only.
void xxh3_update_avx2(void* state, const void* bytes, std::size_t size);
#endif

}  // namespace modelutils
