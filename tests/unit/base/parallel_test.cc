#include "base/parallel.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>

namespace modelutils {
namespace {

TEST(ParallelFor, DoesEveryItemOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    std::vector<std::atomic<int>> done(1000);
    std::atomic<unsigned> highest{0};
    const Status status = parallel_for(done.size(), threads, [&](u64 item, unsigned thread) -> Status {
      ++done[item];
      unsigned seen = highest;
      while (thread > seen && !highest.compare_exchange_weak(seen, thread)) {
      }
      return {};
    });
    EXPECT_TRUE(status.has_value());
    for (const auto& count : done) EXPECT_EQ(count, 1);
    EXPECT_LT(highest, std::max(threads, 1u));
  }
  EXPECT_TRUE(parallel_for(0, 4, [](u64, unsigned) -> Status { return internal_error("never called"); }).has_value());
}

#if defined(__linux__)
// Threads start on CPUs with free capacity, and may later move to any CPU allowed for the caller.
TEST(ParallelFor, ThreadsMayRunWhereTheCallerMay) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  std::atomic<int> equal{0};
  std::atomic<unsigned> waiting{0};
  ASSERT_TRUE(parallel_for(2, 2, [&](u64, unsigned) -> Status {
                ++waiting;
                while (waiting < 2) std::this_thread::yield();  // one item per thread
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                cpu_set_t set;
                if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_EQUAL(&set, &own)) ++equal;
                return {};
              }).has_value());
  EXPECT_EQ(equal, 2);
}
#endif

TEST(ParallelFor, GivesTheErrorOfTheLowestItemAndStops) {
  for (const unsigned threads : {1u, 4u}) {
    std::atomic<u64> calls{0};
    const Status status = parallel_for(1000000, threads, [&](u64 item, unsigned) -> Status {
      ++calls;
      if (item >= 10) return input_error("failed", std::to_string(item));
      return {};
    });
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, "10");
    EXPECT_LT(calls, 1000u);
  }
}

TEST(ParallelFor, AnExceptionOfAnyThreadIsThrownHere) {
  for (const unsigned culprit : {0u, 1u, 2u}) {
    std::atomic<u64> calls{0};
    std::atomic<bool> has_thrown{false};
    const auto work = [&](u64, unsigned thread) -> Status {
      ++calls;
      if (thread == culprit) {
        has_thrown = true;
        throw std::bad_alloc();
      }
      while (!has_thrown) std::this_thread::yield();  // leave some items for the thread that throws
      return {};
    };
    EXPECT_THROW((void)parallel_for(1000000, 3, work), std::bad_alloc);
    EXPECT_LT(calls, 1000000u);
  }
}

TEST(ParallelFor, ThreadsAreWithinReason) {
  EXPECT_GE(default_threads(), 1u);
  EXPECT_LE(default_threads(), 16u);
}

}  // namespace
}  // namespace modelutils
