/* What OpenSSL uses of macOS's header. For packaging/macos/sdk, whose source lacks it. */
#ifndef MODELUTILS_COMMON_RANDOM_H
#define MODELUTILS_COMMON_RANDOM_H

#include <CommonCrypto/CommonCryptoError.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
CCStatus CCRandomGenerateBytes(void* bytes, size_t count);
#ifdef __cplusplus
}
#endif

#endif
