#include "io/remote_source.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

#include <fmt/core.h>

#include "base/escape.h"
#include "base/log.h"
#include "io/remote_address.h"

extern char** environ;

namespace modelutils {

namespace {

constexpr std::size_t first_piece = 64 << 10;
constexpr u64 max_kept = u64{1} << 30;  // of the start of the file
constexpr u64 near_distance = 4 << 20;  // what lies further from what is kept is asked for by itself
constexpr std::size_t max_line = 4096;
// How the kept start grows: soon to what a tokenizer needs, then in steps that waste little.
constexpr std::array growth = {8.0, 5.0, 2.5, 1.28};

// The codes that the helper may answer with.
constexpr std::array<std::string_view, 5> helper_codes = {"remote-answer", "remote-changed", "remote-network",
                                                          "remote-redirect", "remote-status"};

// The address without its query, which may hold a signature or a key, and without a user and password.
std::string shown_address(const std::string& path) {
  std::string text = path.substr(0, path.find_first_of("?#"));
  const auto host = text.find("://") + 3;
  const auto at = text.substr(0, text.find('/', host)).rfind('@');
  if (!text.starts_with("hf://") && at != std::string::npos && at >= host) text.erase(host, at + 1 - host);
  return text;
}

std::string helper_path() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path().parent_path() / "libexec/modelutils/fetch").string();
}

u64 longest_silence() {
  constexpr u64 usual = 10;
  constexpr u64 most = 60;
  const char* text = std::getenv("HF_HUB_DOWNLOAD_TIMEOUT");
  u64 seconds = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), seconds).ec != std::errc()) return usual;
  return std::clamp<u64>(seconds, 1, most);
}

class Helper {
 public:
  ~Helper() {
    if (socket_ >= 0) ::close(socket_);
    if (process_ > 0) {
      while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  Status start(const RemoteAddress& address) {
    const std::string program = helper_path();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed(errno_text(errno));
    socket_ = ends[0];
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string name = "fetch";
    char* arguments[] = {name.data(), nullptr};
    const int error = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      process_ = 0;
      return failed(fmt::format("({}) cannot be started: {}", program, errno_text(error)));
    }
    return send(fmt::format("{}\n{}\n{}\n", address.url, address.token, longest_silence()));
  }

  struct Piece {
    std::vector<std::byte> bytes;
    std::optional<u64> total;
  };

  Result<Piece> read(u64 offset, u64 size) {
    MU_TRY(send(fmt::format("{} {}\n", offset, size)));
    MU_ASSIGN(std::string answer, line());
    while (answer.starts_with("again ")) {
      log_info("{}", escape(std::string_view(answer).substr(6)));
      MU_ASSIGN(answer, line());
    }
    const std::string_view text = answer;
    if (text.starts_with("failed ")) {
      const auto space = text.find(' ', 7);
      const std::string_view code = text.substr(7, space == std::string_view::npos ? space : space - 7);
      const auto known = std::ranges::find(helper_codes, code);
      if (space == std::string_view::npos || known == helper_codes.end()) return broken();
      return input_error(std::string(*known), escape(text.substr(space + 1)), {}, offset);
    }
    Piece piece;
    u64 bytes = 0;
    const char* end = text.data() + text.size();
    if (!text.starts_with("ok ")) return broken();
    const auto [after, error] = std::from_chars(text.data() + 3, end, bytes);
    if (error != std::errc() || after == end || bytes > size) return broken();
    u64 total = 0;
    if (std::from_chars(after + 1, end, total).ec == std::errc()) piece.total = total;
    piece.bytes.resize(bytes);
    MU_TRY(receive(piece.bytes.data(), piece.bytes.size()));
    return piece;
  }

 private:
  static tl::unexpected<Error> failed(std::string why) {
    return input_error("remote-helper", "the program that reads addresses " + std::move(why));
  }
  static tl::unexpected<Error> broken() { return failed("ended or answered what it should not"); }

  Status send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return broken();
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  Status receive(void* out, std::size_t size) {
    auto* to = static_cast<std::byte*>(out);
    while (size > 0) {
      const ssize_t got = ::recv(socket_, to, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return broken();
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return {};
  }

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

  int socket_ = -1;
  pid_t process_ = 0;
};

class RemoteSource : public ByteSource {
 public:
  explicit RemoteSource(std::string name) : name_(std::move(name)) {}

  Status start(const RemoteAddress& address) {
    MU_TRY(helper_.start(address));
    return extend(first_piece);
  }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    const std::lock_guard lock(mutex_);
    if (out.empty() || (total_ && offset >= *total_)) return std::size_t{0};
    if (offset >= kept_.size() && offset - kept_.size() <= near_distance && offset < max_kept) {
      const u64 next = static_cast<u64>(static_cast<double>(kept_.size()) * growth[std::min(step_, growth.size() - 1)]);
      ++step_;
      MU_TRY(extend(std::min(max_kept, std::max(next, offset + 1))));
    }
    if (offset < kept_.size()) {
      const std::size_t size = std::min<std::size_t>(out.size(), kept_.size() - static_cast<std::size_t>(offset));
      std::memcpy(out.data(), kept_.data() + offset, size);
      return size;
    }
    if (total_ && offset >= *total_) return std::size_t{0};
    MU_ASSIGN(const Helper::Piece piece, read(offset, out.size()));
    if (!piece.bytes.empty()) std::memcpy(out.data(), piece.bytes.data(), piece.bytes.size());
    return piece.bytes.size();
  }

  std::optional<u64> size() const override {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  const std::string& name() const override { return name_; }

 private:
  Result<Helper::Piece> read(u64 offset, u64 size) const {
    auto piece = helper_.read(offset, size);
    if (!piece) return tl::make_unexpected(in_file(std::move(piece.error()), name_));
    log_debug("{}: {} bytes from {}", escape(name_), piece->bytes.size(), offset);
    if (piece->total) total_ = piece->total;
    return piece;
  }

  // Keeps the first `end` bytes, or all where there are fewer.
  Status extend(u64 end) const {
    if (total_) end = std::min(end, *total_);
    if (end <= kept_.size() && total_) return {};
    MU_ASSIGN(const Helper::Piece piece, read(kept_.size(), end - kept_.size()));
    kept_.insert(kept_.end(), piece.bytes.begin(), piece.bytes.end());
    return {};
  }

  std::string name_;
  mutable std::mutex mutex_;
  mutable Helper helper_;
  mutable std::vector<std::byte> kept_;  // the start of the file
  mutable std::optional<u64> total_;
  mutable std::size_t step_ = 0;
};

}  // namespace

Result<std::shared_ptr<ByteSource>> open_remote(const std::string& path) {
  const std::string name = shown_address(path);
  auto address = resolve_address(path);
  if (!address) return tl::make_unexpected(in_file(std::move(address.error()), name));
  auto source = std::make_shared<RemoteSource>(name);
  if (Status started = source->start(*address); !started) {
    return tl::make_unexpected(in_file(std::move(started.error()), name));
  }
  log_info("opened {}", escape(name));
  return std::shared_ptr<ByteSource>(std::move(source));
}

}  // namespace modelutils
