#include "io/same_bytes.h"

#include <algorithm>
#include <cstring>
#include <vector>

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

}  // namespace modelutils
