#include "io/standard_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/text.h"
#include "base/utf8.h"

namespace modelutils {

namespace {

std::optional<os::FileStatus> guarded;  // set before threads start
std::mutex mutex;
std::optional<Error> conflict;

}  // namespace

void guard_standard_output() {
  // Pipes and terminals may be both read and written.
  const auto there = os::status(os::standard_output);
  if (there && there->is_file()) guarded = there;
}

Status refuse_standard_output(const os::FileStatus& status, const std::string& path) {
  if (!guarded || !guarded->is_same_file(status)) return {};
  auto refused =
      output_error("out-is-input",
                   "is one of the inputs, but standard output is redirected to it; redirect it to another file", path);
  const std::lock_guard lock(mutex);
  if (!conflict) conflict = refused.value();
  return refused;
}

Status compare_inputs(const std::vector<std::string>& paths, const std::function<void(const std::string&)>& open) {
  // An empty file on standard output has no content to lose. A single path needs no check here, because the tool opens
  // it before it writes.
  if (!guarded || guarded->size == 0) return {};
  if (paths.size() < 2 && !os::is_folder(paths.front())) return {};
  for (const std::string& path : paths) {
    if (path == "-") {
      if (const auto input = os::status(os::standard_input)) {
        MU_TRY(refuse_standard_output(*input, "standard input"));
      }
    } else if (const auto there = os::status(path); there && (there->is_file() || there->is_folder())) {
      open(path);
      MU_TRY(standard_output_is_no_input());
    }
  }
  return {};
}

Status standard_output_is_no_input() {
  if (!guarded) return {};
  const std::lock_guard lock(mutex);
  if (conflict) return tl::make_unexpected(*conflict);
  return {};
}

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
  if (descriptor_ == os::standard_output && status_) status_ = standard_output_is_no_input();
  std::string_view left = buffer_;
  while (!left.empty() && status_ && !closed_) {
    const i64 done = os::write(descriptor_, left.data(), left.size());
    if (done >= 0) {
      left.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else {
      status_ = output_error("out-write", "cannot be written: " + errno_text(errno), "standard output");
    }
  }
  buffer_.clear();
  return status_;
}

namespace {

bool remembers = false;  // set before threads start
std::mutex read_files_mutex;

std::set<std::pair<u64, u64>>& read_files() {
  static std::set<std::pair<u64, u64>> files;
  return files;
}

}  // namespace

void remember_read_files() {
  remembers = true;
}

void note_read_file(const os::FileStatus& status) {
  if (!remembers || !status.is_file()) return;
  const std::lock_guard lock(read_files_mutex);
  read_files().emplace(status.device, status.inode);
}

bool was_read(const os::FileStatus& status) {
  if (!remembers) return false;
  const std::lock_guard lock(read_files_mutex);
  return read_files().contains({status.device, status.inode});
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto interval = std::chrono::milliseconds(100);
constexpr auto first_delay = std::chrono::milliseconds(300);  // short runs draw nothing

std::size_t columns_of_stderr() {
  return os::terminal_columns(os::standard_error).value_or(80);
}

void write_stderr(std::string_view text) {
  os::write(os::standard_error, text.data(), text.size());
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
