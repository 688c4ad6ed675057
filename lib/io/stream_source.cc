#include "io/stream_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace modelutils {

namespace {
constexpr std::size_t read_size = 64 * 1024;
}

StreamSource::~StreamSource() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

std::optional<u64> StreamSource::size() const {
  const std::lock_guard lock(mutex_);
  return ended_ ? std::optional<u64>(kept_.size()) : std::nullopt;
}

Result<std::size_t> StreamSource::read_some(u64 offset, MutableBytes out) const {
  const std::lock_guard lock(mutex_);
  while (kept_.size() <= offset && !ended_) {
    if (kept_.size() >= limit_) {
      return input_error("io-limit", "the header is longer than a pipe may deliver; save the input to a file first", {},
                         kept_.size(), name_);
    }
    const std::size_t before = kept_.size();
    kept_.resize(before + read_size);
    const ssize_t got = ::read(descriptor_, kept_.data() + before, read_size);
    const int reason = errno;
    kept_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) ended_ = true;
    if (got < 0 && reason != EINTR) {
      return input_error("io-read", "cannot be read: " + errno_text(reason), {}, before, name_);
    }
  }
  if (kept_.size() <= offset) return std::size_t{0};
  const std::size_t size = std::min<std::size_t>(out.size(), kept_.size() - static_cast<std::size_t>(offset));
  std::memcpy(out.data(), kept_.data() + offset, size);
  return size;
}

}  // namespace modelutils
