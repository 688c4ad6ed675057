// A progress bar on standard error: bytes done, rate, time left; erased when done.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "base/types.h"

namespace modelutils {

/// Counts bytes; if it is visible, it also draws itself, at most ten times a second. A default-made one is silent and
/// costs one atomic addition a call, so library code takes a `Progress&` and need not ask.
class Progress {
 public:
  Progress() = default;
  /// `label` stands before the bar ("hashing"); `total` bytes are to come. Draws only if `visible`.
  Progress(std::string label, u64 total, bool visible);
  /// Of a part of `whole`, which counts what this one counts and outlives it; silent itself.
  explicit Progress(Progress* whole) : whole_(whole) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `bytes` more are done. Safe from any thread, and cheap.
  void advance(u64 bytes);
  /// The same at a time that the caller knows.
  void advance(u64 bytes, std::chrono::steady_clock::time_point now);
  /// `bytes` more are to come than was known.
  void expect(u64 bytes);
  /// Starts over with another label and total (the next phase of the same run).
  void restart(std::string label, u64 total);
  /// Erases the bar; what is printed next stands at the beginning of a clean line. The destructor does it too.
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

/// The bar's line as it would be drawn, at most `width` columns: for draw() and for tests.
std::string progress_line(std::string_view label, u64 done, u64 total, double seconds, std::size_t width);

}  // namespace modelutils
