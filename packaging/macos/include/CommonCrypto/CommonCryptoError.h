/* What OpenSSL uses of macOS's header. For packaging/macos/sdk, whose source lacks it. */
#ifndef MODELUTILS_COMMON_CRYPTO_ERROR_H
#define MODELUTILS_COMMON_CRYPTO_ERROR_H

#include <stdint.h>

typedef int32_t CCCryptorStatus;
typedef CCCryptorStatus CCStatus;
enum { kCCSuccess = 0 };

#endif
