// Runs jobs on several threads as they are found, and delivers the results one at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/system.h"
#include "base/types.h"

namespace modelutils {

/// push() adds a job; one of the threads calls `work` on it. `done` receives every outcome, never two at once: in job
/// order, or with `in_order` false in order of completion. With one thread or one job, everything runs in the calling
/// thread. At most `window` jobs are queued, running or undelivered; push() waits while there are that many. An
/// exception stops the work and is rethrown by push() or finish().
template <typename Job, typename Outcome>
class WorkQueue {
 public:
  static constexpr u64 window = 256;

  WorkQueue(unsigned threads, bool in_order, std::function<Outcome(Job)> work, std::function<void(Outcome)> done)
      : wanted_(threads), in_order_(in_order), work_(std::move(work)), done_(std::move(done)) {}
  ~WorkQueue() { stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Adds a job; waits while `window` jobs are unfinished or undelivered.
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
      while (threads_.size() < wanted_) system::begin_apart(threads_.emplace_back([this] { run(); }));
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
    while (!outcomes_.empty() && (!in_order_ || outcomes_.begin()->first == delivered_)) {
      auto outcome = outcomes_.extract(outcomes_.begin());
      lock.unlock();
      done_(std::move(outcome.mapped()));
      lock.lock();
      ++delivered_;
      room_.notify_one();
    }
    delivering_ = false;
  }

  unsigned wanted_;
  bool in_order_;
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
  std::vector<std::jthread> threads_;
};

}  // namespace modelutils
