// Jobs run by several threads, with results reported one at a time.
#include "base/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "base/thread_budget.h"

namespace modelutils {
namespace {

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> run(unsigned threads, bool in_order, int jobs) {
  std::vector<int> told;
  std::atomic<int> telling{0};
  WorkQueue<int, int> queue(
      threads, in_order, [](int job) { return job * 2; },
      [&](int outcome) {
        EXPECT_EQ(telling.fetch_add(1), 0);
        told.push_back(outcome / 2);
        telling.fetch_sub(1);
      });
  for (int i = 0; i < jobs; ++i) queue.push(i);
  queue.finish();
  return told;
}

TEST(WorkQueue, TellsInOrderWhereThatIsWanted) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    for (const int jobs : {0, 1, 2, 2000}) EXPECT_EQ(run(threads, true, jobs), numbers(jobs));
  }
}

TEST(WorkQueue, TellsOfEveryJobOnce) {
  std::vector<int> told = run(4, false, 2000);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, numbers(2000));
}

TEST(WorkQueue, OneJobNeedsNoThread) {
  const auto own = std::this_thread::get_id();
  WorkQueue<int, bool> queue(
      4, true, [&](int) { return std::this_thread::get_id() == own; }, [](bool is_own) { EXPECT_TRUE(is_own); });
  queue.push(1);
  queue.finish();
}

TEST(WorkQueue, WhatIsDoneFirstIsToldFirst) {
  std::atomic<bool> second_told{false};
  std::vector<int> told;
  WorkQueue<int, int> queue(
      2, false,
      [&](int job) {
        if (job == 0) second_told.wait(false);  // would wait forever if results were reported in order
        return job;
      },
      [&](int job) {
        told.push_back(job);
        second_told = true;
        second_told.notify_all();
      });
  queue.push(0);
  queue.push(1);
  queue.finish();
  EXPECT_EQ(told, (std::vector<int>{1, 0}));
}

TEST(WorkQueue, AnExceptionEndsTheWork) {
  for (const unsigned threads : {1u, 3u}) {
    WorkQueue<int, int> queue(
        threads, true, [](int job) { return job == 5 ? throw std::runtime_error("no") : job; }, [](int) {});
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
