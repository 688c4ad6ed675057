// A number of threads that several jobs share: each job has one and can borrow the idle ones.
#pragma once

#include <condition_variable>
#include <mutex>

namespace modelutils {

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

  /// Holds, during its lifetime, all threads that are free now, in addition to the job's own. For a phase of a job that
  /// can use many.
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

}  // namespace modelutils
