#include "io/write_back.h"

#include <algorithm>
#include <utility>

namespace modelutils {

namespace {
constexpr u64 step_bytes = u64{8} << 20;
constexpr u64 window_bytes = u64{32} << 20;  // written recently and probably still in progress: not waited for
constexpr u64 page_bytes = 4096;
}  // namespace

Status WriteBack::reached(u64 end) {
  u64 start = 0;
  u64 drop = 0;
  u64 drop_end = 0;
  {
    const std::lock_guard lock(mutex_);
    if (end < started_ + step_bytes) return {};
    start = std::exchange(started_, end);
    drop_end = start > window_bytes ? (start - window_bytes) / page_bytes * page_bytes : 0;
    drop = std::exchange(let_go_, std::max(let_go_, drop_end));
  }
  output_.start_write_back(start, end - start);
  if (drop < drop_end) MU_TRY(output_.let_go(drop, drop_end - drop));
  return {};
}

}  // namespace modelutils
