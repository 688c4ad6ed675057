// Results on standard output: one buffer, few writes, and a reader that goes away is no error.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// Buffers text for a descriptor (default: standard output) and writes it in pieces of 64 KiB, or keeps it in memory.
class TextOutput {
 public:
  explicit TextOutput(int descriptor = 1) : descriptor_(descriptor) {}
  /// Appends to `memory`, which must outlive it, at flush().
  explicit TextOutput(std::string& memory) : memory_(&memory) {}
  ~TextOutput() { (void)flush(); }
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  TextOutput& operator<<(std::string_view text);
  /// Writes what is left. Error "out-write" (a full disk, a closed descriptor); a pipe whose reader went away is no
  /// error, see closed().
  Status flush();
  /// The reader of the pipe went away: what follows is dropped, work may stop.
  bool closed() const { return closed_; }

 private:
  int descriptor_ = -1;
  std::string* memory_ = nullptr;
  bool closed_ = false;
  std::string buffer_;
  Status status_;
};

}  // namespace modelutils
