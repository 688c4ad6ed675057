// The opcodes that push a number or a text.
#include <charconv>

#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

bool PickleMachine::push_number(u8 code) {
  const auto integer = [&](i64 number) { return push(values_.add({ValueKind::integer, false, 0, number})); };
  switch (code) {
    case 'N': return push(values_.add({}));
    case 0x88:
    case 0x89: return push(values_.add({ValueKind::boolean, false, 0, code == 0x88}));
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
    case 'G': {  // big-endian double
      std::string_view text;
      return take(8, text) && push(values_.add({ValueKind::real, false, 0, 0}));
    }
    case 'F': {
      std::string_view line;
      return take_line(line) && push(values_.add({ValueKind::real, false, 0, 0}));
    }
    case 'I': {
      std::string_view line;
      if (!take_line(line)) return false;
      if (line == "00" || line == "01") return push(values_.add({ValueKind::boolean, false, 0, line == "01"}));
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
  i64 number = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (problem == std::errc::result_out_of_range) return push(values_.add({ValueKind::big_integer, false, 0, 0}));
  if (problem != std::errc() || end != line.data() + line.size()) return broken("a line is not a number");
  return push(values_.add({ValueKind::integer, false, 0, number}));
}

bool PickleMachine::push_long(std::string_view little_endian) {
  if (little_endian.size() > 8) {
    // Longer than it must be is still the number, if the rest only repeats the sign.
    const char sign = (little_endian[7] & 0x80) != 0 ? '\xff' : '\0';
    if (little_endian.find_first_not_of(sign, 8) != little_endian.npos) {
      // torch's own magic number is the only one in a sound file: its bytes tell it apart.
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
  return push(values_.add({ValueKind::integer, false, 0, static_cast<i64>(number)}));
}

bool PickleMachine::push_text(u8 code) {
  std::string_view text;
  const auto as = [&](ValueKind kind) { return push(values_.add_text(kind, text)); };
  switch (code) {
    case 'S':  // a quoted text of Python 2
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
      return as(ValueKind::text);
    case 'T': {
      i32 size = 0;
      if (!take_number(size)) return false;
      if (size < 0) return broken("a text of negative length");
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
