#include "io/random_access_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/os/files.h"
#include "base/types.h"
#include "io/remote_address.h"
#include "io/remote_source.h"
#include "io/standard_output.h"

namespace modelutils {

namespace {
constexpr std::size_t read_size = 64 * 1024;
}

StreamSource::~StreamSource() {
  if (descriptor_ > os::standard_error) os::close(descriptor_);
}

std::optional<u64> StreamSource::size() const {
  const std::lock_guard lock(mutex_);
  return ended_ ? std::optional<u64>(forgotten_ + kept_.size()) : std::nullopt;
}

void StreamSource::go_forward(u64 kept) {
  const std::lock_guard lock(mutex_);
  is_forward_ = true;
  if (forgotten_ > 0) return;
  head_.assign(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(std::min<u64>(kept, kept_.size())));
}

Result<std::size_t> StreamSource::read_some(u64 offset, MutableBytes out) const {
  const std::lock_guard lock(mutex_);
  if (offset < head_.size()) {
    const std::size_t size = std::min(out.size(), head_.size() - static_cast<std::size_t>(offset));
    std::memcpy(out.data(), head_.data() + offset, size);
    return size;
  }
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
    const i64 got = os::read(descriptor_, kept_.data() + before, read_size);
    const int reason = errno;
    kept_.resize(before + static_cast<std::size_t>(std::max<i64>(got, 0)));
    if (got == 0) ended_ = true;
    if (got < 0) {
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
  int descriptor = -1;
  os::FileStatus status;
};

Result<OpenFile> examine(const std::string& path, int descriptor) {
  const auto status = os::status(descriptor);
  if (!status) {
    const int reason = errno;
    os::close(descriptor);
    return input_error("io-open", "cannot be examined: " + errno_text(reason), {}, {}, path);
  }
  if (Status safe = refuse_standard_output(*status, path); !safe) {
    os::close(descriptor);
    return tl::make_unexpected(std::move(safe.error()));
  }
  note_read_file(*status);
  return OpenFile{descriptor, *status};
}

Result<int> open_descriptor(const std::string& path, unsigned flags) {
  const int descriptor = os::open(path, flags);
  if (descriptor < 0) return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
  return descriptor;
}

// A file on a disk.
class LocalFile : public RandomAccessFile {
 public:
  LocalFile(std::string path, int descriptor, u64 size)
      : RandomAccessFile(std::move(path), size), descriptor_(descriptor) {}
  ~LocalFile() override {
    if (descriptor_ > os::standard_error) os::close(descriptor_);
  }
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  int descriptor() const override { return descriptor_; }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= file_size() || out.empty()) return std::size_t{0};
    const std::size_t want = static_cast<std::size_t>(std::min<u64>(out.size(), file_size() - offset));
    const i64 got = os::read_at(descriptor_, out.data(), want, offset);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0)
      return input_error("io-shrunk", "the file became shorter while it was being read", {}, offset, name());
    return input_error("io-read", "cannot be read: " + errno_text(errno), {}, offset, name());
  }

 private:
  int descriptor_;
};

}  // namespace

Result<std::shared_ptr<RandomAccessFile>> RandomAccessFile::open(const std::string& path) {
  if (is_address(path)) return open_remote_file(path);
  MU_ASSIGN(const int descriptor, open_descriptor(path, os::reading | os::no_wait));
  return adopt(path, descriptor);
}

Result<std::shared_ptr<RandomAccessFile>> RandomAccessFile::adopt(const std::string& path, int descriptor) {
  MU_ASSIGN(const OpenFile file, examine(path, descriptor));
  if (file.status.is_folder()) {
    os::close(descriptor);
    return input_error("io-directory", "is a directory, not a file", {}, {}, path);
  }
  if (!file.status.is_file()) {
    os::close(descriptor);
    return input_error("io-not-regular", "is not a regular file", {}, {}, path);
  }
  log_info("opened {}, {} bytes", path, file.status.size);
  return std::make_shared<LocalFile>(path, file.descriptor, file.status.size);
}

Result<std::size_t> MemoryFile::read_some(u64 offset, MutableBytes out) const {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t size = std::min<std::size_t>(out.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::memcpy(out.data(), bytes_.data() + offset, size);
  return size;
}

Result<std::shared_ptr<ByteSource>> open_source(const std::string& path) {
  if (is_address(path)) return open_remote(path);
  OpenFile file;
  if (path == "-") {
    const auto status = os::status(os::standard_input);
    if (!status) {
      return input_error("io-open", "standard input is closed", {}, {}, "standard input");
    }
    MU_TRY(refuse_standard_output(*status, "standard input"));
    note_read_file(*status);
    file = {os::standard_input, *status};
  } else {
    MU_ASSIGN(const int descriptor, open_descriptor(path, os::reading));
    MU_ASSIGN(file, examine(path, descriptor));
  }
  const std::string name = path == "-" ? "standard input" : path;
  if (file.status.is_folder()) {
    if (path != "-") os::close(file.descriptor);
    return input_error("io-directory", "is a directory, not a file", {}, {}, name);
  }
  if (file.status.is_file() && os::position(file.descriptor) == u64{0}) {
    log_info("opened {}, {} bytes", name, file.status.size);
    return std::make_shared<LocalFile>(name, file.descriptor, file.status.size);
  }
  log_info("opened {}, which is read from start to end", name);
  return std::make_shared<StreamSource>(name, file.descriptor);
}

Result<std::shared_ptr<ByteSource>> open_once(const std::string& path) {
  if (path != "-") {
    const auto status = is_address(path) ? std::nullopt : os::status(path);
    if (!status || status->is_file() || status->is_folder()) return nullptr;
  }
  return open_source(path);
}

MappedFile::~MappedFile() {
  if (size_ > 0) os::unmap(data_, size_);
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  return map(*file);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(const RandomAccessFile& file) {
  const std::string& path = file.name();
  const auto now = os::status(file.descriptor());
  if (!now) {
    return input_error("io-map", "cannot be mapped into memory: " + errno_text(errno), {}, {}, path);
  }
  if (now->size < file.file_size()) {
    return input_error("io-shrunk", "the file has become shorter since it was opened", {}, now->size, path);
  }
  const auto size = checked_cast<std::size_t>(file.file_size());
  if (!size) return input_error("io-map", "is too large to map into memory", {}, {}, path);
  const std::byte* data = *size > 0 ? os::map(file.descriptor(), *size) : nullptr;
  if (*size > 0 && data == nullptr) {
    return input_error("io-map", "cannot be mapped into memory: " + errno_text(errno), {}, {}, path);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(data, *size));
}

}  // namespace modelutils
