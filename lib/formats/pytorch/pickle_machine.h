// Executes a pickle's opcodes on a stack of plain values, without importing or calling anything: a name that is not
// listed becomes an opaque value and a finding. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/name_index.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::pytorch {

// The values that a pickle builds, as nodes in an arena. No value owns another, so a graph with 2^60 paths or nesting
// of 300,000 levels costs no more than its opcodes.

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
  /// Returns the bytes of a text or bytes value.
  std::string_view text(ValueId id) const { return texts_.name(static_cast<u32>(values_[id].number)); }
  /// Returns the items of a tuple or container.
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

/// The role of a name that a checkpoint's pickle may import: constructors of tensors, and plain data types. Any other
/// name is a finding.
enum class GlobalRole : u8 {
  ordered_dict,
  counter,
  encode,  ///< _codecs.encode, which protocol 2 uses to write bytes
  set,
  plain,  ///< bytearray, complex, torch.device and the like: any plain arguments, yields an object
  size,   ///< torch.Size, a tuple
  dtype,
  numpy_dtype,
  rebuild_tensor,
  rebuild_tensor_v2,
  rebuild_tensor_v3,
  rebuild_parameter,
  rebuild_parameter_with_state,
  parameter,
  storage_class,
};

struct KnownGlobal {
  GlobalRole role;
  std::optional<TensorType> type;  ///< for dtypes and storage classes; nullopt if we do not support the type
  u32 element_bytes = 1;           ///< for dtypes and storage classes
};

/// Returns nullopt if module and name together are not on the list.
std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name);

enum class CheckpointForm : u8 { zip, legacy };

/// A global named by the pickle; one entry per name.
struct GlobalUse {
  std::string module;
  std::string name;
  std::optional<KnownGlobal> known;
  u64 position = 0;              ///< position of the first opcode that names it
  std::optional<u64> called_at;  ///< position of the first opcode that would call it
  std::string arguments;         ///< arguments of that call, for display: "'curl …'"

  std::string full_name() const { return module + "." + name; }
};

/// A storage as its persistent id describes it. Describing the same key differently is an error.
struct StorageUse {
  std::string key;  ///< key of the root storage
  KnownGlobal storage_class;
  u64 elements = 0;  ///< size of the root storage
  /// Legacy form: the range of the root storage's elements. Otherwise all of them.
  u64 view_offset = 0;
  u64 view_elements = 0;
};

/// A tensor as described by the call that rebuilds it; offset and strides in elements, not validated yet.
struct TensorUse {
  ValueId storage = 0;  ///< a value of kind storage
  std::optional<TensorType> type;
  u32 element_bytes = 1;
  u64 offset = 0;
  ValueId shape = 0;  ///< shape and strides are tuples of non-negative numbers, of equal length
  ValueId strides = 0;
  u64 position = 0;
};

/// A value attached to another one other than by key or index: an object's arguments, or the attributes of an
/// OrderedDict or Parameter.
struct Attachment {
  ValueId to = 0;
  ValueId value = 0;
};

class PickleMachine {
 public:
  /// `name` is the pickle's name for messages; `base` its absolute offset in the file, if it is stored uncompressed;
  /// `form` determines the persistent ids accepted.
  PickleMachine(std::string name, std::optional<u64> base, CheckpointForm form = CheckpointForm::zip)
      : name_(std::move(name)), base_(base), form_(form) {}

  /// Runs to STOP. Returns false, after a finding, if the pickle is invalid or refused. `bytes` may extend beyond STOP.
  bool run(Bytes bytes);

  /// After run() returned true: the value on top of the stack, and the number of bytes used.
  ValueId root() const { return root_; }
  u64 used() const { return position_; }
  /// True if run() failed because it reached the end of the bytes.
  bool ended() const { return ended_; }

  const Values& values() const { return values_; }
  const std::vector<GlobalUse>& globals() const { return globals_; }
  const std::vector<StorageUse>& storages() const { return storages_; }
  const std::vector<TensorUse>& tensors() const { return tensors_; }
  /// Sorted by `to`.
  const std::vector<Attachment>& attachments() const { return attachments_; }
  /// Returns the numbers in TensorUse::shape or ::strides.
  std::vector<u64> numbers(ValueId tuple) const;
  /// Returns the findings, including one for each global that is not listed. Call once, at the end.
  FindingLog take_findings();

