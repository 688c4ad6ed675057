// The only code that turns untrusted bytes into numbers, and the interface to bytes (a file, a mapping, a pipe, or a
// test's memory), which lib/io implements. Every read is bounds-checked; the first error sticks. The writer does the
// reverse for the formats that we write.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

// The interface to bytes: a file, a mapping, a pipe, or a test's memory. lib/io implements it.

class RandomAccessFile;  // io/random_access_file.h

/// Bytes addressed by absolute offset. Several threads may read at once unless an implementation says otherwise.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to `out.size()` bytes at `offset`. Returns the number read: fewer only at the end, 0 at or after it.
  /// Errors: "io-read" if the system call fails, "io-shrunk" if the file is now shorter than size() reported.
  virtual Result<std::size_t> read_some(u64 offset, MutableBytes out) const = 0;

  /// Total number of bytes, or nullopt for a pipe whose end is unknown.
  virtual std::optional<u64> size() const = 0;

  /// Returns the name to use in messages.
  virtual const std::string& name() const = 0;

  /// Returns the local or remote file that the bytes belong to; nullptr for pipes, memory and planned outputs.
  virtual const RandomAccessFile* as_file() const { return nullptr; }

  /// True if the bytes can only be read from start to end. A pipe keeps the bytes it has delivered, so that a header
  /// can be read twice, until go_forward() announces that each read starts at or after the end of the previous one. The
  /// first `kept` bytes, which must have been read, can still be read at any time.
  virtual bool is_pipe() const { return false; }
  virtual void go_forward(u64 /*kept*/ = 0) {}

  /// Announces that the header has been read and that only data follows. The header of a remote file may then be
  /// cached.
  virtual void note_header_end() const {}

  /// Fills `out` from `offset`. Fails with "io-short" if the bytes end early.
  Status read_exact(u64 offset, MutableBytes out) const;
};

/// Loads a little-endian (with `swap`, big-endian) number from unaligned memory.
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

/// Reads numbers and strings sequentially, either from a ByteSource through a buffer (the window) or from memory.
///
/// After the first failure every read returns zero or an empty view and has no other effect; ok() and source_error()
/// report the failure. A parser may therefore read a whole record and check once, but it must check before it loops,
/// allocates or multiplies by a number it has read.
class ByteReader {
 public:
  /// Reads `source` from `offset` on, at most `window` bytes at a time. The source must outlive the reader.
  explicit ByteReader(const ByteSource& source, u64 offset = 0, std::size_t window = 256 * 1024);
  /// Reads memory in place, without a copy. Offsets are relative to the first byte, plus `base`.
  explicit ByteReader(Bytes memory, u64 base = 0);

  bool ok() const { return !failed_; }
  /// True if reading failed because the bytes ended. False if it failed in the source; see source_error().
  bool ended() const { return failed_ && !source_error_; }
  const std::optional<Error>& source_error() const { return source_error_; }

  /// Absolute offset of the next byte. After a failure, the offset of the first byte of the item that could not be
  /// read.
  u64 offset() const { return window_offset_ + static_cast<u64>(cursor_ - begin_); }
  /// Returns the number of bytes from the current offset to the end, or nullopt if the source does not know its size.
  std::optional<u64> remaining() const;
  /// Returns false only if `count` items of at least `item_size` bytes each cannot fit into the remaining bytes. Cannot
  /// overflow. Returns true for sources of unknown size.
  bool may_hold(u64 count, u64 item_size) const;

  /// Sets the byte order of the following numbers.
  void set_big_endian(bool big_endian) { swap_ = big_endian; }
  bool big_endian() const { return swap_; }

  /// Reads one number. Returns 0 after a failure.
  template <typename T>
  T read() {
    if (static_cast<std::size_t>(end_ - cursor_) < sizeof(T)) [[unlikely]] {
      if (!refill(sizeof(T))) return T{};
    }
    const T value = load<T>(cursor_, swap_);
    cursor_ += sizeof(T);
    return value;
  }

  /// Returns the next `size` bytes as a view that is valid until the next call. All of them must fit into the window,
  /// which grows as needed, but only as far as the source really delivers bytes.
  std::string_view read_view(u64 size);
  /// Like read_view(), but returns a copy.
  std::string read_string(u64 size) { return std::string(read_view(size)); }
  /// Skips `size` bytes. Fails if fewer remain.
  void skip(u64 size);
  /// Skips up to `count` strings, each preceded by its length (u64), and returns the number skipped. A tight loop, for
  /// vocabularies of 100,000 tokens. Fails at the length of the first string that is truncated or longer than the rest.
  u64 skip_strings(u64 count);
  struct PassedStrings {
    u64 count = 0;           ///< 0 after a failure, or if none was wanted
    std::string_view bytes;  ///< the strings with their lengths; empty for one that is longer than the window
  };
  /// Skips strings like skip_strings(), but only as many as one window holds, so that the caller can look at their
  /// bytes, which are valid until the next call.
  PassedStrings pass_strings(u64 most);
  /// Consumes and returns at most `most` bytes: those already in the window, or those of one refill. Empty at the end.
  std::string_view read_available(u64 most);

 private:
  bool refill(std::size_t needed);
  bool fail();
  template <bool swap>
  u64 skip_strings_in_window(u64 count);

  const ByteSource* source_ = nullptr;
  std::unique_ptr<std::byte[]> window_;
  std::size_t window_size_ = 0;
  std::size_t largest_window_ = 0;  // unless a single view needs more
  const std::byte* begin_ = nullptr;
  const std::byte* cursor_ = nullptr;
  const std::byte* end_ = nullptr;
  u64 window_offset_ = 0;
  std::optional<u64> total_;  // absolute offset of the end, if known
  std::optional<Error> source_error_;
  bool failed_ = false;
  bool swap_ = false;
};

// Encodes numbers and strings as little-endian bytes, for the formats that we write.

/// Appends the bytes of the number `value`.
template <typename T>
void put(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

/// Appends the length (u64) and then the text: the encoding of a GGUF string.
inline void put_text(std::string& out, std::string_view text) {
  put<u64>(out, text.size());
  out.append(text);
}

}  // namespace modelutils
