#include "formats/gguf/arrays.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/parse.h"

namespace modelutils::gguf {

u64 min_element_bytes(ValueType type) {
  if (type == ValueType::string) return 8;
  if (type == ValueType::array) return array_head_bytes;
  return value_size(type);
}

namespace {

constexpr u64 strings_per_mark = 4096;
constexpr std::string_view end_text_starts = "<[_";  // the first characters of end_texts()

bool is_end_text(std::string_view text) {
  return !text.empty() && end_text_starts.find(text.front()) != text.npos &&
         std::ranges::find(end_texts(), text) != end_texts().end();
}

// Returns false if none of the strings in `bytes`, with their lengths, is one of end_texts().
bool may_have_end_text(std::string_view bytes, bool big_endian) {
  for (const char start : end_text_starts) {
    for (std::size_t at = bytes.find(start, sizeof(u64)); at != bytes.npos; at = bytes.find(start, at + 1)) {
      const u64 size = load<u64>(bytes.data() + at - sizeof(u64), big_endian);
      if (size <= bytes.size() - at && is_end_text(bytes.substr(at, static_cast<std::size_t>(size)))) return true;
    }
  }
  return false;
}

class Scanner {
 public:
  Scanner(ByteReader& reader, const StringNotes& notes) : reader_(reader), notes_(notes) {}

  ArrayScan run(ValueType element_type, u64 count) {
    if (element_type == ValueType::array) {
      result_.nested = true;
      notes_ = {};
      pass_nested(count);
    } else {
      pass_flat(element_type, count);
    }
    return std::move(result_);
  }

 private:
  bool stop(std::string code, u64 offset, std::string message) {
    if (!reader_.source_error()) {
      result_.problem = Error{.code = std::move(code), .message = std::move(message), .offset = offset};
    }
    return false;
  }

  bool too_many(ValueType type, u64 count, u64 offset) {
    const std::optional<u64> left = reader_.remaining();
    const std::string array =
        fmt::format("an array of {} {} {}", count, short_type_name(type), verb(count, "value", "values"));
    return stop("gguf-length", offset,
                left ? fmt::format("{} does not fit in the remaining {}", array, counted(*left, "byte"))
                     : fmt::format("the data ends inside {}", array));
  }

  bool pass_flat(ValueType type, u64 count) {
    const u64 begin = reader_.offset();
    if (!reader_.may_hold(count, min_element_bytes(type))) return too_many(type, count, begin);
    switch (type) {
      case ValueType::string: return pass_strings(count);
      case ValueType::boolean: return pass_bools(count, begin);
      default: break;
    }
    // The size of a pipe is unknown. If the product overflows, it is larger than any pipe's content.
    const std::optional<u64> bytes = checked_mul(count, value_size(type));
    if (!bytes) return too_many(type, count, begin);
    reader_.skip(*bytes);
    return reader_.ok() || too_many(type, count, begin);
  }

  bool pass_strings(u64 count) {
    u64 done = 0;
    u64 marked = 0;
    while (done < count) {
      const u64 offset = reader_.offset();
      const ByteReader::PassedStrings passed = reader_.pass_strings(count - done);
      if (passed.count == 0) break;
      if (notes_.marks != nullptr && done - marked >= strings_per_mark) {
        notes_.marks->push_back({done, offset});
        marked = done;
      }
      if (notes_.end_tokens != nullptr) note_end_tokens(passed, done);
      done += passed.count;
    }
    return reader_.ok() || stop("gguf-length", reader_.offset(),
                                fmt::format("string {} of {} runs past the end of the file", done, count));
  }

  // Looks for the first characters of the texts and for their lengths before them, because that is much faster than
  // visiting every string. Visits them only if a text seems to be there.
  void note_end_tokens(const ByteReader::PassedStrings& passed, u64 first) {
    if (!may_have_end_text(passed.bytes, reader_.big_endian())) return;
    ByteReader strings(std::as_bytes(std::span(passed.bytes)));
    strings.set_big_endian(reader_.big_endian());
    for (u64 i = 0; i < passed.count; ++i) {
      if (is_end_text(strings.read_view(strings.read<u64>()))) notes_.end_tokens->push_back(first + i);
    }
  }

