#include "io/fetch_helper.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/log.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/os/programs.h"
#include "base/path.h"
#include "io/remote_settings.h"

namespace modelutils {

namespace {

constexpr std::size_t max_line = 4096;
constexpr std::size_t max_helpers = 8;
constexpr int bytes_under_way = 256 << 10;
constexpr std::size_t bytes_of_step = 256 << 10;

// The error codes that the helper may return.
constexpr std::array<std::string_view, 7> helper_codes = {"remote-answer",  "remote-changed", "remote-helper",
                                                          "remote-missing", "remote-network", "remote-redirect",
                                                          "remote-status"};

struct FirstFailure {
  std::mutex mutex;
  std::optional<Error> error;
};
FirstFailure& first_failure() {
  static FirstFailure failure;
  return failure;
}

tl::unexpected<Error> noted(Error error, const std::string& file) {
  error = in_file(std::move(error), file);
  if (error.code != "remote-missing") {
    FirstFailure& first = first_failure();
    const std::lock_guard lock(first.mutex);
    if (!first.error) first.error = error;
  }
  return tl::make_unexpected(std::move(error));
}

tl::unexpected<Error> helper_error(std::string why) {
  return input_error("remote-helper", "the helper that reads addresses " + std::move(why));
}

tl::unexpected<Error> broken() {
  return helper_error("ended or gave an invalid answer");
}

constexpr std::string_view fetch_program = "libexec/modelutils/fetch";

// Returns the helper of the installation that our library belongs to (PREFIX/lib or PREFIX/lib/MACHINE), for use inside
// another program such as Python.
std::optional<std::string> helper_of_library() {
  std::string folder = parent_of(os::own_library());
  if (folder.empty()) return std::nullopt;
  for (int level = 0; level < 2; ++level) {
    folder = parent_of(folder);
    if (std::string path = path_in(folder, fetch_program); os::status(path)) return path;
  }
  return std::nullopt;
}

std::string helper_path() {
  if (!os::has_more_rights()) {
    if (const auto path = environment_variable("MODELUTILS_FETCH")) return *path;
  }
  const std::string beside = path_in(parent_of(parent_of(os::own_program())), fetch_program);
  if (os::status(beside)) return beside;
  if (const auto path = helper_of_library()) return *path;
  return remote_settings().helper.empty() ? beside : remote_settings().helper;
}

// Removes and returns the next word of a line from the helper; empty at the end.
std::string_view take_word(std::string_view& line) {
  const auto space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  return word;
}

std::string text_of(std::string_view word) {
  return word == "-" ? std::string() : std::string(word);
}

class Helper {
 public:
  Helper() = default;
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  Status start() {
    const std::string program = helper_path();
    // It may send a part or two ahead, so that it keeps receiving while we read.
    const int error = program_.start({.program = program, .words = {"fetch"}, .buffer = bytes_under_way});
    if (error != 0) {
      return helper_error(fmt::format("({}) cannot be started: {}", program, errno_text(error)));
    }
    return send(fmt::format("{} {}\n", longest_silence(), remote_settings().allow_private_redirect ? 1 : 0));
  }

  bool is_busy() const { return users_ > 0; }
  void reserve() { ++users_; }
  void release() { --users_; }

  Status send_command(std::string_view command) {
    const std::lock_guard lock(mutex_);
    return send(command);
  }

  // Sends a command and appends the answer's bytes, at most `most`, to `out`.
  Result<FetchedPiece> ask(std::string_view command, u64 most, const std::string& file, std::vector<std::byte>& out) {
    ++users_;
    const std::lock_guard lock(mutex_);
    const std::size_t before = out.size();
    auto piece = answer(command, most, file, out);
    if (!piece) out.resize(before);
    --users_;
    return piece;
  }

 private:
  Result<FetchedPiece> answer(std::string_view command, u64 most, const std::string& file,
                              std::vector<std::byte>& out) {
    MU_TRY(send(command));
    MU_ASSIGN(std::string text, line());
    std::string_view rest = text;
    std::string_view kind = take_word(rest);
    while (kind == "note" || kind == "part") {
      if (kind == "part") {
        MU_ASSIGN(const u64 taken, take_bytes(rest, most, out));
        most -= taken;
      } else if (remote_settings().on_note != nullptr) {
        remote_settings().on_note(file, std::string(rest));
      }
      MU_ASSIGN(text, line());
      rest = text;
      kind = take_word(rest);
    }
    if (kind == "failed") {
      const auto known = std::ranges::find(helper_codes, take_word(rest));
      if (known == helper_codes.end()) return broken();
      return input_error(std::string(*known), std::string(rest));
    }
    if (kind != "ok") return broken();
    const std::string_view bytes = take_word(rest);
    FetchedPiece piece;
    piece.total = whole_number(take_word(rest));
    piece.commit = text_of(take_word(rest));
    piece.version = text_of(take_word(rest));
    MU_TRY(take_bytes(bytes, most, out));
    return piece;
  }

