// The values that a pickle's opcodes make, as nodes of one arena: no value owns another, so that a graph of 2^60 paths
// or a nesting of 300,000 levels costs what its opcodes cost. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::pytorch {

/// Place of a value in its arena.
using ValueId = u32;

enum class ValueKind : u8 {
  none,
  boolean,
  integer,
  big_integer,  ///< does not fit into 64 bits
  real,
  text,
  bytes,
  tuple,
  list,
  dict,
  set,
  global,   ///< a name of a module that the pickle asked for
  storage,  ///< what a persistent id stands for
  tensor,
  object,  ///< something allowed that has no part in a tensor: a device, a counter, a numpy scalar
  opaque,  ///< what a global outside the list would have made
};

std::string_view kind_name(ValueKind kind);

struct Value {
  ValueKind kind = ValueKind::none;
  bool takes_state = false;  ///< BUILD is allowed: an OrderedDict, a Parameter, a numpy.dtype
  u32 count = 0;             ///< text, bytes: their length; tuple: its items
  /// boolean, integer: the number; text, bytes: place of the first byte; tuple: of the first item; list, dict, set: of
  /// the container; global, storage, tensor: place in the machine's list of them.
  i64 number = 0;
};

class Values {
 public:
  /// More than a checkpoint of a million tensors needs, and what a hostile one may cost.
  static constexpr std::size_t max_values = 8'000'000;

  bool is_full() const { return values_.size() >= max_values || items_.size() >= max_values * 4; }

  ValueId add(Value value);
  ValueId add_text(ValueKind kind, std::string_view text);
  ValueId add_tuple(std::span<const ValueId> items);
  /// list, dict (keys and values in turn) or set.
  ValueId add_container(ValueKind kind, std::span<const ValueId> items = {});
  void append(ValueId container, std::span<const ValueId> items);

  const Value& operator[](ValueId id) const { return values_[id]; }
  Value& operator[](ValueId id) { return values_[id]; }
  std::string_view text(ValueId id) const;
  /// Of a tuple or container.
  std::span<const ValueId> items(ValueId id) const;
  /// The value last put under this text key, or nothing.
  const ValueId* find(ValueId dict, std::string_view key) const;
  bool is(ValueId id, ValueKind kind) const { return values_[id].kind == kind; }

 private:
  std::vector<Value> values_;
  std::string texts_;
  std::vector<ValueId> items_;  // of tuples
  std::deque<std::vector<ValueId>> containers_;
};

}  // namespace modelutils::pytorch
