// Writes JSON: RapidJSON's writer for the grammar, our escaping (base/escape.h) for the text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/types.h"

namespace modelutils::json {

/// Writes one or more JSON values. Strings that are not UTF-8 become {"base64": "…"}. NaN and infinities become the
/// strings "NaN", "Infinity" and "-Infinity". Doubles are the shortest decimals that parse to the same double.
class Writer {
 public:
  enum class Style : u8 { compact, pretty };

  /// Keeps the output in memory; see text().
  explicit Writer(Style style = Style::compact);
  /// Passes the buffer to `sink` whenever it exceeds 64 KiB, and at flush().
  Writer(Style style, std::function<void(std::string_view)> sink);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  /// Writes a member's name. Invalid UTF-8 bytes become U+FFFD.
  void key(std::string_view name);

  void string(std::string_view text);
  void number(u64 value);
  void number(i64 value);
  void number(u32 value) { number(static_cast<u64>(value)); }
  void number(i32 value) { number(static_cast<i64>(value)); }
  /// The shortest decimal that parses to the same double.
  void number(double value);
  /// The shortest decimal that parses to the same float32 (0.1 for 0.1f). For the exact double: number(double(x)).
  void number(float value);
  /// Like number(float), but always with a point or an exponent (500000.0), for readers that distinguish integers from
  /// floats.
  void decimal(float value);
  void boolean(bool value);
  void null();

  /// Writes a key and its value.
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

  /// Ends a top-level value with a line feed and prepares for the next one (JSON Lines).
  void end_line();
  void flush();
  /// The output so far (without a sink).
  const std::string& text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace modelutils::json
