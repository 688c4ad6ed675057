/* Extended attributes: what macOS's <sys/xattr.h> declares and we use. For packaging/macos/sdk, whose source lacks it.
 */
#ifndef MODELUTILS_SYS_XATTR_H
#define MODELUTILS_SYS_XATTR_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
ssize_t getxattr(const char* path, const char* name, void* value, size_t size, unsigned position, int options);
ssize_t fgetxattr(int descriptor, const char* name, void* value, size_t size, unsigned position, int options);
int fsetxattr(int descriptor, const char* name, const void* value, size_t size, unsigned position, int options);
int fremovexattr(int descriptor, const char* name, int options);
ssize_t listxattr(const char* path, char* names, size_t size, int options);
#ifdef __cplusplus
}
#endif

#endif
