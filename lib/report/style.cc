#include "report/style.h"

namespace modelutils {

namespace {

std::string_view code_of(Paint paint) {
  switch (paint) {
    case Paint::plain: return {};
    case Paint::title: return "1";
    case Paint::heading: return "1;4";
    case Paint::label: return "36";
    case Paint::faint: return "2";
    case Paint::text: return "32";
    case Paint::number: return "33";
    case Paint::bad: return "1;31";
    case Paint::added: return "32";
    case Paint::removed: return "31";
    case Paint::bits_16: return "32";
    case Paint::bits_8: return "36";
    case Paint::bits_6: return "94";
    case Paint::bits_4: return "33";
    case Paint::bits_2: return "35";
  }
  return {};
}

}  // namespace

Paint bits_paint(double bits) {
  if (bits >= 15) return Paint::bits_16;
  if (bits >= 7) return Paint::bits_8;
  if (bits >= 5) return Paint::bits_6;
  if (bits >= 3.5) return Paint::bits_4;
  return Paint::bits_2;
}

Paint type_paint(std::optional<TensorType> type) {
  if (!type) return Paint::bad;
  const TypeInfo& info = type_info(*type);
  return bits_paint(8.0 * info.block_bytes / info.block_elements);
}

std::string Style::operator()(Paint paint, std::string_view text) const {
  const std::string_view code = color_ ? code_of(paint) : std::string_view{};
  if (code.empty() || text.empty()) return std::string(text);
  std::string out = "\033[";
  out += code;
  out += 'm';
  out += text;
  out += "\033[0m";
  return out;
}

}  // namespace modelutils
