#include "base/parallel.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <stdexcept>

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

// Jobs run by several threads, with results reported one at a time.

namespace {

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> run(unsigned threads, int jobs) {
  std::vector<int> told;
  std::atomic<int> telling{0};
  WorkQueue<int, int> queue(
      threads, [](int job) { return job * 2; },
      [&](int outcome) {
        EXPECT_EQ(telling.fetch_add(1), 0);
        told.push_back(outcome / 2);
        telling.fetch_sub(1);
      });
  for (int i = 0; i < jobs; ++i) queue.push(i);
  queue.finish();
  return told;
}

TEST(WorkQueue, TellsInOrder) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    for (const int jobs : {0, 1, 2, 2000}) EXPECT_EQ(run(threads, jobs), numbers(jobs));
  }
}

#if defined(__linux__)
TEST(WorkQueue, ThreadsMayRunWhereTheCallerMay) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  std::atomic<unsigned> waiting{0};
  int equal = 0;
  WorkQueue<int, bool> queue(
      2,
      [&](int) {
        ++waiting;
        while (waiting < 2) std::this_thread::yield();  // one job per thread
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        cpu_set_t set;
        return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_EQUAL(&set, &own);
      },
      [&](bool is_equal) { equal += is_equal; });
  queue.push(0);
  queue.push(1);
  queue.finish();
  EXPECT_EQ(equal, 2);
}
#endif

TEST(WorkQueue, OneJobNeedsNoThread) {
  const auto own = std::this_thread::get_id();
  WorkQueue<int, bool> queue(
      4, [&](int) { return std::this_thread::get_id() == own; }, [](bool is_own) { EXPECT_TRUE(is_own); });
  queue.push(1);
  queue.finish();
}

TEST(WorkQueue, AnOutcomeWaitsForEarlierOnesOnly) {
  // Not std::atomic's wait(): with libstdc++ 12 on Windows, it misses notifications.
  std::promise<void> second_done, second_told;
  std::vector<int> told;
  WorkQueue<int, int> queue(
      3,
      [&](int job) {
        if (job == 0) second_done.get_future().wait();  // job 0 ends after job 1
        if (job == 2) second_told.get_future().wait();  // would wait forever if outcomes were held back until the end
        if (job == 1) second_done.set_value();
        return job;
      },
      [&](int job) {
        told.push_back(job);
        if (job == 1) second_told.set_value();
      });
  for (int i = 0; i < 3; ++i) queue.push(i);
  queue.finish();
  EXPECT_EQ(told, numbers(3));
}

TEST(WorkQueue, AnExceptionEndsTheWork) {
  for (const unsigned threads : {1u, 3u}) {
    WorkQueue<int, int> queue(
        threads, [](int job) { return job == 5 ? throw std::runtime_error("no") : job; }, [](int) {});
    EXPECT_THROW(
        {
          for (int i = 0; i < 5000; ++i) queue.push(i);
          queue.finish();
        },
        std::runtime_error);
  }
}

TEST(ThreadBudget, WhatIsFreeIsBorrowed) {
  ThreadBudget budget(4);
  const ThreadBudget::Place first(budget);
  {
    const ThreadBudget::Place second(budget);
    const ThreadBudget::Share share(budget);
    EXPECT_EQ(share.threads(), 3u);
    const ThreadBudget::Share none(budget);
    EXPECT_EQ(none.threads(), 1u);
  }
  const ThreadBudget::Share all(budget);
  EXPECT_EQ(all.threads(), 4u);
}

}  // namespace

}  // namespace modelutils
