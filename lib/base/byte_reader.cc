#include "base/byte_reader.h"

#include <algorithm>

#include "base/types.h"

namespace modelutils {

Status ByteSource::read_exact(u64 offset, MutableBytes out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    MU_ASSIGN(const std::size_t got, read_some(offset + done, out.subspan(done)));
    if (got == 0) {
      return input_error("io-short", "the file ends here, but more bytes are needed", {}, offset + done, name());
    }
    done += got;
  }
  return {};
}

namespace {

// Limits the window to the bytes left in the source, so that small files need little memory.
std::size_t window_for(const ByteSource& source, u64 offset, std::size_t window) {
  constexpr std::size_t least = 64;
  const std::optional<u64> size = source.size();
  const u64 left = !size ? window : *size > offset ? *size - offset : 0;
  return std::max<std::size_t>(static_cast<std::size_t>(std::min<u64>(window, left)), least);
}

}  // namespace

ByteReader::ByteReader(const ByteSource& source, u64 offset, std::size_t window)
    : source_(&source),
      largest_window_(window_for(source, offset, window)),
      window_offset_(offset),
      total_(source.size()) {}

ByteReader::ByteReader(Bytes memory, u64 base)
    : begin_(memory.data()),
      cursor_(begin_),
      end_(begin_ + memory.size()),
      window_offset_(base),
      total_(base + memory.size()) {}

std::optional<u64> ByteReader::remaining() const {
  if (!total_) return std::nullopt;
  const u64 here = offset();
  return here >= *total_ ? 0 : *total_ - here;
}

bool ByteReader::may_hold(u64 count, u64 item_size) const {
  const std::optional<u64> left = remaining();
  if (!left || item_size == 0) return true;
  return count <= *left / item_size;
}

bool ByteReader::fail() {
  failed_ = true;
  window_offset_ = offset();
  begin_ = cursor_ = end_ = nullptr;
  return false;
}

// Makes at least `needed` bytes available at the cursor. Grows the window only while the source delivers bytes, so that
// a false length in a file cannot make us allocate.
bool ByteReader::refill(std::size_t needed) {
  if (failed_) return false;
  std::size_t have = static_cast<std::size_t>(end_ - cursor_);
  if (have >= needed) return true;
  if (source_ == nullptr) return fail();
  if (const std::optional<u64> left = remaining(); left && needed > *left) return fail();

  // Most headers and arrays are short, so the first windows are small. A larger window gets memory for the largest one
  // at once, because only pages that are written take memory.
  constexpr std::size_t first_window = 16 * 1024;
  const auto move_to_window = [&](std::size_t size) {
    const std::size_t room = window_size_ > first_window ? std::max(window_size_, largest_window_) : window_size_;
    std::unique_ptr<std::byte[]> larger;
    if (size > room) {
      larger =
          std::make_unique_for_overwrite<std::byte[]>(size > first_window ? std::max(size, largest_window_) : size);
    }
    std::byte* const base = larger ? larger.get() : window_.get();
    if (have > 0) std::memmove(base, cursor_, have);
    window_offset_ = offset();
    begin_ = cursor_ = base;
    end_ = base + have;
    window_size_ = std::max(window_size_, size);
    if (larger) window_ = std::move(larger);
  };
  move_to_window(std::min(std::max(window_size_ * 2, first_window), largest_window_));
  while (have < needed) {
    if (have == window_size_) move_to_window(std::min(needed, window_size_ * 2));
    auto got = source_->read_some(window_offset_ + have, {window_.get() + have, window_size_ - have});
    if (!got) {
      source_error_ = std::move(got.error());
      return fail();
    }
    if (*got == 0) return fail();
    have += *got;
    end_ = window_.get() + have;
  }
  return true;
}

std::string_view ByteReader::read_view(u64 size) {
  if (static_cast<u64>(end_ - cursor_) < size) {
    const auto needed = checked_cast<std::size_t>(size);
    if (!needed) {
      fail();
      return {};
    }
    if (!refill(*needed)) return {};
  }
  const std::string_view view(reinterpret_cast<const char*>(cursor_), static_cast<std::size_t>(size));
  cursor_ += size;
  return view;
}

void ByteReader::skip(u64 size) {
  const u64 have = static_cast<u64>(end_ - cursor_);
  if (size <= have) [[likely]] {
    cursor_ += size;
    return;
  }
  if (failed_) return;
  if (source_ == nullptr) {
    fail();
    return;
  }
  if (const std::optional<u64> left = remaining()) {
    if (size > *left) {
      fail();
      return;
    }
    window_offset_ = offset() + size;
    begin_ = cursor_ = end_ = window_.get();
    return;
  }
  u64 left = size;
  while (left > 0) {
    const std::string_view chunk = read_available(left);
    if (chunk.empty()) {
      fail();
      return;
    }
    left -= chunk.size();
  }
}

