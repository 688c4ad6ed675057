// Values of a template while it is rendered: Python's, as far as chat templates use them. A value is 16 bytes and
// points into the Heap of its rendering (or of the parsed template, for constants), which frees everything at once: a
// namespace may hold itself, so nothing here counts references.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils::jinja {

enum class Kind : u8 {
  missing,    ///< of a variable: nothing was assigned yet; never the value of an expression
  undefined,  ///< Jinja's Undefined
  none,
  boolean,
  integer,
  big,  ///< an integer beyond 64 bits, as its decimal digits: it can be printed and compared for equality
  real,
  text,
  list,
  tuple,
  dict,
  view,      ///< keys(), values() or items() of a dict
  range,     ///< as a list that is printed differently
  iterator,  ///< what a generator of Python yields
  names,     ///< namespace()
  loop,
  macro,
  function,  ///< a global or a method bound to a value
  cycler,
  joiner,
  self,  ///< the variable `self`
};

/// What lies on a Heap.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct Text;
struct List;
struct Dict;
struct View;
struct Iterator;
struct Undefined;
struct Names;
struct Loop;
struct Macro;
struct Function;
struct Cycler;
struct Joiner;

class Value {
 public:
  Value() = default;
  static Value none() { return Value(Kind::none); }
  static Value of(bool value) {
    Value result(Kind::boolean);
    result.boolean_ = value;
    return result;
  }
  static Value of(i64 value) {
    Value result(Kind::integer);
    result.integer_ = value;
    return result;
  }
  static Value of(std::size_t value) { return of(static_cast<i64>(value)); }
  static Value of(double value) {
    Value result(Kind::real);
    result.real_ = value;
    return result;
  }
  static Value of(Kind kind, const Object* object) {
    Value result(kind);
    result.object_ = object;
    return result;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool boolean() const { return boolean_; }
  i64 integer() const { return integer_; }
  double real() const { return real_; }
  const Object* object() const { return object_; }

  /// The object of a value of that kind; the caller has looked at kind().
  template <typename T>
  const T& as() const {
    return *static_cast<const T*>(object_);
  }
  /// The same of what rendering changes: a namespace, a loop, an iterator, a cycler, a joiner.
  template <typename T>
  T& changing() const {
    return *const_cast<T*>(static_cast<const T*>(object_));
  }

  /// The text of a text.
  std::string_view view() const;
  /// A list, a tuple or a range: their items.
  const std::vector<Value>& items() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::missing;
  union {
    bool boolean_;
    i64 integer_ = 0;
    double real_;
    const Object* object_;
  };
};

struct Text : Object {
  explicit Text(std::string text, bool markup = false);

  std::string bytes;   ///< UTF-8
  std::size_t length;  ///< in characters
  bool is_markup;      ///< markupsafe's Markup: what is added to it is escaped

  bool is_ascii() const { return length == bytes.size(); }
};

struct List : Object {
  explicit List(std::vector<Value> values) : items(std::move(values)) {}
  std::vector<Value> items;
};

/// Keys in the order in which they came. Equal keys (1, 1.0 and True are) keep the place of the first.
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;

  /// `key_text`: what hash_text() makes of the key.
  void put(const std::string& key_text, Value key, Value value);
  const Value* find(const std::string& key_text) const;
  /// The same with a key that is a text.
  const Value* find_text(std::string_view key) const;

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

enum class ViewOf : u8 { keys, values, items };
struct View : Object {
  View(const Dict* of, ViewOf part) : dict(of), what(part) {}
  const Dict* dict;
  ViewOf what;
};

struct Failure;

/// What is left of a generator. All of it was made at once; where making an item failed, reaching it does.
struct Iterator : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  Failure* failure = nullptr;
};

struct Undefined : Object {
  explicit Undefined(std::string text, bool unsafe) : message(std::move(text)), is_unsafe(unsafe) {}
  std::string message;
  bool is_unsafe;  ///< what the sandbox keeps from templates: using it is a security error
};

constexpr u64 bytes_of_name = 64;  // of the pair, and what a vector keeps free
struct Names : Object {
  std::vector<std::pair<std::string, Value>> attributes;
};

struct Cycler : Object {
  std::vector<Value> items;
  std::size_t position = 0;
};

struct Joiner : Object {
  Value separator;
  bool used = false;
};

/// Frees all objects that were made on it. They lie one after the other in blocks: a template is some thousand small
/// ones.
class Heap {
 public:
  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() {
    for (const Object* object : objects_) {
      if (object != nullptr) object->~Object();
    }
  }

  template <typename T, typename... Arguments>
  T* make(Arguments&&... arguments) {
    static_assert(alignof(T) <= alignment);
    void* place = take((sizeof(T) + alignment - 1) / alignment * alignment);
    objects_.push_back(nullptr);  // first: nothing is lost if there is no room for the pointer
    T* object = new (place) T(std::forward<Arguments>(arguments)...);
    objects_.back() = object;
    return object;
  }

 private:
  static constexpr std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static constexpr std::size_t first_block = 1024, largest_block = std::size_t{256} << 10;

  void* take(std::size_t bytes) {
    if (bytes > left_) {
      const std::size_t size = std::max(bytes, next_block_);
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      next_block_ = std::min(2 * next_block_, largest_block);
      free_ = blocks_.back().get();
      left_ = size;
    }
    void* place = free_;
    free_ += bytes;
    left_ -= bytes;
    return place;
  }

  std::vector<const Object*> objects_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* free_ = nullptr;
  std::size_t left_ = 0;
  std::size_t next_block_ = first_block;
};

inline std::string_view Value::view() const {
  return as<Text>().bytes;
}
inline const std::vector<Value>& Value::items() const {
  return as<List>().items;
}

}  // namespace modelutils::jinja