  bool pass_bools(u64 count, u64 begin) {
    for (u64 left = count; left > 0;) {
      const u64 offset = reader_.offset();
      const std::string_view bytes = reader_.read_available(left);
      if (bytes.empty()) return too_many(ValueType::boolean, count, begin);
      if (!result_.bad_bool) {
        const auto bad = std::find_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & ~1) != 0; });
        if (bad != bytes.end()) result_.bad_bool = offset + static_cast<u64>(bad - bytes.begin());
      }
      left -= bytes.size();
    }
    return true;
  }

  // Keeps the number of arrays still to be read at each depth on a stack, instead of recursing.
  bool pass_nested(u64 count) {
    std::array<u64, max_array_depth - 1> to_come{};  // the innermost arrays contain no arrays
    std::size_t depth = 1;
    if (!reader_.may_hold(count, array_head_bytes)) return too_many(ValueType::array, count, reader_.offset());
    to_come[0] = count;
    while (depth > 0) {
      if (to_come[depth - 1] == 0) {
        --depth;
        continue;
      }
      --to_come[depth - 1];
      const u64 offset = reader_.offset();
      const u32 type_id = reader_.read<u32>();
      const u64 inner_count = reader_.read<u64>();
      if (!reader_.ok()) return stop("gguf-truncated", offset, "the data ends inside an array of arrays");
      const std::optional<ValueType> type = value_type_from_id(type_id);
      if (!type) {
        return stop("gguf-value-type", offset,
                    fmt::format("a nested array has element type {}, only 0 to 12 are defined", type_id));
      }
      if (*type != ValueType::array) {
        if (!pass_flat(*type, inner_count)) return false;
        continue;
      }
      if (depth == to_come.size()) {
        return stop("gguf-nesting-depth", offset, fmt::format("arrays are nested more than {} deep", max_array_depth));
      }
      if (!reader_.may_hold(inner_count, array_head_bytes)) return too_many(*type, inner_count, offset);
      to_come[depth++] = inner_count;
    }
    return true;
  }

  ByteReader& reader_;
  StringNotes notes_;
  ArrayScan result_;
};

}  // namespace

ArrayScan scan_array(ByteReader& reader, ValueType element_type, u64 count, const StringNotes& notes) {
  return Scanner(reader, notes).run(element_type, count);
}

// Reads the elements of arrays on request.

