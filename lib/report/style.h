// Terminal colours by meaning, or none at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/types.h"

namespace modelutils {

/// The meaning of a piece of text. Only this file's code maps it to a colour.
enum class Paint : u8 {
  plain,
  title,
  heading,
  label,
  faint,
  text,
  number,
  bad,
  added,
  removed,
  bits_16,
  bits_8,
  bits_6,
  bits_4,
  bits_2
};

/// Returns the colour for a number of bits per weight: green for 16 and more, cyan from 7, blue from 5, yellow from
/// 3.5, magenta below.
Paint bits_paint(double bits);
/// Returns the colour for a type's bits per weight; `bad` for unknown types.
Paint type_paint(std::optional<TensorType> type);

/// Wraps printable text, already escaped, in the terminal's colour codes if colours are wanted.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  bool color() const { return color_; }
  std::string operator()(Paint paint, std::string_view text) const;

 private:
  bool color_;
};

}  // namespace modelutils
