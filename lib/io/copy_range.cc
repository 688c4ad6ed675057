#include "io/copy_range.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/os/files.h"

namespace modelutils {

Result<bool> same_bytes(const ByteSource& a, u64 offset_a, const ByteSource& b, u64 offset_b, u64 size) {
  constexpr std::size_t chunk = 256 * 1024;
  std::vector<std::byte> left(chunk), right(chunk);
  for (u64 done = 0; done < size; done += chunk) {
    const std::size_t part = static_cast<std::size_t>(std::min<u64>(chunk, size - done));
    MU_TRY(a.read_exact(offset_a + done, MutableBytes(left).first(part)));
    MU_TRY(b.read_exact(offset_b + done, MutableBytes(right).first(part)));
    if (std::memcmp(left.data(), right.data(), part) != 0) return false;
  }
  return true;
}

bool may_share_blocks(const RandomAccessFile& source, const std::string& folder) {
  const std::string place = folder.empty() ? "." : folder;
  const auto from = os::status(source.descriptor());
  const auto to = os::status(place);
  if (!from || !to || from->device != to->device) return false;
  return os::has_shared_blocks(place);
}

namespace {

constexpr std::size_t buffer_size = 256 * 1024;

// Copies inside the kernel as far as possible; whatever remains, the caller copies. Errors are left to it as well.
void copy_in_kernel(const RandomAccessFile& source, u64& offset, u64& size, int to, u64& position) {
  while (size > 0) {
    const i64 done = os::copy_range(source.descriptor(), offset, to, position, size);
    if (done <= 0) return;  // unsupported for these files, or an error
    offset += static_cast<u64>(done);
    position += static_cast<u64>(done);
    size -= static_cast<u64>(done);
  }
}

}  // namespace

Status copy_range_to(const RandomAccessFile& source, u64 offset, u64 size, const AtomicOutput& output, u64 to) {
  copy_in_kernel(source, offset, size, output.descriptor(), to);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size > 0 ? buffer_size : 1);
  while (size > 0) {
    const MutableBytes piece(buffer.get(), static_cast<std::size_t>(std::min<u64>(size, buffer_size)));
    MU_TRY(source.read_exact(offset, piece));
    MU_TRY(output.write_at(to, piece));
    offset += piece.size();
    to += piece.size();
    size -= piece.size();
  }
  return {};
}

Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output) {
  if (output.is_seekable()) {
    u64 position = output.appended();
    copy_in_kernel(source, offset, size, output.descriptor(), position);
    output.seek_append(position);
  }
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

namespace {
constexpr u64 step_bytes = u64{8} << 20;
constexpr u64 window_bytes = u64{32} << 20;  // written recently and probably still in progress: not waited for
constexpr u64 page_bytes = 4096;
}  // namespace

Status WriteBack::reached(u64 end) {
  u64 start = 0;
  u64 drop = 0;
  u64 drop_end = 0;
  {
    const std::lock_guard lock(mutex_);
    if (end < started_ + step_bytes) return {};
    start = std::exchange(started_, end);
    drop_end = start > window_bytes ? (start - window_bytes) / page_bytes * page_bytes : 0;
    drop = std::exchange(let_go_, std::max(let_go_, drop_end));
  }
  output_.start_write_back(start, end - start);
  if (drop < drop_end) MU_TRY(output_.let_go(drop, drop_end - drop));
  return {};
}

}  // namespace modelutils
