// Values of a parsed JSON document: handles of 16 bytes that are copied freely and stay good as long as their document
// (json/reader.h) does. simdjson, whose tape they point into, stays behind them: its header alone costs more to compile
// than most of our files.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::json {

class Array;
class Object;

/// Where a value stands: the document and the place on simdjson's tape.
struct Place {
  const void* document = nullptr;
  std::size_t index = 0;

  bool operator==(const Place&) const = default;
};

/// Any value. A default-constructed one must be assigned before anything is asked of it.
class Element {
 public:
  Element() = default;
  explicit Element(Place place) : place_(place) {}

  /// The value, if it has that type: false otherwise, and then `out` is left alone. Integers count as double if the
  /// value is asked for as one; 1.0 is no integer, and an integer that the type cannot hold is none of it. Texts are
  /// views into the document.
  [[nodiscard]] bool get(std::string_view& out) const;
  [[nodiscard]] bool get(u64& out) const;
  [[nodiscard]] bool get(i64& out) const;
  [[nodiscard]] bool get(double& out) const;
  [[nodiscard]] bool get(bool& out) const;
  [[nodiscard]] bool get(Object& out) const;
  [[nodiscard]] bool get(Array& out) const;

  bool is_null() const;
  bool is_object() const;

  /// The value as JSON without blanks.
  std::string text() const;

 private:
  Place place_;
};

/// A member of an object.
struct Member {
  std::string_view key;  ///< unescaped
  Element value;
};

/// The elements of an array, in order.
class Array {
 public:
  Array() = default;
  explicit Array(Place place) : place_(place) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = Element;

    Iterator() = default;
    explicit Iterator(Place place) : place_(place) {}
    Element operator*() const { return Element(place_); }
    Iterator& operator++();
    bool operator==(const Iterator&) const = default;

   private:
    Place place_;
  };

  Iterator begin() const;
  Iterator end() const;
  /// At most 2^24 − 1: of longer arrays simdjson does not know the length.
  std::size_t size() const;
  /// Element `index`, if there is one. Takes time in proportion to `index`.
  std::optional<Element> at(std::size_t index) const;

 private:
  Place place_;
};

/// The members of an object, in the order of the text. A key may appear twice.
class Object {
 public:
  Object() = default;
  explicit Object(Place place) : place_(place) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Member;
    using difference_type = std::ptrdiff_t;
    using pointer = const Member*;
    using reference = Member;

    Iterator() = default;
    explicit Iterator(Place place) : place_(place) {}
    Member operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator&) const = default;

   private:
    Place place_;  // of the key
  };

  Iterator begin() const;
  Iterator end() const;
  /// At most 2^24 − 1, as for arrays.
  std::size_t size() const;
  /// The first member with this key, null included. Takes time in proportion to the object's size.
  std::optional<Element> find(std::string_view key) const;

 private:
  Place place_;
};

}  // namespace modelutils::json
