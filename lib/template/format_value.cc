// Python's format(value, specification).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "template/operators.h"
#include "template/percent_format.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/sliced.h"

namespace modelutils::jinja {

namespace {

constexpr i64 widest_field = 1'000'000;  // no prompt has a wider one
constexpr i64 most_digits = 400;         // more than a double has before or behind its point

struct Field {
  std::string fill = " ";
  char align = '\0';
  char sign = '-';
  bool alternate = false;
  i64 width = 0;
  char grouping = '\0';
  i64 precision = -1;
  char type = '\0';
};

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

i64 take_number(std::string_view& text) {
  i64 value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = std::min(value * 10 + (text[0] - '0'), widest_field + 1);
    text.remove_prefix(1);
  }
  return value;
}

Outcome<Field> parse_field(Machine& machine, std::string_view text) {
  Field field;
  if (!text.empty()) {
    const std::size_t size = decode_utf8(text).size;
    if (text.size() > size && is_align(text[size])) {
      field.fill = text.substr(0, size);
      field.align = text[size];
      text.remove_prefix(size + 1);
    } else if (is_align(text[0])) {
      field.align = text[0];
      text.remove_prefix(1);
    }
  }
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- ")) field.sign = sign;
  field.alternate = take("#") != '\0';
  if (take("0") != '\0') {
    if (field.align == '\0') {
      field.fill = "0";
      field.align = '=';
    }
  }
  field.width = take_number(text);
  field.grouping = take(",_");
  if (take(".") != '\0') {
    if (text.empty() || text[0] < '0' || text[0] > '9') return machine.raise("Format specifier missing precision");
    field.precision = take_number(text);
  }
  if (!text.empty()) {
    field.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) return machine.raise("Invalid format specifier");
  if (field.width > widest_field || field.precision > widest_field) {
    return machine.fail(FailureKind::limit, "formats a field that is too wide");
  }
  return field;
}

std::string grouped(std::string digits, char separator) {
  if (separator == '\0') return digits;
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t i = end; i > 3; i -= 3) digits.insert(i - 3, 1, separator);
  return digits;
}

std::string padded(const Field& field, const std::string& sign, const std::string& body, char align) {
  const auto length = static_cast<i64>(characters_of(sign) + characters_of(body));
  const i64 missing = std::max<i64>(field.width - length, 0);
  std::string left;
  std::string right;
  const i64 before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  for (i64 i = 0; i < before; ++i) left += field.fill;
  for (i64 i = before; i < missing; ++i) right += field.fill;
  return align == '=' ? sign + left + body : left + sign + body + right;
}

Outcome<std::string> unknown_code(Machine& machine, const Field& field, const Value& value) {
  return machine.raise(fmt::format("Unknown format code '{}' for object of type '{}'", field.type, type_name(value)));
}

Outcome<std::string> format_text(Machine& machine, const Field& field, const Value& value) {
  if (field.type != '\0' && field.type != 's') return unknown_code(machine, field, value);
  if (field.align == '=' && field.fill != "0")
    return machine.raise("'=' alignment not allowed in string format specifier");
  if (field.sign != '-') return machine.raise("Sign not allowed in string format specifier");
  const auto& text = value.as<Text>();
  const auto length = static_cast<i64>(text.length);
  const i64 kept = field.precision >= 0 ? std::min(field.precision, length) : length;
  const char align = field.align == '\0' || field.align == '=' ? '<' : field.align;
  return padded(field, "", std::string(characters(text, 0, static_cast<std::size_t>(kept))), align);
}

std::string sign_text(const Field& field, bool is_negative) {
  if (is_negative) return "-";
  return field.sign == '-' ? "" : std::string(1, field.sign);
}