namespace {

// parse() has already scanned the whole array, so an error here is a read error or a file that has changed.
tl::unexpected<Error> changed(const ByteReader& reader, const ByteSource& source) {
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return input_error("io-short", "an array read earlier is gone: the file changed while it was being read", {},
                     reader.offset(), source.name());
}

ByteReader reader_at(const ByteSource& source, const Document& document, u64 offset, u64 bytes) {
  constexpr u64 window = 256 * 1024;
  ByteReader reader(source, offset, static_cast<std::size_t>(std::min(window, bytes)));
  reader.set_big_endian(document.big_endian);
  return reader;
}

// Maximum count of numbers to reserve before reading; beyond it the vector grows as they are read.
constexpr u64 max_numbers_reserved = u64{1} << 20;

template <typename T, typename Number>
T saturate(Number value) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_floating_point_v<Number>) {
    if (value != value) return 0;
    if (value <= static_cast<Number>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    // The largest T is not representable as a float and rounds up to a power of two, the first value out of range.
    if (value >= static_cast<Number>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    if (std::in_range<T>(value)) return static_cast<T>(value);
    return std::cmp_less(value, 0) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
}

template <typename T, typename Number>
void read_run(ByteReader& reader, bool big_endian, u64 count, std::vector<T>& out) {
  constexpr u64 at_once = 4096;
  while (count > 0) {
    const u64 some = std::min(count, at_once);
    const std::string_view bytes = reader.read_view(some * sizeof(Number));
    if (!reader.ok()) return;
    const auto* at = reinterpret_cast<const std::byte*>(bytes.data());
    for (u64 i = 0; i < some; ++i) out.push_back(saturate<T>(load<Number>(at + i * sizeof(Number), big_endian)));
    count -= some;
  }
}

template <typename T>
void read_bools(ByteReader& reader, u64 count, std::vector<T>& out) {
  for (u64 i = 0; i < count; ++i) {
    const u8 value = reader.read<u8>();
    if (!reader.ok()) return;
    out.push_back(value != 0 ? 1 : 0);
  }
}

template <typename T>
bool read_number_as(ByteReader& reader, Value& value) {
  value = reader.read<T>();
  return reader.ok();
}

// Reads one element that is not an array.
bool read_scalar(ByteReader& reader, ValueType type, Value& value) {
  switch (type) {
    case ValueType::u8: return read_number_as<u8>(reader, value);
    case ValueType::i8: return read_number_as<i8>(reader, value);
    case ValueType::u16: return read_number_as<u16>(reader, value);
    case ValueType::i16: return read_number_as<i16>(reader, value);
    case ValueType::u32: return read_number_as<u32>(reader, value);
    case ValueType::i32: return read_number_as<i32>(reader, value);
    case ValueType::f32: return read_number_as<float>(reader, value);
    case ValueType::u64: return read_number_as<u64>(reader, value);
    case ValueType::i64: return read_number_as<i64>(reader, value);
    case ValueType::f64: return read_number_as<double>(reader, value);
    case ValueType::boolean: value = Bool{reader.read<u8>()}; return reader.ok();
    case ValueType::string: value = reader.read_string(reader.read<u64>()); return reader.ok();
    case ValueType::array: break;
  }
  return false;
}

// Reads the type, count and location of an inner array. The reader is then at its first element.
bool read_array_head(ByteReader& reader, ArrayRef& inner) {
  const std::optional<ValueType> element_type = value_type_from_id(reader.read<u32>());
  inner.count = reader.read<u64>();
  if (!reader.ok() || !element_type) return false;
  inner.element_type = *element_type;
  inner.offset = reader.offset();
  return true;
}

// Reads one element as a Value; skips the elements of inner arrays.
bool read_element(ByteReader& reader, ValueType type, Value& value) {
  if (type != ValueType::array) return read_scalar(reader, type, value);
  ArrayRef inner;
  if (!read_array_head(reader, inner)) return false;
  const ArrayScan scan = scan_array(reader, inner.element_type, inner.count);
  if (!reader.ok() || scan.problem) return false;
  inner.bytes = reader.offset() - inner.offset;
  value = inner;
  return true;
}

}  // namespace

Status visit_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                     const StringVisitor& visit) {
  if (array.element_type != ValueType::string) return internal_error("visit_strings: not an array of strings");
  ByteReader reader = reader_at(source, document, array.offset, array.bytes);
  for (u64 i = 0; i < array.count; ++i) {
    const u64 size = reader.read<u64>();
    const u64 offset = reader.offset();
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) return changed(reader, source);
    if (!visit(i, text, offset)) return {};
  }
  return {};
}

Status visit_strings_at(const ByteSource& source, const Document& document, const ArrayRef& array,
                        std::span<const u64> indexes, const StringVisitor& visit) {
  constexpr u64 window = 64 * 1024;
  if (array.element_type != ValueType::string) return internal_error("visit_strings_at: not an array of strings");
  ByteReader reader = reader_at(source, document, array.offset, std::min(window, array.bytes));
  std::span<const StringMark> marks = document.string_marks;
  const auto first = std::ranges::lower_bound(marks, array.offset, {}, &StringMark::offset);
  marks = {first, std::ranges::lower_bound(marks, array.offset + array.bytes, {}, &StringMark::offset)};
  u64 next = 0;
  for (const u64 index : indexes) {
    const auto after = std::ranges::upper_bound(marks, index, {}, &StringMark::index);
    if (after != marks.begin() && after[-1].index > next) {
      reader.skip(after[-1].offset - reader.offset());
      next = after[-1].index;
    }
    reader.skip_strings(index - next);
    const u64 size = reader.read<u64>();
    const u64 offset = reader.offset();
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) return changed(reader, source);
    if (!visit(index, text, offset)) return {};
    next = index + 1;
  }
  return {};
}

Status take_strings(const ByteSource& source, const Document& document, const ArrayRef& array, u64& position,
                    const StringTaker& take) {
  constexpr u64 window = 32 * 1024;  // small, because bytes read past the last string consumed are wasted
  if (array.element_type != ValueType::string) return internal_error("take_strings: not an array of strings");
  const u64 begin = std::min(position, array.bytes);
  ByteReader reader = reader_at(source, document, array.offset + begin, std::min(window, array.bytes - begin));
  const u64 end = array.offset + array.bytes;
  while (reader.offset() < end) {
    const u64 size = reader.read<u64>();
    if (reader.ok() && size > end - std::min(end, reader.offset())) return changed(reader, source);
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) return changed(reader, source);
    if (!take(text)) return {};
    position = reader.offset() - array.offset;
  }
  return {};
}

