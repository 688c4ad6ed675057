#include "io/copy_range.h"

#include <algorithm>
#include <memory>

#include "base/system.h"

namespace modelutils {

Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output) {
  if (output.is_seekable()) {
    u64 position = output.appended();
    while (size > 0) {
      const i64 done = system::copy_range(source.descriptor(), offset, output.descriptor(), position, size);
      if (done <= 0) break;  // unsupported for these files, or an error that the fallback will report
      offset += static_cast<u64>(done);
      position += static_cast<u64>(done);
      size -= static_cast<u64>(done);
    }
    output.seek_append(position);
  }
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
