// Opcodes that push numbers, text and bytes.
#include <algorithm>
#include <bit>
#include <charconv>

#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

namespace {

/// True for integers as Python prints them. Python also accepts other forms (octal, hexadecimal, spaces, underscores,
/// "+1"), and its two unpicklers differ in which.
bool is_plain_decimal(std::string_view line) {
  const bool is_negative = line.starts_with('-');
  if (is_negative) line.remove_prefix(1);
  if (line.empty() || !std::ranges::all_of(line, [](char c) { return c >= '0' && c <= '9'; })) return false;
  return line.front() != '0' || (line.size() == 1 && !is_negative);
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool PickleMachine::push_number(u8 code) {
  const auto integer = [&](i64 number) { return push(values_.integer(number)); };
  switch (code) {
    case 'N': return push(values_.none());
    case 0x88:
    case 0x89: return push(values_.boolean(code == 0x88));
    case 'J': {
      i32 number = 0;
      return take_number(number) && integer(number);
    }
    case 'K': {
      u8 number = 0;
      return take_number(number) && integer(number);
    }
    case 'M': {
      u16 number = 0;
      return take_number(number) && integer(number);
    }
    case 'G': {  // a big-endian double
      std::string_view text;
      return take(8, text) && push(values_.real(std::bit_cast<double>(load<u64>(text.data(), true))));
    }
    case 'F': {
      std::string_view line;
      double number = 0;
      if (!take_line(line)) return false;
      const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
      const bool is_whole = end == line.data() + line.size() && problem != std::errc::invalid_argument;
      return is_whole ? push(values_.real(number)) : broken("a line is not a floating-point number");
    }
    case 'I': {
      std::string_view line;
      if (!take_line(line)) return false;
      if (line == "00" || line == "01") return push(values_.boolean(line == "01"));
      return push_decimal(line);
    }
    case 'L': {
      std::string_view line;
      if (!take_line(line)) return false;
      if (line.ends_with('L')) line.remove_suffix(1);
      return push_decimal(line);
    }
    case 0x8a: {
      std::string_view text;
      return take_counted<u8>(text) && push_long(text);
    }
    default: {  // LONG4: a signed length
      i32 size = 0;
      std::string_view text;
      if (!take_number(size)) return false;
      return size < 0 ? broken("a number of negative length") : take(static_cast<u64>(size), text) && push_long(text);
    }
  }
}

bool PickleMachine::push_decimal(std::string_view line) {
  if (!is_plain_decimal(line)) return broken("a line is not a decimal number without zeros in front");
  i64 number = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (problem == std::errc()) return push(values_.integer(number));
  return push(values_.add_text(ValueKind::big_integer, line));
}

bool PickleMachine::push_long(std::string_view little_endian) {
  if (little_endian.size() > 8) {
    // Padding with sign bytes does not change the number.
    const char sign = (little_endian[7] & 0x80) != 0 ? '\xff' : '\0';
    if (little_endian.find_first_not_of(sign, 8) != little_endian.npos) {
      // In a valid file, this can only be torch's magic number, which is recognised by its bytes.
      const ValueId id = values_.add_text(ValueKind::big_integer, little_endian);
      return push(id);
    }
    little_endian = little_endian.substr(0, 8);
  }
  u64 number = 0;
  for (std::size_t i = 0; i < little_endian.size(); ++i) {
    number |= u64{static_cast<u8>(little_endian[i])} << (8 * i);
  }
  if (const std::size_t size = little_endian.size(); size > 0 && size < 8 && (little_endian.back() & 0x80) != 0) {
    number |= ~u64{0} << (8 * size);
  }
  return push(values_.integer(static_cast<i64>(number)));
}

bool PickleMachine::push_text(u8 code) {
  std::string_view text;
  const auto as = [&](ValueKind kind) { return push(values_.add_text(kind, text)); };
  switch (code) {
    case 'S':  // a quoted Python 2 string
      if (!take_line(text)) return false;
      if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) {
        return broken("STRING without quotes");
      }
      text = text.substr(1, text.size() - 2);
      if (text.find('\\') != text.npos) return broken("STRING with an escape: torch writes none");
      return as(ValueKind::text);
    case 'V':
      if (!take_line(text)) return false;
      if (text.find('\\') != text.npos) return broken("UNICODE with an escape: torch writes none");
      if (!is_ascii(text)) return broken("UNICODE with bytes that are not ASCII, which Python reads as Latin-1");
      return as(ValueKind::text);
    case 'T': {
      i32 size = 0;
      if (!take_number(size)) return false;
      if (size < 0) return broken("a string of negative length");
      return take(static_cast<u64>(size), text) && as(ValueKind::text);
    }
    case 'U': return take_counted<u8>(text) && as(ValueKind::text);
    case 'X': return take_counted<u32>(text) && as(ValueKind::text);
    case 0x8c: return take_counted<u8>(text) && as(ValueKind::text);
    case 0x8d: return take_counted<u64>(text) && as(ValueKind::text);
    case 'B': return take_counted<u32>(text) && as(ValueKind::bytes);
    case 'C': return take_counted<u8>(text) && as(ValueKind::bytes);
    default: return take_counted<u64>(text) && as(ValueKind::bytes);  // BINBYTES8, BYTEARRAY8
  }
}

}  // namespace modelutils::pytorch
