// Standard output and the protection of inputs: buffered text on standard output, the progress bar on standard error,
// and the files that were read, which no output and no redirection of the shell may replace.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/os/files.h"
#include "base/types.h"

namespace modelutils {

/// Records the file behind standard output. Call once per process; the tools' main does, the library alone never. Later
/// inputs are compared with it.
void guard_standard_output();

/// For tools that write about one path before opening the next. If standard output is a file with content and there are
/// several paths or a directory, calls `open` for each path that can be read twice, so that all inputs are compared
/// before anything is written. Error: "out-is-input"; other errors of `open` are not reported.
Status compare_inputs(const std::vector<std::string>& paths, const std::function<void(const std::string&)>& open);

/// Returns "out-is-input" (kind output) if the opened input is the file behind standard output, and records that error.
/// `status` is the status of the opened file, `path` its path as the user gave it.
Status refuse_standard_output(const os::FileStatus& status, const std::string& path);

/// Call before the first write to standard output. Returns the error that an input caused, if any.
Status standard_output_is_no_input();

// Text on standard output: buffered, in few writes. A closed pipe is not an error.

/// Buffers text for a descriptor (default: standard output) and writes it in 64 KiB pieces, or appends it to a string.
class TextOutput {
 public:
  explicit TextOutput(int descriptor = 1) : descriptor_(descriptor) {}
  /// Appends to `memory` at flush(). `memory` must outlive the object.
  explicit TextOutput(std::string& memory) : memory_(&memory) {}
  ~TextOutput() { (void)flush(); }
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  TextOutput& operator<<(std::string_view text);
  /// Writes the remaining text. Error: "out-write" (a full disk, a closed descriptor). A pipe without a reader is not
  /// an error; see closed().
  Status flush();
  /// True if the reader has closed the pipe. Further text is dropped, so work may stop.
  bool closed() const { return closed_; }

 private:
  int descriptor_ = -1;
  std::string* memory_ = nullptr;
  bool closed_ = false;
  std::string buffer_;
  Status status_;
};

// The files that a run has read. No output may replace one of them, no matter which option named it.

/// Enables recording of every file opened for reading, by device and inode. Call once per process; the tools' main
/// does. The library alone never does, because a long-lived process may read any number of files.
void remember_read_files();

/// Records a file. Call it for every file opened for reading.
void note_read_file(const os::FileStatus& status);

/// True if this run has opened the file for reading. Several threads may call it at once.
bool was_read(const os::FileStatus& status);

// A progress bar on standard error: bytes done, rate, time left. Erased when done.

/// Counts bytes and, if visible, draws a bar at most ten times a second. A default-constructed one is silent and costs
/// one atomic addition per call, so library code can always take a `Progress&`.
class Progress {
 public:
  Progress() = default;
  /// `label` precedes the bar ("hashing"); `total` is the expected number of bytes. Draws only if `visible`.
  Progress(std::string label, u64 total, bool visible);
  /// Counts a part of the work of `whole`: all that is added here is added to `whole`, too. Draws nothing. `whole` must
  /// outlive it.
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
