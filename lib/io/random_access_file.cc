#include "io/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked_math.h"
#include "base/log.h"
#include "io/leased_open.h"
#include "io/read_files.h"
#include "io/remote_address.h"
#include "io/remote_source.h"
#include "io/standard_output.h"
#include "io/stream_source.h"

namespace modelutils {

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

}  // namespace modelutils
