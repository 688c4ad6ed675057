// A malloc that fails from its FAIL_AT-th call on, or with FAIL_ONCE only at that call. COUNT_TO names a file for the
// number of calls. tests/faults/memory loads it before the C library's (LD_PRELOAD).
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static atomic_long calls;
static long fail_at = -1;
static int fail_once;

static int fails(void) {
  if (fail_at < 0) {
    const char* at = getenv("FAIL_AT");
    fail_once = getenv("FAIL_ONCE") != NULL;
    fail_at = at != NULL ? atol(at) : 0;
  }
  const long call = atomic_fetch_add(&calls, 1) + 1;
  if (fail_at == 0 || (fail_once ? call != fail_at : call < fail_at)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  return size > 0 && fails() ? NULL : __libc_realloc(old, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory != NULL ? 0 : ENOMEM;
}

__attribute__((destructor)) static void write_count(void) {
  const char* path = getenv("COUNT_TO");
  FILE* file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}
