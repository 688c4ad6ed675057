// Text on standard output: buffered, in few writes. A closed pipe is not an error.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

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

}  // namespace modelutils
