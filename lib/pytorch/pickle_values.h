// The values that a pickle's opcodes make, as nodes of one arena: no value owns another, so that a graph of 2^60 paths
// or a nesting of 300,000 levels costs what its opcodes cost. Source: docs/formats/pytorch.md, "The pickle".
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
  u32 count = 0;             ///< tuple: its items
  /// boolean, integer: the number; real: the bits of the double; text, bytes: number of the text; tuple: place of the
  /// first item; list, dict, set: of the container; global, storage, tensor: place in the machine's list of them.
  i64 number = 0;
};

class Values {
 public:
  /// More than a checkpoint of a million tensors needs, and what a hostile one may cost.
  static constexpr std::size_t max_values = 8'000'000;

  Values();

  bool is_full() const { return values_.size() >= max_values || items_.size() >= max_values * 4; }

  ValueId add(Value value);
  /// None, True, False and small numbers are one value each, however often a pickle makes them.
  ValueId none() const { return 0; }
  ValueId boolean(bool value) const { return value ? 2 : 1; }
  ValueId integer(i64 number);
  ValueId real(double number);
  ValueId add_text(ValueKind kind, std::string_view text);
  ValueId add_tuple(std::span<const ValueId> items);
  /// list, dict (keys and values in turn) or set.
  ValueId add_container(ValueKind kind, std::span<const ValueId> items = {});
  void append(ValueId container, std::span<const ValueId> items);

  /// Leaves one entry for each key of every dict, as Python does: the place and the key of the first, the value of the
  /// last. Keys that are texts or numbers are compared; 1, 1.0 and True are one key.
  void merge_equal_keys();

  const Value& operator[](ValueId id) const { return values_[id]; }
  Value& operator[](ValueId id) { return values_[id]; }
  /// Of a text or bytes.
  std::string_view text(ValueId id) const { return texts_.name(static_cast<u32>(values_[id].number)); }
  /// Of a tuple or container.
  std::span<const ValueId> items(ValueId id) const;
  /// The value last put under this text key, or nothing.
  const ValueId* find(ValueId dict, std::string_view key) const;
  bool is(ValueId id, ValueKind kind) const { return values_[id].kind == kind; }
  std::size_t size() const { return values_.size(); }

 private:
  /// The bytes of a text, in a place that does not move.
  std::string_view kept(std::string_view text);

  std::deque<Value> values_;
  NameIndex texts_;  // equal texts have one number
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::span<char> free_;  // of the last chunk
  std::vector<ValueId> small_numbers_;
  std::vector<ValueId> items_;  // of tuples
  std::deque<std::vector<ValueId>> containers_;
  std::vector<ValueId> dicts_;  // those that have entries
};

}  // namespace modelutils::pytorch
