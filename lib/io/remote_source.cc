#include "io/remote_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "base/log.h"
#include "base/name_index.h"
#include "base/os/thread.h"
#include "base/text.h"
#include "io/fetch_helper.h"
#include "io/remote_address.h"
#include "io/remote_settings.h"

namespace modelutils {

namespace {

constexpr u64 first_piece = 64 << 10;
constexpr u64 first_of_text = 16 << 20;  // for config.json, an index or a tokenizer, which are read whole anyway
constexpr u64 max_first_header = 4 << 20;
constexpr u64 short_rest = 1 << 20;  // a remainder of this size is read at once
constexpr u64 max_header = 64 << 20;
constexpr u64 long_header = 512 << 10;
constexpr u64 room_of_long_header = 16 << 20;
constexpr u64 near_distance = 4 << 20;     // anything further from the header is not part of it
constexpr u64 max_ahead = 4 << 20;         // for sequential readers
constexpr u64 max_pieces = 16 << 20;       // bytes of a file's data kept for the next reader
constexpr std::size_t max_recent = 8;      // number of files that keep such bytes
constexpr u64 max_short_file = 256 << 20;  // read whole if the server does not report its length
constexpr u64 window_size = 256 << 10;     // of a ByteReader, which accepts shorter reads
constexpr std::size_t threads_ahead = 8;
// Growth of the kept header: quickly to the size of a typical tokenizer, then in small steps that waste little.
constexpr std::array growth = {8.0, 5.0, 2.5, 1.28};

class RemoteSource : public ByteSource {
 public:
  explicit RemoteSource(std::string name) : name_(std::move(name)) {}

  // The first request includes `header` bytes, or more.
  Status start(const std::string& path, u64 header) {
    MU_ASSIGN(const RemoteAddress address, resolve_address(path));
    MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(path));
    if (hub) repository_ = hub->repository;
    // Files that need a token are not cached, as other users of the cache may lack it.
    if (address.token.empty()) cache_.emplace(address.url, name_);
    if (cache_ && is_pinned(address.url)) {
      if (auto known = cache_->find({}, {})) {
        take(std::move(*known));
        return {};
      }
    }
    MU_TRY(check_online());
    MU_ASSIGN(file_, FetchedFile::open(address, name_));
    MU_TRY(is_text(name_) ? fetch(0, first_of_text, kept_) : extend(std::clamp(header, first_piece, max_first_header)));
    find_header();
    if (!cache_ || !total_ || version_.empty()) return {};
    if (auto known = cache_->find(version_, total_); known && known->bytes.size() > kept_.size()) {
      log_info("{}: the header is in the cache", name_);
      take(std::move(*known));
    }
    return {};
  }

  // Reads to the end of a file whose length the server does not report.
  Status find_size() {
    const std::lock_guard lock(mutex_);
    while (!total_) {
      if (kept_.size() >= max_short_file) {
        return input_error("remote-answer", "the server does not report the file's size", {}, {}, name_);
      }
      MU_TRY(extend(kept_.size() * 2));
    }
    return {};
  }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    const std::lock_guard lock(mutex_);
    if (out.empty() || (total_ && offset >= *total_)) return std::size_t{0};
    const bool is_near = header_end_ ? offset < *header_end_ : offset - kept_.size() <= near_distance;
    if (is_header_ && offset >= kept_.size() && is_near) {
      MU_TRY(extend_header(offset, out.size()));
      if (total_ && offset >= *total_) return std::size_t{0};
    }
    if (offset < kept_.size()) return copy(kept_, 0, offset, out);
    return read_data(offset, out);
  }

