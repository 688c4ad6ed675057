#include "io/copy_range.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace modelutils {

Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output) {
#ifdef __linux__
  if (output.is_seekable()) {
    u64 position = output.appended();
    while (size > 0) {
      off_t from = static_cast<off_t>(offset);
      off_t to = static_cast<off_t>(position);
      const ssize_t done = ::copy_file_range(source.descriptor(), &from, output.descriptor(), &to,
                                             static_cast<std::size_t>(std::min<u64>(size, u64{1} << 30)), 0);
      if (done <= 0) break;  // not possible between these two, or an error that the plain way will name
      offset += static_cast<u64>(done);
      position += static_cast<u64>(done);
      size -= static_cast<u64>(done);
    }
    output.seek_append(position);
  }
#endif
  constexpr std::size_t buffer_size = 256 * 1024;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size > 0 ? buffer_size : 1);
  while (size > 0) {
    const MutableBytes piece(buffer.get(), static_cast<std::size_t>(std::min<u64>(size, buffer_size)));
    MU_TRY(source.read_exact(offset, piece));
    MU_TRY(output.append(piece));
    offset += piece.size();
    size -= piece.size();
  }
  return {};
}

}  // namespace modelutils
