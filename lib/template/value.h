// Python values during rendering, as far as chat templates need them, and the reason why a template fails. A Value is
// 16 bytes and points into the Heap of its rendering (or, for constants, of the parsed template). The Heap frees
// everything at once; there is no reference counting, because a namespace may contain itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::jinja {

enum class Kind : u8 {
  missing,    ///< a variable without a value yet; never the result of an expression
  undefined,  ///< Jinja's Undefined
  none,
  boolean,
  integer,
  big,  ///< an integer beyond 64 bits, stored as decimal digits; supports only printing and equality
  real,
  text,
  list,
  tuple,
  dict,
  view,      ///< keys(), values() or items() of a dict
  range,     ///< like a list, but printed differently
  iterator,  ///< the result of a Python generator
  names,     ///< namespace()
  loop,
  macro,
  function,  ///< a global or a method bound to a value
  cycler,
  joiner,
  self,  ///< the variable `self`
};

/// An allocated object.
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

  /// Returns the object, as T. The caller must have checked kind().
  template <typename T>
  const T& as() const {
    return *static_cast<const T*>(object_);
  }
  /// Mutable access, for kinds that change during rendering: namespace, loop, iterator, cycler, joiner.
  template <typename T>
  T& changing() const {
    return *const_cast<T*>(static_cast<const T*>(object_));
  }

  /// Returns the bytes of a text.
  std::string_view view() const;
  /// Returns the items of a list, tuple or range.
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
  bool is_markup;      ///< markupsafe's Markup: text added to it is escaped

  bool is_ascii() const { return length == bytes.size(); }
};

struct List : Object {
  explicit List(std::vector<Value> values) : items(std::move(values)) {}
  std::vector<Value> items;
};

/// Keeps keys in insertion order. Equal keys (1, 1.0 and True) keep the position of the first.
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;

  /// `key_text` is hash_text() of the key.
  void put(const std::string& key_text, Value key, Value value);
  const Value* find(const std::string& key_text) const;
  /// Returns the value of a text key, or nullptr.
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

/// The remaining items of a generator. All items are computed in advance; if computing one failed, the failure is
/// reported when it is reached.
struct Iterator : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  Failure* failure = nullptr;
};

struct Undefined : Object {
  explicit Undefined(std::string text, bool unsafe) : message(std::move(text)), is_unsafe(unsafe) {}
  std::string message;
  bool is_unsafe;  ///< hidden by the sandbox: using it is a security error
};

constexpr u64 bytes_of_name = 64;  // the pair, and the spare capacity of the vector
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

/// Allocates objects in blocks, because a template needs thousands of small ones, and frees all of them when it is
/// destroyed.
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
    objects_.push_back(nullptr);  // reserves the entry first, so that the object is not lost if push_back() throws
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

// The reason why a template could not be parsed or rendered.

enum class FailureKind : u8 {
  syntax,       ///< Jinja would not compile it
  runtime,      ///< Jinja, or Python below it, would raise an exception
  raised,       ///< the template's own raise_exception()
  unsupported,  ///< Jinja would render it, this engine cannot
  limit,        ///< more steps, memory, output or depth than Limits allow
};

/// Allocated on the Heap of the rendering, so that each step of the engine returns only one pointer.
struct Failure : Object {
  Failure(FailureKind what, std::string text) : kind(what), message(std::move(text)) {}
  FailureKind kind;
  std::string message;
  std::optional<std::size_t> at = {};  ///< byte in the source (template/tokens.h) where the innermost failing
                                       ///< expression starts
};

/// A value, or a pointer to a Failure on the Heap.
template <typename T>
using Outcome = tl::expected<T, Failure*>;

}  // namespace modelutils::jinja
