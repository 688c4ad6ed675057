// Work on numbered items by several threads: items are claimed from an atomic counter, the first error wins.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/system.h"

namespace modelutils {

/// Threads worth starting on this machine, 1 to 16.
inline unsigned default_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

/// Calls work(item, thread) -> Status for every item in [0, items), in rising order of claim, on up to `threads`
/// threads (the calling one included). After an error no new item is claimed; the error of the lowest item is returned.
/// An exception of any thread (memory that is out) ends the work in the same way and is thrown again here.
template <typename Work>
Status parallel_for(u64 items, unsigned threads, Work&& work) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::optional<Error> first;
  u64 first_item = 0;
  std::exception_ptr thrown;
  const auto claim = [&](unsigned thread) {
    while (true) {
      const u64 item = next.fetch_add(1);
      if (item >= items) return;
      if (Status status = work(item, thread); !status) {
        next.store(items);
        const std::lock_guard lock(mutex);
        if (!first || item < first_item) {
          first = std::move(status.error());
          first_item = item;
        }
      }
    }
  };
  // An exception must not leave a thread's function: that would be the end of the process.
  const auto run = [&](unsigned thread) {
    try {
      claim(thread);
    } catch (...) {
      next.store(items);
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (unsigned i = 1; i < threads && i < items; ++i) system::begin_apart(helpers.emplace_back(run, i));
    } catch (const std::system_error&) {  // the system gives no more threads: fewer do the same work
    } catch (const std::bad_alloc&) {     // nor memory for one
    }
    run(0);
  }
  if (thrown) std::rethrow_exception(thrown);
  if (first) return tl::make_unexpected(std::move(*first));
  return {};
}

}  // namespace modelutils
