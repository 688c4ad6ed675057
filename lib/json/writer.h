// Writes JSON: RapidJSON's writer for the grammar, our escaping (base/escape.h) for the text.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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

  /// Ends its object or array, except while an exception is thrown, because the text is then discarded.
  class Scope {
   public:
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() noexcept(false);

   private:
    friend Writer;
    Scope(Writer& writer, void (Writer::*end)()) : writer_(writer), end_(end) {}
    Writer& writer_;
    void (Writer::*end_)();
  };

  /// Keeps the output in memory; see text().
  explicit Writer(Style style = Style::compact);
  /// Passes the buffer to `sink` whenever it exceeds 64 KiB, and at flush().
  Writer(Style style, std::function<void(std::string_view)> sink);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  /// Begins an object or array, as a value or as the member `name`. It ends when the result goes out of scope.
  [[nodiscard]] Scope object();
  [[nodiscard]] Scope object(std::string_view name);
  [[nodiscard]] Scope array();
  [[nodiscard]] Scope array(std::string_view name);
  /// For objects and arrays that do not end with a scope, as in visitors.
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

  /// Writes a text, number or flag.
  template <typename T>
  void value(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      boolean(value);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      string(value);
    } else {
      number(value);
    }
  }

  /// Writes a key and its value.
  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  /// Writes nothing if there is no value.
  template <typename T>
  void member(std::string_view name, const std::optional<T>& content) {
    if (content) member(name, *content);
  }
  /// Writes null if there is no value.
  template <typename T>
  void member_or_null(std::string_view name, const std::optional<T>& content) {
    content ? member(name, *content) : null_member(name);
  }
  /// Writes null for an empty text.
  void text_or_null(std::string_view name, std::string_view text);
  void null_member(std::string_view name);
  /// Writes an array of texts, numbers or flags.
  template <typename Range>
  void values(std::string_view name, const Range& range) {
    const Scope scope = array(name);
    for (const auto& each : range) value(each);
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
