// How far a long run is, for whoever shows it: written by the workers, read by another thread.
#pragma once

#include <atomic>

#include "base/types.h"

namespace modelutils {

struct ProgressCounter {
  std::atomic<u64> done{0};   ///< bytes
  std::atomic<u64> total{0};  ///< bytes that will have been read at the end, as far as known now
};

}  // namespace modelutils
