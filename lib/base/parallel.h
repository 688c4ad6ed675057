// Work on numbered items by several threads: items are claimed from an atomic counter, the first error wins.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Threads worth starting on this machine, 1 to 16.
inline unsigned default_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

/// Calls work(item, thread) -> Status for every item in [0, items), in rising order of claim, on up to `threads`
/// threads (the calling one included). After an error no new item is claimed; the error of the lowest item is returned.
template <typename Work>
Status parallel_for(u64 items, unsigned threads, Work&& work) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::optional<Error> first;
  u64 first_item = 0;
  const auto run = [&](unsigned thread) {
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
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads && i < items; ++i) {
      try {
        helpers.emplace_back(run, i);
      } catch (const std::system_error&) {
        break;  // the system gives no more threads: fewer do the same work
      }
    }
    run(0);
  }
  if (first) return tl::make_unexpected(std::move(*first));
  return {};
}

}  // namespace modelutils
