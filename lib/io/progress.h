// A progress bar on standard error: bytes done, rate, time left. Erased when done.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "base/types.h"

namespace modelutils {

/// Counts bytes and, if visible, draws a bar at most ten times a second. A default-constructed one is silent and costs
/// one atomic addition per call, so library code can always take a `Progress&`.
class Progress {
 public:
  Progress() = default;
  /// `label` precedes the bar ("hashing"); `total` is the expected number of bytes. Draws only if `visible`.
  Progress(std::string label, u64 total, bool visible);
  /// Counts a part of `whole`, to which it adds everything that it counts. Draws nothing. `whole` must outlive it.
  explicit Progress(Progress* whole) : whole_(whole) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds `bytes` to the bytes done. Cheap, and safe from any thread.
  void advance(u64 bytes);
  /// Like advance(bytes), for callers that know the current time.
  void advance(u64 bytes, std::chrono::steady_clock::time_point now);
  /// Adds `bytes` to the total.
  void expect(u64 bytes);
  /// Starts over with another label and total, for the next phase of a run.
  void restart(std::string label, u64 total);
  /// Erases the bar, so that later output starts on a clean line. The destructor does the same.
  void finish();

  u64 done() const { return done_.load(std::memory_order_relaxed); }

 private:
  void draw(std::chrono::steady_clock::time_point now);

  Progress* whole_ = nullptr;
  std::string label_;
  u64 total_ = 0;
  bool visible_ = false;
  bool drawn_ = false;
  std::atomic<u64> done_{0};
  std::atomic<std::chrono::steady_clock::rep> next_{0};
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
};

/// Returns the bar's line, at most `width` columns. Used by draw() and tests.
std::string progress_line(std::string_view label, u64 done, u64 total, double seconds, std::size_t width);

}  // namespace modelutils