template <typename T>
Result<std::vector<T>> read_numbers(const ByteSource& source, const Document& document, const ArrayRef& array,
                                    u64 first, u64 most) {
  const u64 size = value_size(array.element_type);
  if (size == 0) return internal_error("read_numbers: not an array of numbers");
  std::vector<T> out;
  if (first >= array.count) return out;
  const u64 count = std::min(most, array.count - first);
  const std::optional<u64> offset = checked_add(array.offset, first * size);
  if (!offset) return internal_error("read_numbers: not an array of this document");
  ByteReader reader = reader_at(source, document, *offset, count * size);
  out.reserve(static_cast<std::size_t>(std::min(count, max_numbers_reserved)));
  switch (array.element_type) {
    case ValueType::u8: read_run<T, u8>(reader, document.big_endian, count, out); break;
    case ValueType::i8: read_run<T, i8>(reader, document.big_endian, count, out); break;
    case ValueType::u16: read_run<T, u16>(reader, document.big_endian, count, out); break;
    case ValueType::i16: read_run<T, i16>(reader, document.big_endian, count, out); break;
    case ValueType::u32: read_run<T, u32>(reader, document.big_endian, count, out); break;
    case ValueType::i32: read_run<T, i32>(reader, document.big_endian, count, out); break;
    case ValueType::f32: read_run<T, float>(reader, document.big_endian, count, out); break;
    case ValueType::u64: read_run<T, u64>(reader, document.big_endian, count, out); break;
    case ValueType::i64: read_run<T, i64>(reader, document.big_endian, count, out); break;
    case ValueType::f64: read_run<T, double>(reader, document.big_endian, count, out); break;
    case ValueType::boolean: read_bools(reader, count, out); break;
    case ValueType::string:
    case ValueType::array: break;
  }
  if (!reader.ok()) return changed(reader, source);
  return out;
}

template Result<std::vector<double>> read_numbers(const ByteSource&, const Document&, const ArrayRef&, u64, u64);
template Result<std::vector<i64>> read_numbers(const ByteSource&, const Document&, const ArrayRef&, u64, u64);
template Result<std::vector<u64>> read_numbers(const ByteSource&, const Document&, const ArrayRef&, u64, u64);

Result<std::vector<std::string>> read_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                                              u64 most) {
  std::vector<std::string> out;
  if (most == 0) return out;
  out.reserve(static_cast<std::size_t>(std::min({array.count, most, max_numbers_reserved})));
  MU_TRY(visit_strings(source, document, array, [&](u64 index, std::string_view text, u64) {
    out.emplace_back(text);
    return index + 1 < most;
  }));
  return out;
}

Result<std::vector<Value>> read_values(const ByteSource& source, const Document& document, const ArrayRef& array,
                                       u64 most) {
  std::vector<Value> out;
  const u64 count = std::min(most, array.count);
  ByteReader reader = reader_at(source, document, array.offset, array.bytes);
  out.reserve(static_cast<std::size_t>(std::min(count, max_numbers_reserved)));
  for (u64 i = 0; i < count; ++i) {
    if (!read_element(reader, array.element_type, out.emplace_back())) return changed(reader, source);
  }
  return out;
}

// Keeps the open arrays on a stack, instead of recursing. Reads every byte once.
Status visit_array(const ByteSource& source, const Document& document, const ArrayRef& array, ArrayVisitor& visitor) {
  ByteReader reader = reader_at(source, document, array.offset, array.bytes);
  struct Open {
    ValueType type;
    u64 left;
  };
  std::vector<Open> stack = {{array.element_type, array.count}};
  Value value;
  while (true) {
    Open& top = stack.back();
    if (top.left == 0) {
      stack.pop_back();
      if (stack.empty()) return {};
      if (!visitor.end()) return {};
      continue;
    }
    --top.left;
    if (top.type == ValueType::array) {
      ArrayRef inner;
      if (!read_array_head(reader, inner) || stack.size() == max_array_depth) return changed(reader, source);
      if (!visitor.begin()) return {};
      stack.push_back({inner.element_type, inner.count});
    } else if (top.type == ValueType::string) {
      const std::string_view text = reader.read_view(reader.read<u64>());
      if (!reader.ok()) return changed(reader, source);
      if (!visitor.text(text)) return {};
    } else {
      if (!read_scalar(reader, top.type, value)) return changed(reader, source);
      if (!visitor.scalar(value)) return {};
    }
  }
}

}  // namespace modelutils::gguf