Outcome<std::string> format_integer(Machine& machine, const Field& field, const Value& value) {
  if (field.precision >= 0) return machine.raise("Precision not allowed in integer format specifier");
  const i64 number = *as_integer(value);
  const u64 size = number < 0 ? u64{0} - static_cast<u64>(number) : static_cast<u64>(number);
  std::string digits;
  std::string prefix;
  switch (field.type) {
    case '\0':
    case 'n':
    case 'd': digits = grouped(fmt::format("{}", size), field.grouping); break;
    case 'x':
      digits = fmt::format("{:x}", size);
      prefix = "0x";
      break;
    case 'X':
      digits = fmt::format("{:X}", size);
      prefix = "0X";
      break;
    case 'o':
      digits = fmt::format("{:o}", size);
      prefix = "0o";
      break;
    case 'b':
      digits = fmt::format("{:b}", size);
      prefix = "0b";
      break;
    case 'c':
      if (field.sign != '-') return machine.raise("Sign not allowed with integer format specifier 'c'");
      if (field.alternate || field.grouping != '\0') return machine.unsupported("a format code 'c' with '#' or ','");
      if (number < 0 || number > 0x10FFFF) return machine.raise("%c arg not in range(0x110000)");
      if (number >= 0xD800 && number < 0xE000) return machine.unsupported("a surrogate in a text");
      append_utf8(digits, static_cast<char32_t>(number));
      break;
    default: return unknown_code(machine, field, value);
  }
  const bool is_decimal = prefix.empty();
  if (!is_decimal && field.grouping != '\0') return machine.unsupported("grouped digits that are not decimal");
  if (field.grouping != '\0' && field.align == '=') return machine.unsupported("grouped digits filled with zeros");
  if (!field.alternate) prefix.clear();
  return padded(field, sign_text(field, number < 0) + prefix, digits, field.align == '\0' ? '>' : field.align);
}

Outcome<std::string> format_real(Machine& machine, const Field& field, const Value& value) {
  const double number = *as_real(value);
  const double size = std::fabs(number);
  const i64 precision = field.precision < 0 ? 6 : field.precision;
  if (precision > most_digits) return machine.fail(FailureKind::limit, "formats a number with too many digits");
  if (field.alternate) return machine.unsupported("'#' in the format of a float");
  if (field.grouping != '\0' && field.align == '=') return machine.unsupported("grouped digits filled with zeros");
  std::string body;
  if (!std::isfinite(size)) {
    body = std::isnan(size) ? "nan" : "inf";
    if (field.type == 'F' || field.type == 'E' || field.type == 'G') body = std::isnan(size) ? "NAN" : "INF";
  } else {
    switch (field.type) {
      case '\0':
        if (field.precision >= 0) return machine.unsupported("a precision of a float without a format code");
        body = float_repr(size);
        break;
      case 'f':
      case 'F': body = fmt::format("{:.{}f}", size, precision); break;
      case 'e': body = fmt::format("{:.{}e}", size, precision); break;
      case 'E': body = fmt::format("{:.{}E}", size, precision); break;
      case 'g': body = fmt::format("{:.{}g}", size, std::max<i64>(precision, 1)); break;
      case 'G': body = fmt::format("{:.{}G}", size, std::max<i64>(precision, 1)); break;
      case '%': body = fmt::format("{:.{}f}%", size * 100, precision); break;
      default: return unknown_code(machine, field, value);
    }
    body = grouped(body, field.grouping);
  }
  const bool is_negative = std::signbit(number) && !std::isnan(number);
  return padded(field, sign_text(field, is_negative), body, field.align == '\0' ? '>' : field.align);
}

}  // namespace

Outcome<std::string> format_value(Machine& machine, const Value& value, std::string_view specification) {
  if (specification.empty()) return str(machine, value);
  MU_ASSIGN(const Field field, parse_field(machine, specification));
  MU_TRY(machine.reserve(static_cast<u64>(field.width) * field.fill.size()));
  if (value.is(Kind::text)) return format_text(machine, field, value);
  const bool is_real_type =
      std::string_view("eEfFgG%").find(field.type) != std::string_view::npos && field.type != '\0';
  if (value.is(Kind::boolean) && field.type == '\0') return machine.unsupported("formatting True and False");
  if (as_integer(value) && !is_real_type) return format_integer(machine, field, value);
  if (as_real(value)) return format_real(machine, field, value);
  if (value.is(Kind::big)) return machine.unsupported("an integer beyond 64 bits");
  return machine.raise(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
}

}  // namespace modelutils::jinja
