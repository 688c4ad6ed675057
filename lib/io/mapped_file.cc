#include "io/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/checked_math.h"

namespace modelutils {

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

}  // namespace modelutils
