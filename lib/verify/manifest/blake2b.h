// BLAKE2b-512, which OpenSSL has only in its EVP layer.
#pragma once

#include "io/hash.h"

namespace modelutils {

/// Returns a hasher for any algorithm.
Hasher hasher_for(HashAlgorithm algorithm);

}  // namespace modelutils
