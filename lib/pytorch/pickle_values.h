// The values that a pickle builds, as nodes in an arena. No value owns another, so a graph with 2^60 paths or nesting
// of 300,000 levels costs no more than its opcodes. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "base/types.h"

namespace modelutils::pytorch {

/// Index of a value in its arena.
using ValueId = u32;

enum class ValueKind : u8 {
  none,
  boolean,
  integer,
  big_integer,  ///< more than 64 bits
  real,
  text,
  bytes,
  tuple,
  list,
  dict,
  set,
  global,   ///< a function or class named by the pickle
  storage,  ///< identified by a persistent id
  tensor,
  object,  ///< allowed data that is not part of a tensor: a device, a counter, a numpy scalar
  opaque,  ///< a result of a global that is not listed
};

std::string_view kind_name(ValueKind kind);

struct Value {
  ValueKind kind = ValueKind::none;
  bool takes_state = false;  ///< BUILD is allowed, as for an OrderedDict, a Parameter or a numpy.dtype
  u32 count = 0;             ///< number of items in a tuple
  /// boolean, integer: the number; real: the double's bits; text, bytes: the text's number; tuple: index of the first
  /// item; list, dict, set: index of the container; global, storage, tensor: index in the machine's list of them.
  i64 number = 0;
};

class Values {
 public:
  /// Limit against hostile pickles, above the needs of a checkpoint with a million tensors.
  static constexpr std::size_t max_values = 8'000'000;

  Values();

  bool is_full() const { return values_.size() >= max_values || items_.size() >= max_values * 4; }

  ValueId add(Value value);
  /// None, booleans and small integers share one value each.
  ValueId none() const { return 0; }
  ValueId boolean(bool value) const { return value ? 2 : 1; }
  ValueId integer(i64 number);
  ValueId real(double number);
  ValueId add_text(ValueKind kind, std::string_view text);
  ValueId add_tuple(std::span<const ValueId> items);
  /// Makes a list, a dict (keys and values alternate) or a set.
  ValueId add_container(ValueKind kind, std::span<const ValueId> items = {});
  void append(ValueId container, std::span<const ValueId> items);

  /// Leaves one entry per key in every dict, like Python: position and key of the first, value of the last. Compares
  /// only text and number keys; 1, 1.0 and True are equal.
  void merge_equal_keys();

  const Value& operator[](ValueId id) const { return values_[id]; }
  Value& operator[](ValueId id) { return values_[id]; }
  /// The bytes of a text or bytes value.
  std::string_view text(ValueId id) const { return texts_.name(static_cast<u32>(values_[id].number)); }
  /// The items of a tuple or container.
  std::span<const ValueId> items(ValueId id) const;
  /// Returns the last value stored under a text key, or nullptr.
  const ValueId* find(ValueId dict, std::string_view key) const;
  bool is(ValueId id, ValueKind kind) const { return values_[id].kind == kind; }
  std::size_t size() const { return values_.size(); }

 private:
  /// Copies the text to memory that does not move.
  std::string_view kept(std::string_view text);

  std::deque<Value> values_;
  NameIndex texts_;  // equal texts share a number
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::span<char> free_;  // rest of the last chunk
  std::vector<ValueId> small_numbers_;
  std::vector<ValueId> items_;  // items of tuples
  std::deque<std::vector<ValueId>> containers_;
  std::vector<ValueId> dicts_;  // non-empty dicts
};

}  // namespace modelutils::pytorch
