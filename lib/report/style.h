// Colours that mean something, or none at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/types.h"

namespace modelutils {

/// What a piece of text is; how it looks is decided here alone.
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

/// How many bits a weight takes, as a colour: green for 16 and more, cyan from 7, blue from 5, yellow from 3.5, magenta
/// below.
Paint bits_paint(double bits);
/// The same for a weight of the type; `bad` for types that the table does not have.
Paint type_paint(std::optional<TensorType> type);

/// Wraps printable text (escaped by whoever made it) in the terminal's colour codes, if colours are wanted.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  bool color() const { return color_; }
  std::string operator()(Paint paint, std::string_view text) const;

 private:
  bool color_;
};

}  // namespace modelutils
