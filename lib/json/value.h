// Values of a parsed JSON document: 16-byte handles that are cheap to copy and valid as long as their document
// (json/reader.h). They point into simdjson's tape but hide simdjson, whose header alone takes longer to compile than
// most of our files.
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

/// Position of a value: the document and the index on simdjson's tape.
struct Place {
  const void* document = nullptr;
  std::size_t index = 0;

  bool operator==(const Place&) const = default;
};

/// Any value. Assign a default-constructed one before use.
class Element {
 public:
  Element() = default;
  explicit Element(Place place) : place_(place) {}

  /// Sets `out` to the value and returns true if it has that type. Otherwise returns false and leaves `out` unchanged.
  /// Integers can be read as double. 1.0 is not an integer, nor is an integer outside the type's range. Strings are
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

  /// The value as JSON without white space.
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
  /// At most 2^24 − 1: simdjson does not store the length of longer arrays.
  std::size_t size() const;
  /// Returns element `index`, or nullopt if there is none. Takes O(index) time.
  std::optional<Element> at(std::size_t index) const;

 private:
  Place place_;
};

/// The members of an object, in the order of the text. Keys may repeat.
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
    Place place_;  // the key's
  };

  Iterator begin() const;
  Iterator end() const;
  /// At most 2^24 − 1, as for arrays.
  std::size_t size() const;
  /// Returns the first member with this key, even if null, or nullopt. Takes time proportional to the object's size.
  std::optional<Element> find(std::string_view key) const;

 private:
  Place place_;
};

}  // namespace modelutils::json
