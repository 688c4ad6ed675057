// Minimal checks for C tests.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

#include "modelutils.h"

static int failures;

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      ++failures;                                                                         \
      fprintf(stderr, "%s:%d: %s (last error: %s: %s)\n", __FILE__, __LINE__, #condition, \
              mu_status_name(mu_last_error_status()), mu_last_error_message());           \
    }                                                                                     \
  } while (0)

// Checks that the call returns this status, and that an error sets a code.
#define GIVES(status, call)                                                                       \
  do {                                                                                            \
    const mu_status given_ = (call);                                                              \
    if (given_ != (status)) {                                                                     \
      ++failures;                                                                                 \
      fprintf(stderr, "%s:%d: %s gives %s, not %s (last error: %s)\n", __FILE__, __LINE__, #call, \
              mu_status_name(given_), mu_status_name(status), mu_last_error_message());           \
    } else if (given_ != MU_OK) {                                                                 \
      CHECK(mu_last_error_status() == given_);                                                    \
      CHECK(mu_last_error_code()[0] != '\0' && mu_last_error_message()[0] != '\0');               \
    }                                                                                             \
  } while (0)

#endif
