#include "io/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/escape.h"
#include "base/numbers.h"
#include "base/terminal_text.h"
#include "base/utf8.h"

namespace modelutils {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto interval = std::chrono::milliseconds(100);
constexpr auto first_delay = std::chrono::milliseconds(300);  // short runs draw nothing

std::size_t columns_of_stderr() {
  struct winsize size {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_stderr(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string progress_line(std::string_view label, u64 done, u64 total, double seconds, std::size_t width) {
  const double share = total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0.0;
  std::string tail = fmt::format("{:3.0f}%  {} of {}", std::floor(share * 100), byte_text(done), byte_text(total));
  if (rate > 0) {
    tail += fmt::format("  {}/s", byte_text(static_cast<u64>(rate)));
    if (total > done) tail += fmt::format("  {} left", duration_text(static_cast<double>(total - done) / rate));
  }
  std::string line = escape(label) + " ";
  const std::size_t used = display_width(line) + display_width(tail) + 2;
  if (used + 10 <= width) {
    constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const std::size_t cells = std::min<std::size_t>(width - used, 40);
    const std::size_t filled = static_cast<std::size_t>(share * static_cast<double>(cells * 8));
    for (std::size_t i = 0; i < filled / 8; ++i) line += "█";
    line += eighths[filled % 8];
    line.append(cells - filled / 8 - (filled % 8 == 0 ? 0 : 1), ' ');
    line += "  ";
  }
  line += tail;
  return cut_text(line, width);
}

Progress::Progress(std::string label, u64 total, bool visible)
    : label_(std::move(label)), total_(total), visible_(visible), start_(Clock::now()) {
  next_ = (start_ + first_delay).time_since_epoch().count();
}

Progress::~Progress() {
  finish();
}

void Progress::advance(u64 bytes) {
  if (whole_ != nullptr) whole_->advance(bytes);
  if (visible_) return advance(bytes, Clock::now());
  done_.fetch_add(bytes, std::memory_order_relaxed);
}

void Progress::advance(u64 bytes, Clock::time_point now) {
  done_.fetch_add(bytes, std::memory_order_relaxed);
  if (!visible_) return;
  Clock::rep due = next_.load(std::memory_order_relaxed);
  if (now.time_since_epoch().count() < due) return;
  // Only one thread draws; the others continue.
  if (next_.compare_exchange_strong(due, (now + interval).time_since_epoch().count())) draw(now);
}

void Progress::draw(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // Leave one column free, because some terminals wrap after writing the last one.
  write_stderr("\r" + progress_line(label_, done(), total_, seconds, columns_of_stderr() - 1) + "\033[K");
  drawn_ = true;
}

void Progress::expect(u64 bytes) {
  const std::lock_guard lock(mutex_);
  total_ += bytes;
}

void Progress::restart(std::string label, u64 total) {
  finish();
  const std::lock_guard lock(mutex_);
  label_ = std::move(label);
  total_ = total;
  done_ = 0;
  start_ = Clock::now();
  next_ = (start_ + first_delay).time_since_epoch().count();
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (drawn_) write_stderr("\r\033[K");
  drawn_ = false;
}

}  // namespace modelutils
