// The only code that turns untrusted bytes into numbers: bounds-checked, with a sticky first error.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Loads a little-endian (or, with `swap`, big-endian) number from unaligned memory.
template <typename T>
[[nodiscard]] inline T load(const void* from, bool swap = false) {
  static_assert(std::endian::native == std::endian::little, "the library is for little-endian machines");
  if constexpr (sizeof(T) == 1) {
    T value;
    std::memcpy(&value, from, 1);
    return value;
  } else {
    using Word = std::conditional_t<sizeof(T) == 2, u16, std::conditional_t<sizeof(T) == 4, u32, u64>>;
    Word word;
    std::memcpy(&word, from, sizeof(T));
    if (swap) {
      if constexpr (sizeof(T) == 2) word = __builtin_bswap16(word);
      if constexpr (sizeof(T) == 4) word = __builtin_bswap32(word);
      if constexpr (sizeof(T) == 8) word = __builtin_bswap64(word);
    }
    return std::bit_cast<T>(word);
  }
}

/// Reads numbers and strings one after another from a ByteSource through a window, or straight from memory.
///
/// After the first failure every read returns zero or an empty view and does nothing; ok() and the error say what
/// happened. So a parser may read a whole record and check once, as long as it checks before it loops, allocates or
/// multiplies by a number it has read.
class ByteReader {
 public:
  /// Reads `source` from `offset` on, `window` bytes at a time. The source must outlive the reader.
  explicit ByteReader(const ByteSource& source, u64 offset = 0, std::size_t window = 256 * 1024);
  /// Reads memory, no copy. Offsets count from the first byte plus `base`.
  explicit ByteReader(Bytes memory, u64 base = 0);

  bool ok() const { return !failed_; }
  /// Why reading stopped: the bytes ended (`ended()`), or the source failed (`source_error()`).
  bool ended() const { return failed_ && !source_error_; }
  const std::optional<Error>& source_error() const { return source_error_; }

  /// Absolute offset of the next byte. After a failure: of the first byte of what could not be read.
  u64 offset() const { return window_offset_ + static_cast<u64>(cursor_ - begin_); }
  /// Bytes from here to the end; nothing if the source does not know its size.
  std::optional<u64> remaining() const;
  /// False only if `count` items of at least `item_size` bytes certainly do not fit into what is left. Never
  /// overflows. True for sources of unknown size.
  bool may_hold(u64 count, u64 item_size) const;

  void set_big_endian(bool big_endian) { swap_ = big_endian; }
  bool big_endian() const { return swap_; }

  template <typename T>
  T read() {
    if (static_cast<std::size_t>(end_ - cursor_) < sizeof(T)) [[unlikely]] {
      if (!refill(sizeof(T))) return T{};
    }
    const T value = load<T>(cursor_, swap_);
    cursor_ += sizeof(T);
    return value;
  }

  /// The next `size` bytes as a view that is valid until the next call. Needs the whole of it in the window, which
  /// grows if it must, but never by more than the bytes that are really there.
  std::string_view read_view(u64 size);
  /// The same, copied.
  std::string read_string(u64 size) { return std::string(read_view(size)); }
  /// Passes over `size` bytes; fails if they are not there.
  void skip(u64 size);
  /// Passes over `count` strings, each behind its u64 length, and gives how many were there. The tight loop that a
  /// vocabulary of 100,000 tokens needs. If one is cut off or claims more than is left, reading fails at its length.
  u64 skip_strings(u64 count);
  /// At most `most` bytes that are already in the window or arrive with one refill; empty at the end. Consumes them.
  std::string_view read_available(u64 most);

 private:
  bool refill(std::size_t needed);
  bool fail();
  template <bool swap>
  u64 skip_strings_in_window(u64 count);

  const ByteSource* source_ = nullptr;
  std::unique_ptr<std::byte[]> window_;
  std::size_t window_size_ = 0;
  const std::byte* begin_ = nullptr;
  const std::byte* cursor_ = nullptr;
  const std::byte* end_ = nullptr;
  u64 window_offset_ = 0;
  std::optional<u64> total_;  // absolute end, if known
  std::optional<Error> source_error_;
  bool failed_ = false;
  bool swap_ = false;
};

}  // namespace modelutils