  std::optional<u64> size() const override {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  const std::string& name() const override { return name_; }

  void note_header_end() const override {
    const std::lock_guard lock(mutex_);
    is_header_ = false;
    if (!cache_ || !total_ || kept_.size() <= cached_) return;
    cache_->keep(version_, *total_, kept_);
    cached_ = kept_.size();
  }

 private:
  // A range of data that was read.
  struct Piece {
    u64 begin = 0;
    u64 asked = 0;  // number of bytes requested; the read-ahead after it doubles this
    std::vector<std::byte> bytes;

    u64 end() const { return begin + bytes.size(); }
  };

  static bool is_text(std::string_view name) {
    constexpr std::array<std::string_view, 4> endings = {".json", ".jinja", ".md", ".txt"};
    return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
  }

  static std::size_t copy(const std::vector<std::byte>& bytes, u64 begin, u64 offset, MutableBytes out) {
    const std::size_t size = std::min<std::size_t>(out.size(), bytes.size() - static_cast<std::size_t>(offset - begin));
    std::memcpy(out.data(), bytes.data() + (offset - begin), size);
    return size;
  }

  void take(CachedHeader header) {
    kept_ = std::move(header.bytes);
    cached_ = kept_.size();
    total_ = header.total;
    version_ = std::move(header.version);
    is_header_ = false;
  }

  // Requests a range and appends its bytes to `out`, fewer at the end of the file.
  Status fetch(u64 offset, u64 size, std::vector<std::byte>& out) const {
    if (file_ == nullptr) {  // so far everything came from the cache
      MU_TRY(check_online());
      MU_ASSIGN(const RemoteAddress address, resolve_address(name_));
      MU_ASSIGN(file_, FetchedFile::open(address, name_));
    }
    const std::size_t before = out.size();
    MU_ASSIGN(FetchedPiece piece, file_->read(offset, size, out));
    const bool is_other = (total_ && piece.total && *total_ != *piece.total) ||
                          (!version_.empty() && !piece.version.empty() && version_ != piece.version) ||
                          (!repository_.empty() && !pin_revision(repository_, piece.commit));
    if (is_other) {
      out.resize(before);
      return input_error("remote-changed", "the file changed while it was being read", {}, offset, name_);
    }
    if (piece.total) total_ = piece.total;
    if (version_.empty()) version_ = piece.version;
    return {};
  }

  // Extends the kept bytes to the first `end`, or to the whole file if it is shorter.
  Status extend(u64 end) const {
    if (total_) end = std::min(end, *total_);
    if (end <= kept_.size() && total_) return {};
    // Reserve generously for long headers, to avoid moving them. Only the filled pages take memory.
    if (end > long_header && end > kept_.capacity()) {
      const u64 room = std::max(2 * end, room_of_long_header);
      reserve_to_fill(kept_, std::min(total_.value_or(room), room));
    }
    return fetch(kept_.size(), end - kept_.size(), kept_);
  }

  // Detects a header from the first bytes: GGUF's, whose length is unknown, or that of a safetensors file.
  void find_header() {
    constexpr std::size_t size_bytes = 8;
    is_header_ = kept_.size() >= 4 && std::memcmp(kept_.data(), "GGUF", 4) == 0;
    if (is_header_ || kept_.size() <= size_bytes || kept_[size_bytes] != std::byte{'{'}) return;
    u64 size = 0;
    std::memcpy(&size, kept_.data(), size_bytes);
    is_header_ = size <= max_header - size_bytes;
    if (is_header_) header_end_ = size + size_bytes;
  }

  Status extend_header(u64 offset, u64 size) const {
    if (header_end_) return extend(*header_end_);
    if (kept_.size() >= max_header) {
      return input_error("remote-answer", "the header is longer than " + byte_text(max_header), {}, offset, name_);
    }
    const u64 next = static_cast<u64>(static_cast<double>(kept_.size()) * growth[std::min(step_, growth.size() - 1)]);
    ++step_;
    const u64 wanted = size > window_size ? offset + size : offset + 1;
    return extend(std::min(max_header, std::max(next, wanted)));
  }

  Result<std::size_t> read_data(u64 offset, MutableBytes out) const {
    const auto holds = [&](const Piece& piece) { return offset >= piece.begin && offset < piece.end(); };
    auto found = std::ranges::find_if(pieces_, holds);
    if (found == pieces_.end()) {
      // A read right after an earlier one: a sequential reader, which will probably continue.
      const auto before = std::ranges::find(pieces_, offset, &Piece::end);
      u64 size = std::max<u64>(out.size(), first_piece);
      if (before != pieces_.end() || offset == kept_.size()) {
        const u64 last = before == pieces_.end() ? 0 : before->asked;
        size = std::max<u64>(size, std::min(max_ahead, last * 2));
        if (total_ && *total_ - offset <= short_rest) size = *total_ - offset;
      }
      for (const Piece& other : pieces_) {
        if (other.begin > offset) size = std::min(size, other.begin - offset);
      }
      if (total_) size = std::min(size, *total_ - offset);
      std::vector<std::byte> bytes;
      MU_TRY(fetch(offset, size, bytes));
      if (bytes.empty()) return std::size_t{0};
      note_recent();
      bytes_of_pieces_ += bytes.size();
      pieces_.push_front({offset, size, std::move(bytes)});
      while (bytes_of_pieces_ > max_pieces && pieces_.size() > 1) {
        bytes_of_pieces_ -= pieces_.back().bytes.size();
        pieces_.pop_back();
      }
      found = pieces_.begin();
    } else {
      pieces_.splice(pieces_.begin(), pieces_, found);
    }
    return copy(found->bytes, found->begin, offset, out);
  }

  // Bounds memory for models of many files: only the most recently read files keep data.
  void note_recent() const {
    static std::mutex mutex;
    static std::list<const RemoteSource*> recent;  // sources live as long as the process
    const std::lock_guard lock(mutex);
    recent.remove(this);
    recent.push_front(this);
    if (recent.size() <= max_recent) return;
    const std::unique_lock other(recent.back()->mutex_, std::try_to_lock);
    if (!other) return;
    recent.back()->pieces_.clear();
    recent.back()->bytes_of_pieces_ = 0;
    recent.pop_back();
  }

  std::string name_;
  std::string repository_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<FetchedFile> file_;
  mutable std::optional<HeaderCache> cache_;
  mutable std::vector<std::byte> kept_;  // the start of the file
  mutable std::list<Piece> pieces_;      // most recently read first
  mutable u64 bytes_of_pieces_ = 0;
  mutable std::optional<u64> total_;
  mutable std::string version_;
  mutable std::size_t step_ = 0;
  mutable std::size_t cached_ = 0;  // number of leading bytes in the cache
  mutable bool is_header_ = false;  // the header's end has not been seen
  std::optional<u64> header_end_;   // if known
};

// A file at an address whose length is known.
class RemoteFile : public RandomAccessFile {
 public:
  RemoteFile(std::shared_ptr<const RemoteSource> source, u64 size)
      : RandomAccessFile(source->name(), size), source_(std::move(source)) {}

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= file_size()) return std::size_t{0};
    return source_->read_some(offset,
                              out.first(static_cast<std::size_t>(std::min<u64>(out.size(), file_size() - offset))));
  }
  void note_header_end() const override { source_->note_header_end(); }

 private:
  std::shared_ptr<const RemoteSource> source_;
};