namespace {

// Skips strings up to the first one that begins at `stop` or later, or does not end before `end`. Returns the number
// skipped.
template <bool swap>
u64 skip_until(const std::byte*& cursor, const std::byte* stop, const std::byte* end) {
  const std::byte* at = cursor;
  u64 done = 0;
  while (at < stop) {
    const u64 have = static_cast<u64>(end - at);
    if (have < sizeof(u64)) break;
    const u64 size = load<u64>(at, swap);
    if (size > have - sizeof(u64)) break;
    at += sizeof(u64) + size;
    ++done;
  }
  cursor = at;
  return done;
}

// Returns the first of the next positions that looks like the length of a string of 1 to 255 bytes. Text rarely looks
// like one, because seven of a length's eight bytes are zero.
template <bool swap>
const std::byte* likely_string(const std::byte* from) {
  const std::byte* const end = from + 1024;
  while (from < end && load<u64>(from, swap) - 1 >= 255) ++from;
  return from;
}

// Skips the strings that end before `end`, and returns their number. A string's position is known only once the
// previous string's length has been loaded, and that latency dominates the time. So four walks are interleaved, each
// through a quarter of the bytes, starting where a string seems to begin. A walk's result is used only if the walk
// before it ends exactly at that start.
template <bool swap>
u64 skip_whole_strings(const std::byte*& cursor, const std::byte* end) {
  constexpr std::ptrdiff_t least_quarter = 4096;
  constexpr std::ptrdiff_t longest = 512;  // a longer string, or bytes that are not a string, end the four walks
  const std::ptrdiff_t quarter = (end - cursor) / 4;
  if (quarter < least_quarter) return skip_until<swap>(cursor, end, end);
  const std::byte* const begin_b = likely_string<swap>(cursor + quarter);
  const std::byte* const begin_c = likely_string<swap>(cursor + quarter * 2);
  const std::byte* const begin_d = likely_string<swap>(cursor + quarter * 3);
  const std::byte *a = cursor, *b = begin_b, *c = begin_c, *d = begin_d;
  u64 steps = 0;
  while (begin_b - a > longest && begin_c - b > longest && begin_d - c > longest && end - d > longest) {
    const u64 size_a = load<u64>(a, swap), size_b = load<u64>(b, swap);
    const u64 size_c = load<u64>(c, swap), size_d = load<u64>(d, swap);
    if ((size_a | size_b | size_c | size_d) >= longest - sizeof(u64)) break;
    a += sizeof(u64) + size_a;
    b += sizeof(u64) + size_b;
    c += sizeof(u64) + size_c;
    d += sizeof(u64) + size_d;
    ++steps;
  }
  cursor = a;
  u64 done = steps;
  const auto join = [&](const std::byte* begin, const std::byte* walked) {
    done += skip_until<swap>(cursor, begin, end);
    if (cursor != begin) return;
    cursor = walked;
    done += steps;
  };
  join(begin_b, b);
  join(begin_c, c);
  join(begin_d, d);
  return done + skip_until<swap>(cursor, end, end);
}

}  // namespace

// Skips strings in the window, at most `count`: those within the next 8 × count bytes, the size of `count` empty
// strings.
template <bool swap>
u64 ByteReader::skip_strings_in_window(u64 count) {
  const u64 have = static_cast<u64>(end_ - cursor_);
  return skip_whole_strings<swap>(cursor_, cursor_ + (count < have / sizeof(u64) ? count * sizeof(u64) : have));
}

ByteReader::PassedStrings ByteReader::pass_strings(u64 most) {
  if (most == 0) return {};
  if (static_cast<std::size_t>(end_ - cursor_) < sizeof(u64) && !refill(sizeof(u64))) return {};
  const u64 size = load<u64>(cursor_, swap_);
  if (const std::optional<u64> left = remaining(); left && size > *left - sizeof(u64)) {
    fail();
    return {};
  }
  if (size > static_cast<u64>(end_ - cursor_) - sizeof(u64)) {
    if (window_size_ < sizeof(u64) || size > window_size_ - sizeof(u64)) {
      const u64 at = offset();
      cursor_ += sizeof(u64);
      skip(size);
      if (!failed_) return {1, {}};
      window_offset_ = at;
      return {};
    }
    if (!refill(sizeof(u64) + static_cast<std::size_t>(size))) return {};
  }
  const std::byte* const begin = cursor_;
  u64 count = swap_ ? skip_strings_in_window<true>(most) : skip_strings_in_window<false>(most);
  if (count == 0) {
    cursor_ += sizeof(u64) + size;
    count = 1;
  }
  return {count, {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(cursor_ - begin)}};
}

u64 ByteReader::skip_strings(u64 count) {
  u64 done = 0;
  while (done < count) {
    const u64 passed = pass_strings(count - done).count;
    if (passed == 0) break;
    done += passed;
  }
  return done;
}

std::string_view ByteReader::read_available(u64 most) {
  if (most == 0) return {};
  if (cursor_ == end_ && !failed_) {
    if (const std::optional<u64> left = remaining(); left && *left == 0) return {};
    if (source_ == nullptr || !refill(1)) return {};
  }
  const u64 size = std::min<u64>(most, static_cast<u64>(end_ - cursor_));
  const std::string_view view(reinterpret_cast<const char*>(cursor_), static_cast<std::size_t>(size));
  cursor_ += size;
  return view;
}

}  // namespace modelutils
