#include "io/random_access_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/types.h"
#include "io/remote_address.h"
#include "io/remote_source.h"
#include "io/standard_output.h"

namespace modelutils {

int open_when_released(int directory, const char* path, int flags) {
  constexpr int pause_ms = 10, most_pauses = 6000;
  for (int pause = 0;; ++pause) {
    const int descriptor = ::openat(directory, path, flags);
    if (descriptor >= 0 || errno != EWOULDBLOCK || pause == most_pauses) return descriptor;
    ::poll(nullptr, 0, pause_ms);
    errno = EWOULDBLOCK;
  }
}

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

namespace {

struct OpenFile {
  int descriptor;
  struct stat status;
};

Result<OpenFile> examine(const std::string& path, int descriptor) {
  OpenFile file{descriptor, {}};
  if (::fstat(descriptor, &file.status) != 0) {
    const int reason = errno;
    ::close(descriptor);
    return input_error("io-open", "cannot be examined: " + errno_text(reason), {}, {}, path);
  }
  if (Status safe = refuse_standard_output(file.status, path); !safe) {
    ::close(descriptor);
    return tl::make_unexpected(std::move(safe.error()));
  }
  note_read_file(file.status);
  return file;
}

Result<int> open_descriptor(const std::string& path, int extra_flags) {
  const int descriptor = open_when_released(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | extra_flags);
  if (descriptor < 0) return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
  return descriptor;
}

// A file on a disk.
class LocalFile : public RandomAccessFile {
 public:
  LocalFile(std::string path, int descriptor, u64 size)
      : RandomAccessFile(std::move(path), size), descriptor_(descriptor) {}
  ~LocalFile() override {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  int descriptor() const override { return descriptor_; }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= file_size() || out.empty()) return std::size_t{0};
    const std::size_t want = static_cast<std::size_t>(std::min<u64>(out.size(), file_size() - offset));
    while (true) {
      const ssize_t got = ::pread(descriptor_, out.data(), want, static_cast<off_t>(offset));
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) {
        return input_error("io-shrunk", "the file became shorter while it was being read", {}, offset, name());
      }
      if (errno != EINTR) return input_error("io-read", "cannot be read: " + errno_text(errno), {}, offset, name());
    }
  }

 private:
  int descriptor_;
};

}  // namespace

Result<std::shared_ptr<RandomAccessFile>> RandomAccessFile::open(const std::string& path) {
  if (is_address(path)) return open_remote_file(path);
  // O_NONBLOCK: opening a FIFO without a writer must not block.
  MU_ASSIGN(const int descriptor, open_descriptor(path, O_NONBLOCK | O_NOCTTY));
  return adopt(path, descriptor);
}

Result<std::shared_ptr<RandomAccessFile>> RandomAccessFile::adopt(const std::string& path, int descriptor) {
  MU_ASSIGN(const OpenFile file, examine(path, descriptor));
  if (S_ISDIR(file.status.st_mode)) {
    ::close(descriptor);
    return input_error("io-directory", "is a directory, not a file", {}, {}, path);
  }
  if (!S_ISREG(file.status.st_mode)) {
    ::close(descriptor);
    return input_error("io-not-regular", "is not a regular file", {}, {}, path);
  }
  log_info("opened {}, {} bytes", path, file.status.st_size);
  return std::make_shared<LocalFile>(path, file.descriptor, static_cast<u64>(file.status.st_size));
}

Result<std::size_t> MemoryFile::read_some(u64 offset, MutableBytes out) const {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t size = std::min<std::size_t>(out.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::memcpy(out.data(), bytes_.data() + offset, size);
  return size;
}

Result<std::shared_ptr<ByteSource>> open_source(const std::string& path) {
  if (is_address(path)) return open_remote(path);
  OpenFile file{};
  if (path == "-") {
    file.descriptor = STDIN_FILENO;
    if (::fstat(STDIN_FILENO, &file.status) != 0) {
      return input_error("io-open", "standard input is closed", {}, {}, "standard input");
    }
    MU_TRY(refuse_standard_output(file.status, "standard input"));
    note_read_file(file.status);
  } else {
    MU_ASSIGN(const int descriptor, open_descriptor(path, O_NOCTTY));
    MU_ASSIGN(file, examine(path, descriptor));
  }
  const std::string name = path == "-" ? "standard input" : path;
  if (S_ISDIR(file.status.st_mode)) {
    if (path != "-") ::close(file.descriptor);
    return input_error("io-directory", "is a directory, not a file", {}, {}, name);
  }
  const off_t position = S_ISREG(file.status.st_mode) ? ::lseek(file.descriptor, 0, SEEK_CUR) : -1;
  if (position == 0) {
    log_info("opened {}, {} bytes", name, file.status.st_size);
    return std::make_shared<LocalFile>(name, file.descriptor, static_cast<u64>(file.status.st_size));
  }
  log_info("opened {}, which is read from start to end", name);
  return std::make_shared<StreamSource>(name, file.descriptor);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  return map(*file);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(const RandomAccessFile& file) {
  const std::string& path = file.name();
  struct stat now {};
  if (::fstat(file.descriptor(), &now) != 0) {
    return input_error("io-map", "cannot be mapped into memory: " + errno_text(errno), {}, {}, path);
  }
  if (static_cast<u64>(now.st_size) < file.file_size()) {
    return input_error("io-shrunk", "the file has become shorter since it was opened", {},
                       static_cast<u64>(now.st_size), path);
  }
  const auto size = checked_cast<std::size_t>(file.file_size());
  if (!size) return input_error("io-map", "is too large to map into memory", {}, {}, path);
  void* data = nullptr;
  if (*size > 0) {
    data = ::mmap(nullptr, *size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (data == MAP_FAILED)
      return input_error("io-map", "cannot be mapped into memory: " + errno_text(errno), {}, {}, path);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<const std::byte*>(data), *size));
}

#ifdef F_OFD_SETLK

namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

EditLock lock_for_edit(int descriptor) {
  struct flock lock = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return EditLock::taken;
  return errno == EAGAIN || errno == EACCES ? EditLock::held : EditLock::unknown;
}

bool is_edit_locked(int descriptor) {
  struct flock lock = whole_file();
  return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

#else

EditLock lock_for_edit(int) {
  return EditLock::unknown;
}

bool is_edit_locked(int) {
  return false;
}

#endif

}  // namespace modelutils
