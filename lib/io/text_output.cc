#include "io/text_output.h"

#include <unistd.h>

#include <cerrno>

#include "io/standard_output.h"

namespace modelutils {

namespace {
constexpr std::size_t flush_size = 64 * 1024;
}

TextOutput& TextOutput::operator<<(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= flush_size) (void)flush();
  return *this;
}

Status TextOutput::flush() {
  if (memory_ != nullptr) {
    memory_->append(buffer_);
    buffer_.clear();
    return status_;
  }
  if (descriptor_ == STDOUT_FILENO && status_) status_ = standard_output_is_no_input();
  std::string_view left = buffer_;
  while (!left.empty() && status_ && !closed_) {
    const ssize_t done = ::write(descriptor_, left.data(), left.size());
    if (done >= 0) {
      left.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      status_ = output_error("out-write", "cannot be written: " + errno_text(errno), "standard output");
    }
  }
  buffer_.clear();
  return status_;
}

}  // namespace modelutils
