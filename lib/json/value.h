// Values of a parsed JSON document: handles that are cheap to copy and valid as long as their document
// (json/reader.h). For hashing there is the canonical form of docs/formats/bump5.md, "Metadata".
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

/// One value or key of a document, whose nodes follow each other in the order of the text: an array is followed by its
/// elements, an object by its members, each of them a key and a value. Only for json/reader.cc and value.cc.
struct Node {
  enum class Type : u8 { null, boolean, natural, negative, decimal, string, array, object };

  union {
    bool truth;
    u64 natural;
    i64 negative;
    double decimal;
    const char* text;
    const Node* end;  // array, object: the node after the last one inside it
  };
  u64 size : 56;  // string: bytes; array, object: elements or members
  Type type : 8;

  /// Returns the node after the value and everything inside it.
  const Node* next() const { return type == Type::array || type == Type::object ? end : this + 1; }
  std::string_view string() const { return {text, static_cast<std::size_t>(size)}; }
};
static_assert(sizeof(Node) == 16);

/// Any value. Assign a default-constructed one before use.
class Element {
 public:
  Element() = default;
  explicit Element(const Node* node) : node_(node) {}

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

  bool is_null() const { return node_->type == Node::Type::null; }
  bool is_object() const { return node_->type == Node::Type::object; }

  /// The value as JSON without white space. Decimals are the shortest that parse to the same double, with a point or an
  /// exponent.
  std::string text() const;

 private:
  const Node* node_ = nullptr;
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
  explicit Array(const Node* node) : node_(node) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = Element;

    Iterator() = default;
    explicit Iterator(const Node* node) : node_(node) {}
    Element operator*() const { return Element(node_); }
    Iterator& operator++() {
      node_ = node_->next();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Node* node_ = nullptr;
  };

  Iterator begin() const { return Iterator(node_ + 1); }
  Iterator end() const { return Iterator(node_->end); }
  std::size_t size() const { return static_cast<std::size_t>(node_->size); }
  /// Returns element `index`, or nullopt if there is none. Takes O(index) time.
  std::optional<Element> at(std::size_t index) const;

 private:
  const Node* node_ = nullptr;
};

/// The members of an object, in the order of the text. Keys may repeat.
class Object {
 public:
  Object() = default;
  explicit Object(const Node* node) : node_(node) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Member;
    using difference_type = std::ptrdiff_t;
    using pointer = const Member*;
    using reference = Member;

    Iterator() = default;
    explicit Iterator(const Node* key) : key_(key) {}
    Member operator*() const { return {key_->string(), Element(key_ + 1)}; }
    Iterator& operator++() {
      key_ = (key_ + 1)->next();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Node* key_ = nullptr;
  };

  Iterator begin() const { return Iterator(node_ + 1); }
  Iterator end() const { return Iterator(node_->end); }
  std::size_t size() const { return static_cast<std::size_t>(node_->size); }
  /// Returns the first member with this key, even if null, or nullopt. Takes time proportional to the object's size.
  std::optional<Element> find(std::string_view key) const;

 private:
  const Node* node_ = nullptr;
};

// JSON in a canonical form, for hashing: the output of Python's json.dumps with sort_keys, separators "," and ":" and
// ensure_ascii. Source: docs/formats/bump5.md, "Metadata".

/// Writes `value` with keys sorted by code point (the last of equal keys wins), no white space, ASCII text, and floats
/// as the shortest decimal that parses to the same double, with a point or an exponent.
std::string canonical_text(Element value);

/// Returns `json`, which must be valid, with every character above U+007F as \uXXXX (surrogate pairs above U+FFFF).
std::string ascii_text(std::string_view json);

}  // namespace modelutils::json
