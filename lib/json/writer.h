// Writing JSON: RapidJSON's writer for the grammar, our escaping for the text (base/escape.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/types.h"

namespace modelutils::json {

/// Writes one or more JSON values. Text that is not UTF-8 becomes {"base64": "…"}; NaN and infinities become the
/// strings "NaN", "Infinity", "-Infinity"; doubles are the shortest decimals that read back to the same double.
class Writer {
 public:
  enum class Style : u8 { compact, pretty };

  /// Collects everything; see text().
  explicit Writer(Style style = Style::compact);
  /// Hands over its buffer to `sink` whenever it has grown past 64 KiB, and at flush().
  Writer(Style style, std::function<void(std::string_view)> sink);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  /// A member's name. Must be UTF-8; a name that is not is written with U+FFFD for each bad byte.
  void key(std::string_view name);

  void string(std::string_view text);
  void number(u64 value);
  void number(i64 value);
  void number(u32 value) { number(static_cast<u64>(value)); }
  void number(i32 value) { number(static_cast<i64>(value)); }
  /// The shortest decimal that reads back to the same double.
  void number(double value);
  /// The shortest decimal that reads back to the same float32 (0.1f is 0.1). For the double it is: number(double(x)).
  void number(float value);
  /// The same, always with a point or an exponent: 500000.0, for readers that tell whole numbers from decimals.
  void decimal(float value);
  void boolean(bool value);
  void null();

  /// key() and value in one.
  template <typename T>
  void member(std::string_view name, const T& value) {
    key(name);
    if constexpr (std::is_same_v<T, bool>) {
      boolean(value);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      string(value);
    } else {
      number(value);
    }
  }

  /// Ends a top-level value: a line feed, and room for the next value (JSON Lines).
  void end_line();
  void flush();
  /// What was written so far (without a sink).
  const std::string& text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace modelutils::json
