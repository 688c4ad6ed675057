// A pickle's opcodes carried out on a stack of plain values. Nothing is imported and nothing is called: a name outside
// the list of globals.h becomes an opaque value and a finding. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "pytorch/globals.h"
#include "pytorch/pickle_values.h"

namespace modelutils::pytorch {

enum class CheckpointForm : u8 { zip, legacy };

/// A global that the pickle asked for, once for each name.
struct GlobalUse {
  std::string module;
  std::string name;
  std::optional<KnownGlobal> known;
  u64 position = 0;              ///< of the first opcode in the pickle that names it
  std::optional<u64> called_at;  ///< of the first opcode that would call it
  std::string arguments;         ///< of that call, for people: "'curl …'"

  std::string full_name() const { return module + "." + name; }
};

/// What a persistent id says of a storage. Each key has one: a second description that differs is refused.
struct StorageUse {
  std::string key;  ///< of the root storage
  KnownGlobal storage_class;
  u64 elements = 0;  ///< of the root storage
  /// Legacy form: which elements of the root storage this one is. Else all.
  u64 view_offset = 0;
  u64 view_elements = 0;
};

/// A tensor as its rebuilding call describes it; sizes and strides in elements, not judged yet.
struct TensorUse {
  ValueId storage = 0;  ///< a value of kind storage
  std::optional<TensorType> type;
  u32 element_bytes = 1;
  u64 offset = 0;
  ValueId shape = 0;  ///< tuples of numbers that are not negative, of one length
  ValueId strides = 0;
  u64 position = 0;
};

/// A value that has another one with it where no key or index leads: the arguments of an object, the attributes of an
/// OrderedDict or Parameter.
struct Attachment {
  ValueId to = 0;
  ValueId value = 0;
};

class PickleMachine {
 public:
  /// `base`: absolute offset of the pickle's first byte in the file, if it is stored there as it is. `name`: of the
  /// pickle, for messages. `form`: which persistent ids a loader understands.
  PickleMachine(std::string name, std::optional<u64> base, CheckpointForm form = CheckpointForm::zip)
      : name_(std::move(name)), base_(base), form_(form) {}

  /// Runs to STOP. False if the pickle is broken or refused, which is a finding then. `bytes` may go on behind STOP.
  bool run(Bytes bytes);

  /// After run() gave true: the value on top of the stack, and how many bytes were used.
  ValueId root() const { return root_; }
  u64 used() const { return position_; }
  /// run() stopped because the bytes ended.
  bool ended() const { return ended_; }

  const Values& values() const { return values_; }
  const std::vector<GlobalUse>& globals() const { return globals_; }
  const std::vector<StorageUse>& storages() const { return storages_; }
  const std::vector<TensorUse>& tensors() const { return tensors_; }
  /// Ordered by the values that they belong to.
  const std::vector<Attachment>& attachments() const { return attachments_; }
  /// Of TensorUse::shape or ::strides.
  std::vector<u64> numbers(ValueId tuple) const;
  /// What was found, and a finding for each name outside the list. Call once, at the end.
  FindingLog take_findings();

 private:
  // Reading arguments: false (with a finding) if the bytes are not there.
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
  /// What was pushed since the last MARK, which is taken away.
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

  // pickle_globals.cc
  bool enter_global(std::string_view module, std::string_view name, bool is_instance, u32& number);
  bool push_global(std::string_view module, std::string_view name);
  bool stack_global();
  bool instance_of(std::string_view module, std::string_view name, u64 arguments);
  bool instance_of(ValueId object_class, std::string_view opcode, u64 arguments);
  bool reduce(bool is_new_object);

  // rebuild.cc
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

  // rebuild_storage.cc
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
  std::vector<u32> marks_;  // heights of the stack
  std::vector<ValueId> memo_;
  std::unordered_map<u64, ValueId> sparse_memo_;  // slots beyond those of memo_
  std::vector<GlobalUse> globals_;
  std::unordered_map<std::string, u32> global_numbers_;  // by what enter_global() makes of a name
  std::unordered_map<u64, u32> stack_globals_;           // by the two values of STACK_GLOBAL
  u64 joined_bytes_ = 0;                                 // of the names that STACK_GLOBAL joined
  u64 copied_items_ = 0;                                 // from one container to another
  std::vector<StorageUse> storages_;
  std::unordered_map<std::string, ValueId> storage_keys_;  // of storages and, in the legacy form, of their views
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