 private:
  // These read an opcode's argument. They return false, after a finding, if the pickle is too short.
  bool take(u64 size, std::string_view& out);
  bool take_line(std::string_view& out);
  template <typename T>
  bool take_number(T& out);
  template <typename T>
  bool take_counted(std::string_view& out);

  bool fail(std::string_view code, std::string message);
  bool broken(std::string message) { return fail("pt-pickle", std::move(message)); }

  bool push(ValueId value);
  bool pop(ValueId& value);
  /// Pops everything pushed since the last MARK, and the MARK.
  bool pop_to_mark(std::vector<ValueId>& items);
  bool top_container(ValueKind kind, ValueId& value, std::string_view opcode);

  bool step(u8 code);
  bool push_number(u8 code);
  bool push_text(u8 code);
  bool push_container(u8 code);
  bool change_container(u8 code);
  bool change_memo(u8 code);
  bool push_long(std::string_view little_endian);
  bool push_decimal(std::string_view line);
  bool remember(u64 slot);
  void report_overwritten(u64 slot);
  bool recall(u64 slot);
  bool parse_slot(std::string_view line, u64& slot);
  bool persistent_id();

  // Globals and calls, in pickle_opcodes.cc.
  bool enter_global(std::string_view module, std::string_view name, bool is_instance, u32& number);
  bool push_global(std::string_view module, std::string_view name);
  bool stack_global();
  bool instance_of(std::string_view module, std::string_view name, u64 arguments);
  bool instance_of(ValueId object_class, std::string_view opcode, u64 arguments);
  bool reduce(bool is_new_object);

  // Results of calls, in rebuild.cc.
  bool build();
  bool call(GlobalUse& global, ValueId arguments, bool is_new_object);
  bool push_object(ValueId arguments, bool takes_state);
  bool make_dict(const GlobalUse& global, ValueId arguments);
  bool make_set(ValueId arguments);
  bool make_parameter(const GlobalUse& global, ValueId arguments);
  bool copy_items(ValueId from, std::vector<ValueId>& out);
  bool check_attributes(ValueId state);
  bool check_metadata(ValueId metadata);
  bool rebuild_tensor(GlobalRole role, std::span<const ValueId> arguments, ValueId& made);
  std::string arguments_text(ValueId arguments) const;

  // Storages, in rebuild.cc.
  bool rebuild_storage(std::span<const ValueId> id, ValueId& made);
  bool enter_storage(std::string_view key, StorageUse use, ValueId& made);
  bool whole_number(ValueId id, std::string_view what, u64& number);
  bool check_numbers(ValueId id, std::string_view what, ValueId& tuple);

  std::string name_;
  std::optional<u64> base_;
  CheckpointForm form_;
  Bytes bytes_;
  u64 position_ = 0;
  u64 opcode_at_ = 0;
  u8 protocol_ = 0;
  bool stopped_ = false;
  bool ended_ = false;
  ValueId root_ = 0;
  Values values_;
  std::vector<ValueId> stack_;
  std::vector<u32> marks_;  // stack heights
  std::vector<ValueId> memo_;
  std::unordered_map<u64, ValueId> sparse_memo_;  // slots beyond the end of memo_
  std::vector<GlobalUse> globals_;
  std::unordered_map<std::string, u32> global_numbers_;  // by enter_global()'s key
  std::unordered_map<u64, u32> stack_globals_;           // by the two operands of STACK_GLOBAL
  u64 joined_bytes_ = 0;                                 // total size of names joined by STACK_GLOBAL
  u64 copied_items_ = 0;                                 // items copied between containers
  std::vector<StorageUse> storages_;
  std::unordered_map<std::string, ValueId> storage_keys_;  // keys of storages and, in the legacy form, of their views
  std::vector<TensorUse> tensors_;
  std::vector<Attachment> attachments_;
  FindingLog findings_;
};

template <typename T>
bool PickleMachine::take_number(T& out) {
  std::string_view text;
  if (!take(sizeof(T), text)) return false;
  out = load<T>(text.data());
  return true;
}

template <typename T>
bool PickleMachine::take_counted(std::string_view& out) {
  T size{};
  return take_number(size) && take(size, out);
}

}  // namespace modelutils::pytorch