// The sources opened so far, by path, for as long as the process lives.
struct OpenRemotes {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<RemoteSource>, std::less<>> sources;
  std::map<std::string, Error, std::less<>> failures;  // from open_ahead(), until the file is opened
};
OpenRemotes& open_remotes() {
  static OpenRemotes remotes;
  return remotes;
}

Result<std::shared_ptr<RemoteSource>> source_at(const std::string& path, u64 header = 0) {
  OpenRemotes& remotes = open_remotes();
  {
    const std::lock_guard lock(remotes.mutex);
    if (auto failed = remotes.failures.extract(path)) return tl::make_unexpected(std::move(failed.mapped()));
    if (const auto known = remotes.sources.find(path); known != remotes.sources.end()) return known->second;
  }
  const std::string name = shown_address(path);
  auto source = std::make_shared<RemoteSource>(name);
  if (Status started = source->start(path, header); !started) {
    return tl::make_unexpected(in_file(std::move(started.error()), name));
  }
  log_info("opened {}", name);
  const std::lock_guard lock(remotes.mutex);
  return remotes.sources.emplace(path, std::move(source)).first->second;
}

}  // namespace

Result<std::shared_ptr<RandomAccessFile>> open_remote_file(const std::string& path) {
  MU_ASSIGN(const std::shared_ptr<RemoteSource> source, source_at(path));
  MU_TRY(source->find_size());
  return std::make_shared<RemoteFile>(source, source->size().value_or(0));
}

Result<std::shared_ptr<ByteSource>> open_remote(const std::string& path) {
  MU_ASSIGN(std::shared_ptr<RemoteSource> source, source_at(path));
  if (!source->size()) return std::shared_ptr<ByteSource>(std::move(source));
  return open_remote_file(path);
}

void open_ahead(const std::vector<std::string>& paths, const std::vector<u64>& headers) {
  if (paths.size() < 2 && headers.empty()) return;
  std::mutex mutex;
  std::optional<Error> network;
  std::map<std::string, Error, std::less<>> failures;
  std::atomic<std::size_t> next = 0;
  const auto open_next = [&] {
    for (std::size_t at = next++; at < paths.size(); at = next++) {
      if (!is_address(paths[at])) continue;
      std::optional<Error> failed;
      {
        const std::lock_guard lock(mutex);
        failed = network;
      }
      if (!failed) {
        if (auto opened = source_at(paths[at], headers.empty() ? 0 : headers[at]); !opened) failed = opened.error();
      }
      if (!failed) continue;
      const std::lock_guard lock(mutex);
      if (!network && failed->code == "remote-network") network = failed;
      failures.insert_or_assign(paths[at], *failed);
    }
  };
  {
    std::vector<os::Thread> threads;
    for (std::size_t i = 0; i < std::min(threads_ahead, paths.size()); ++i) threads.emplace_back(open_next);
  }
  const std::lock_guard lock(open_remotes().mutex);
  open_remotes().failures.merge(failures);
}

}  // namespace modelutils
