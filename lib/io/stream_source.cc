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
  return ended_ ? std::optional<u64>(forgotten_ + kept_.size()) : std::nullopt;
}

void StreamSource::go_forward() {
  const std::lock_guard lock(mutex_);
  is_forward_ = true;
}

Result<std::size_t> StreamSource::read_some(u64 offset, MutableBytes out) const {
  const std::lock_guard lock(mutex_);
  const auto end = [&] { return forgotten_ + kept_.size(); };
  const auto forget_before = [&](u64 place) {
    const u64 count = std::min<u64>(place - forgotten_, kept_.size());
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
    forgotten_ += count;
  };
  if (offset < forgotten_) {
    return input_error("io-pipe",
                       "can be read only once, but some bytes are needed again; save the input to a file first", {},
                       offset, name_);
  }
  if (is_forward_) forget_before(offset);
  while (end() <= offset && !ended_) {
    if (!is_forward_ && kept_.size() >= limit_) {
      return input_error("io-limit", "the header is too long to be read from a pipe; save the input to a file first",
                         {}, kept_.size(), name_);
    }
    const std::size_t before = kept_.size();
    kept_.resize(before + read_size);
    const ssize_t got = ::read(descriptor_, kept_.data() + before, read_size);
    const int reason = errno;
    kept_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) ended_ = true;
    if (got < 0 && reason != EINTR) {
      return input_error("io-read", "cannot be read: " + errno_text(reason), {}, end(), name_);
    }
    if (is_forward_) forget_before(offset);
  }
  if (end() <= offset) return std::size_t{0};
  const auto from = static_cast<std::size_t>(offset - forgotten_);
  const std::size_t size = std::min<std::size_t>(out.size(), kept_.size() - from);
  std::memcpy(out.data(), kept_.data() + from, size);
  return size;
}

}  // namespace modelutils
