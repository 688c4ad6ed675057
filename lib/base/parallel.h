// Processes numbered items on several threads. Threads claim items from an atomic counter; the first error wins.
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

/// Returns the number of threads worth starting on this machine, 1 to 16.
inline unsigned default_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

/// Calls work(item, thread) -> Status for every item in [0, items) on up to `threads` threads, including the calling
/// one. Items are claimed in ascending order. After an error no further item is claimed, and the error of the lowest
/// failed item is returned. An exception in any thread, e.g. std::bad_alloc, stops the work in the same way and is
/// rethrown here.
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
  // An exception that escapes a thread's function would terminate the process.
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
    } catch (const std::system_error&) {  // no more threads available: fewer do the same work
    } catch (const std::bad_alloc&) {     // no memory for another thread
    }
    run(0);
  }
  if (thrown) std::rethrow_exception(thrown);
  if (first) return tl::make_unexpected(std::move(*first));
  return {};
}

}  // namespace modelutils