  // Appends `number` bytes, at most `most`, to `out`.
  Result<u64> take_bytes(std::string_view number, u64 most, std::vector<std::byte>& out) {
    const auto bytes = whole_number(number);
    if (!bytes || *bytes > most) return broken();
    // Grow in small steps: the zeros that resize() writes are then overwritten while still in the cache.
    for (u64 left = *bytes; left > 0;) {
      const auto step = static_cast<std::size_t>(std::min<u64>(left, bytes_of_step));
      out.resize(out.size() + step);
      MU_TRY(receive(out.data() + out.size() - step, step));
      left -= step;
    }
    return *bytes;
  }

  Status send(std::string_view text) { return program_.send(text) ? Status{} : broken(); }

  Status receive(void* out, std::size_t size) { return program_.receive(out, size) ? Status{} : broken(); }

  Result<std::string> line() {
    std::string text;
    while (text.size() < max_line) {
      char c = 0;
      MU_TRY(receive(&c, 1));
      if (c == '\n') return text;
      text += c;
    }
    return broken();
  }

  std::mutex mutex_;
  std::atomic<int> users_ = 0;
  os::Partner program_;
};

// The helpers of this process. A file keeps its helper, which knows the file's redirect. pick() reserves the helper
// until the file's first answer, so that files opened together get different ones.
class Helpers {
 public:
  Result<std::shared_ptr<Helper>> pick() {
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(all_, [](const auto& helper) { return !helper->is_busy(); });
    if (found == all_.end() && all_.size() == max_helpers) {
      found = all_.begin() + static_cast<std::ptrdiff_t>(next_++ % max_helpers);
    } else if (found == all_.end()) {
      const auto helper = std::make_shared<Helper>();
      MU_TRY(helper->start());
      found = all_.insert(all_.end(), helper);
    }
    (*found)->reserve();
    return *found;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Helper>> all_;
  std::size_t next_ = 0;
};

class FileOfHelper : public FetchedFile {
 public:
  FileOfHelper(std::shared_ptr<Helper> helper, u64 number, std::string name)
      : helper_(std::move(helper)), number_(number), name_(std::move(name)) {}
  ~FileOfHelper() override {
    release();
    (void)helper_->send_command(fmt::format("close {}\n", number_));
  }

  Result<FetchedPiece> read(u64 offset, u64 size, std::vector<std::byte>& out) override {
    const std::size_t before = out.size();
    auto piece = helper_->ask(fmt::format("read {} {} {}\n", number_, offset, size), size, name_, out);
    release();
    if (!piece) {
      if (!piece.error().offset && offset > 0) piece.error().offset = offset;
      return noted(std::move(piece.error()), name_);
    }
    log_debug("{}: {} bytes from {}", name_, out.size() - before, offset);
    return piece;
  }

  Result<FetchedPiece> read_whole(u64 most, std::vector<std::byte>& out) override {
    auto piece = helper_->ask(fmt::format("whole {} {}\n", number_, most), most, name_, out);
    release();
    if (!piece) return noted(std::move(piece.error()), name_);
    log_debug("{}: {} bytes", name_, out.size());
    return piece;
  }

 private:
  void release() {
    if (!is_released_.exchange(true)) helper_->release();
  }

  std::shared_ptr<Helper> helper_;
  u64 number_;
  std::string name_;
  std::atomic<bool> is_released_ = false;
};

}  // namespace

Result<std::unique_ptr<FetchedFile>> FetchedFile::open(const RemoteAddress& address, std::string name) {
  static Helpers helpers;
  static std::atomic<u64> next = 0;
  auto helper = helpers.pick();
  if (!helper) return noted(std::move(helper.error()), name);
  const u64 number = next++;
  if (Status told = (*helper)->send_command(fmt::format("open {}\n{}\n{}\n", number, address.url, address.token));
      !told) {
    (*helper)->release();
    return noted(std::move(told.error()), name);
  }
  return std::make_unique<FileOfHelper>(std::move(*helper), number, std::move(name));
}

std::optional<Error> take_remote_failure() {
  FirstFailure& first = first_failure();
  const std::lock_guard lock(first.mutex);
  return std::exchange(first.error, std::nullopt);
}

}  // namespace modelutils
