#include "pytorch/read_checksums.h"

#include <iterator>

#include "pytorch/crc32.h"

namespace modelutils::pytorch {

void ReadChecksums::add(u64 offset, Bytes bytes) {
  if (bytes.empty()) return;
  const u64 end = offset + bytes.size();
  const u32 crc = crc32_of(0, bytes);
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && next->first < end) return;
  auto range = ranges_.end();
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > offset) return;
    if (before->second.end == offset) {
      before->second = {end, crc32_joined(before->second.crc32, crc, bytes.size())};
      range = before;
    }
  }
  if (range == ranges_.end()) range = ranges_.emplace_hint(next, offset, Range{end, crc});
  if (next == ranges_.end() || next->first != end) return;
  const u64 next_bytes = next->second.end - end;
  range->second = {next->second.end, crc32_joined(range->second.crc32, next->second.crc32, next_bytes)};
  ranges_.erase(next);
}

}  // namespace modelutils::pytorch
