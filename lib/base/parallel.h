// Work on several threads: numbered items claimed from an atomic counter, where the first error wins; jobs that run as
// they are found and deliver their results one at a time; a number of threads that several jobs share.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/os/thread.h"
#include "base/types.h"

namespace modelutils {

// A number of threads shared by several jobs: each job has one and can borrow idle ones.

class ThreadBudget {
 public:
  explicit ThreadBudget(unsigned total) : free_(total) {}

  /// Holds one thread for a job during its lifetime. The constructor waits until one is free.
  class Place {
   public:
    explicit Place(ThreadBudget& budget) : budget_(budget) { budget_.take_one(); }
    ~Place() { budget_.give(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    ThreadBudget& budget_;
  };

  /// Also holds, during its lifetime, all threads that are idle now. For phases of a job that can use several.
  class Share {
   public:
    explicit Share(ThreadBudget& budget) : budget_(budget), borrowed_(budget.take_free()) {}
    ~Share() { budget_.give(borrowed_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    unsigned threads() const { return borrowed_ + 1; }

   private:
    ThreadBudget& budget_;
    unsigned borrowed_;
  };

 private:
  void take_one() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  unsigned take_free() {
    const std::lock_guard lock(mutex_);
    const unsigned taken = free_;
    free_ = 0;
    return taken;
  }
  void give(unsigned threads) {
    {
      const std::lock_guard lock(mutex_);
      free_ += threads;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned free_;
};

/// Returns the number of threads worth starting on this machine, 1 to 16.
inline unsigned default_threads() {
  return std::clamp(os::Thread::hardware_concurrency(), 1u, 16u);
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
    std::vector<os::Thread> helpers;
    try {
      for (unsigned i = 1; i < threads && i < items; ++i)
        os::begin_on(helpers.emplace_back(run, i), os::Processor::other);
    } catch (const std::system_error&) {  // no more threads available: fewer do the same work
    } catch (const std::bad_alloc&) {     // no memory for another thread
    }
    run(0);
  }
  if (thrown) std::rethrow_exception(thrown);
  if (first) return tl::make_unexpected(std::move(*first));
  return {};
}

// Runs jobs on several threads as they are found, and delivers the results one at a time.

/// push() adds a job; one of the threads calls `work` on it. `done` receives every outcome in job order, as soon as all
/// earlier ones are delivered, never two at once. With one thread or one job, everything runs in the calling thread. At
/// most `window` jobs are queued, running or undelivered; then push() waits until half of them are delivered. An
/// exception stops the work and is rethrown by push() or finish().
template <typename Job, typename Outcome>
class WorkQueue {
 public:
  static constexpr u64 window = 256;

  WorkQueue(unsigned threads, std::function<Outcome(Job)> work, std::function<void(Outcome)> done)
      : wanted_(threads), work_(std::move(work)), done_(std::move(done)) {}
  ~WorkQueue() { stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Adds a job. If `window` jobs are unfinished or undelivered, waits until half of them are delivered.
  void push(Job job) {
    if (wanted_ < 2) return done_(work_(std::move(job)));
    if (!first_ && pushed_ == 0) {
      first_.emplace(std::move(job));  // threads start only with a second job
      return;
    }
    if (threads_.empty()) start();
    if (first_) enqueue(std::move(*std::exchange(first_, std::nullopt)));
    enqueue(std::move(job));
  }

  /// Returns after `done` has received the last outcome.
  void finish() {
    if (first_) done_(work_(std::move(*std::exchange(first_, std::nullopt))));
    stop();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void start() {
    try {
      // Alternates between both processors, because the calling thread mostly sleeps.
      for (auto processor = os::Processor::other; threads_.size() < wanted_;) {
        os::begin_on(threads_.emplace_back([this] { run(); }), processor);
        processor = processor == os::Processor::other ? os::Processor::own : os::Processor::other;
      }
    } catch (const std::system_error&) {  // no more threads available: fewer do the same work
    } catch (const std::bad_alloc&) {     // no memory for another thread
    }
    if (threads_.empty()) wanted_ = 1;
  }

  void enqueue(Job job) {
    if (wanted_ < 2) return done_(work_(std::move(job)));
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return pushed_ - delivered_ < window || thrown_; });
    if (thrown_) {
      lock.unlock();
      finish();
    }
    jobs_.emplace_back(pushed_++, std::move(job));
    work_waits_.notify_one();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    work_waits_.notify_all();
    threads_.clear();  // joins
  }

  void run() {
    try {
      while (true) {
        std::unique_lock lock(mutex_);
        work_waits_.wait(lock, [&] { return !jobs_.empty() || closed_ || thrown_; });
        if (thrown_ || jobs_.empty()) return;
        const u64 number = jobs_.front().first;
        Job job = std::move(jobs_.front().second);
        jobs_.pop_front();
        lock.unlock();
        Outcome outcome = work_(std::move(job));
        lock.lock();
        outcomes_.emplace(number, std::move(outcome));
        deliver(lock);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      work_waits_.notify_all();
      room_.notify_all();
    }
  }

  // Delivers outcomes from one thread at a time. The other threads continue with their work meanwhile.
  void deliver(std::unique_lock<std::mutex>& lock) {
    if (delivering_) return;
    delivering_ = true;
    while (!outcomes_.empty() && outcomes_.begin()->first == delivered_) {
      auto outcome = outcomes_.extract(outcomes_.begin());
      lock.unlock();
      done_(std::move(outcome.mapped()));
      lock.lock();
      ++delivered_;
      // Waking push() for every job would cost two thread switches each.
      if (pushed_ - delivered_ <= window / 2) room_.notify_one();
    }
    delivering_ = false;
  }

  unsigned wanted_;
  std::function<Outcome(Job)> work_;
  std::function<void(Outcome)> done_;
  std::optional<Job> first_;

  std::mutex mutex_;
  std::condition_variable work_waits_, room_;
  std::deque<std::pair<u64, Job>> jobs_;
  std::map<u64, Outcome> outcomes_;  // finished, not yet delivered
  u64 pushed_ = 0, delivered_ = 0;
  bool closed_ = false, delivering_ = false;
  std::exception_ptr thrown_;
  std::vector<os::Thread> threads_;
};

}  // namespace modelutils
