// What the allowed globals make of their arguments.
#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

namespace {

constexpr std::size_t max_dims = 64;  // torch's own limit

}  // namespace

std::string PickleMachine::arguments_text(ValueId arguments) const {
  constexpr std::size_t most_arguments = 3, most_text = 80;
  const std::span<const ValueId> items = values_.items(arguments);
  if (items.empty()) return "no arguments";
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most_arguments); ++i) {
    if (i > 0) text += ", ";
    const Value& value = values_[items[i]];
    if (value.kind == ValueKind::text) {
      const std::string_view whole = values_.text(items[i]);
      text += fmt::format("'{}{}'", whole.substr(0, most_text), whole.size() > most_text ? "…" : "");
    } else if (value.kind == ValueKind::integer) {
      text += fmt::format("{}", value.number);
    } else if (value.kind == ValueKind::global) {
      text += globals_[static_cast<std::size_t>(value.number)].full_name();
    } else {
      text += kind_name(value.kind);
    }
  }
  if (items.size() > most_arguments) text += ", …";
  return text;
}

bool PickleMachine::whole_number(ValueId id, std::string_view what, u64& number) {
  const Value& value = values_[id];
  if (value.kind != ValueKind::integer || value.number < 0) {
    return fail("pt-tensor", value.kind == ValueKind::integer
                                 ? fmt::format("{} is {}, which is negative", what, value.number)
                                 : fmt::format("{} is {}; a whole number is expected", what, kind_name(value.kind)));
  }
  number = static_cast<u64>(value.number);
  return true;
}

bool PickleMachine::numbers(ValueId id, std::string_view what, std::vector<u64>& out) {
  if (!values_.is(id, ValueKind::tuple) && !values_.is(id, ValueKind::list)) {
    return fail("pt-tensor", fmt::format("{} is {}; a tuple is expected", what, kind_name(values_[id].kind)));
  }
  const std::span<const ValueId> items = values_.items(id);
  if (items.size() > max_dims) {
    return fail("pt-tensor", fmt::format("{} has {} members; at most {} are allowed", what, items.size(), max_dims));
  }
  for (const ValueId item : items) {
    u64 number = 0;
    if (!whole_number(item, what, number)) return false;
    out.push_back(number);
  }
  return true;
}

bool PickleMachine::rebuild_storage(std::span<const ValueId> id, ValueId& made) {
  constexpr std::size_t fewest = 5, with_view = 6;
  if (id.size() < fewest || !values_.is(id[0], ValueKind::text) || values_.text(id[0]) != "storage") {
    return fail("pt-storage", "a persistent id that is not ('storage', class, key, location, numel)");
  }
  if (!values_.is(id[1], ValueKind::global)) {
    return fail("pt-storage", fmt::format("the class of a storage is {}", kind_name(values_[id[1]].kind)));
  }
  const GlobalUse& storage_class = globals_[static_cast<std::size_t>(values_[id[1]].number)];
  if (!storage_class.known || storage_class.known->role != GlobalRole::storage_class) {
    return fail("pt-storage", fmt::format("{} is not a class of storages", storage_class.full_name()));
  }
  if (!values_.is(id[2], ValueKind::text) || values_.text(id[2]).find('/') != std::string_view::npos) {
    return fail("pt-storage", "the key of a storage is not a text, or leads elsewhere");
  }
  StorageUse use{std::string(values_.text(id[2])), *storage_class.known, 0, 0, opcode_at_};
  if (!whole_number(id[4], "the length of a storage", use.elements)) return false;
  if (id.size() >= with_view && !values_.is(id[5], ValueKind::none)) {
    // (key, offset, size): the storage is that part of its root.
    const std::span<const ValueId> view =
        values_.is(id[5], ValueKind::tuple) ? values_.items(id[5]) : std::span<const ValueId>();
    u64 size = 0;
    if (view.size() != 3) return fail("pt-storage", "the view of a storage is not (key, offset, size)");
    if (!whole_number(view[1], "the offset of a storage's view", use.view_offset) ||
        !whole_number(view[2], "the size of a storage's view", size)) {
      return false;
    }
    if (use.view_offset > use.elements || size > use.elements - use.view_offset) {
      return fail("pt-storage", "the view of a storage goes past its end");
    }
  }
  storages_.push_back(std::move(use));
  made = values_.add({ValueKind::storage, false, 0, static_cast<i64>(storages_.size() - 1)});
  return true;
}

bool PickleMachine::rebuild_tensor(GlobalRole role, std::span<const ValueId> arguments, ValueId& made) {
  // v1: storage, offset, size, stride; v2: and requires_grad, hooks[, metadata]; v3: and requires_grad, hooks, dtype[,
  // metadata]
  const std::size_t fewest = role == GlobalRole::rebuild_tensor ? 4 : role == GlobalRole::rebuild_tensor_v2 ? 6 : 7;
  if (arguments.size() < fewest || arguments.size() > fewest + 1) {
    return fail("pt-tensor",
                fmt::format("a tensor is rebuilt from {} arguments; {} are expected", arguments.size(), fewest));
  }
  if (!values_.is(arguments[0], ValueKind::storage)) {
    return fail("pt-tensor", fmt::format("a tensor is rebuilt from {}; a storage is expected",
                                         kind_name(values_[arguments[0]].kind)));
  }
  const StorageUse& storage = storages_[static_cast<std::size_t>(values_[arguments[0]].number)];
  TensorUse use;
  use.storage = arguments[0];
  use.type = storage.storage_class.type;
  use.element_bytes = storage.storage_class.element_bytes;
  use.position = opcode_at_;
  if (role == GlobalRole::rebuild_tensor_v3) {
    const Value& dtype = values_[arguments[6]];
    const GlobalUse* global =
        dtype.kind == ValueKind::global ? &globals_[static_cast<std::size_t>(dtype.number)] : nullptr;
    if (global == nullptr || !global->known || global->known->role != GlobalRole::dtype) {
      return fail("pt-tensor", "the dtype of a tensor is not one of torch's");
    }
    use.type = global->known->type;
    use.element_bytes = global->known->element_bytes;
  }
  if (!whole_number(arguments[1], "the offset of a tensor", use.offset) ||
      !numbers(arguments[2], "the size of a tensor", use.shape) ||
      !numbers(arguments[3], "the stride of a tensor", use.strides)) {
    return false;
  }
  if (use.shape.size() != use.strides.size()) {
    return fail("pt-tensor", fmt::format("a tensor has {} sizes and {} strides", use.shape.size(), use.strides.size()));
  }
  if (!use.type && use.element_bytes == 1) {
    return fail("pt-tensor", "a tensor without a dtype over an untyped storage");
  }
  tensors_.push_back(std::move(use));
  made = values_.add({ValueKind::tensor, false, 0, static_cast<i64>(tensors_.size() - 1)});
  return true;
}

bool PickleMachine::call(GlobalUse& global, ValueId argument_tuple) {
  const std::span<const ValueId> view = values_.items(argument_tuple);
  const std::vector<ValueId> arguments(view.begin(), view.end());
  ValueId made = 0;
  switch (global.known->role) {
    case GlobalRole::ordered_dict:
    case GlobalRole::counter: {
      made = values_.add_container(ValueKind::dict);
      values_[made].takes_state = true;
      if (arguments.empty()) return push(made);
      // As Python 2 writes it: a list of pairs; a Counter gets a dict.
      for (const ValueId entry :
           arguments.size() == 1 && values_.is(arguments[0], ValueKind::list)
               ? std::vector<ValueId>(values_.items(arguments[0]).begin(), values_.items(arguments[0]).end())
               : std::vector<ValueId>()) {
        if ((!values_.is(entry, ValueKind::list) && !values_.is(entry, ValueKind::tuple)) ||
            values_.items(entry).size() != 2) {
          return broken("an OrderedDict is made of entries that are not pairs");
        }
        const std::vector<ValueId> pair(values_.items(entry).begin(), values_.items(entry).end());
        values_.append(made, pair);
      }
      return push(made);
    }
    case GlobalRole::set: return push(values_.add_container(ValueKind::set));
    case GlobalRole::encode:
    case GlobalRole::plain: return push(values_.add({ValueKind::object, false, 0, 0}));
    case GlobalRole::numpy_dtype: return push(values_.add({ValueKind::object, true, 0, 0}));
    case GlobalRole::size:
      if (arguments.size() != 1 || !values_.is(arguments[0], ValueKind::tuple))
        return broken("torch.Size of something else than a tuple");
      return push(arguments[0]);
    case GlobalRole::rebuild_tensor:
    case GlobalRole::rebuild_tensor_v2:
    case GlobalRole::rebuild_tensor_v3: return rebuild_tensor(global.known->role, arguments, made) && push(made);
    case GlobalRole::rebuild_parameter:
    case GlobalRole::rebuild_parameter_with_state:
    case GlobalRole::parameter: {
      if (arguments.empty() || !values_.is(arguments[0], ValueKind::tensor)) {
        return fail("pt-tensor", "a parameter is made of something else than a tensor");
      }
      Value parameter = values_[arguments[0]];
      parameter.takes_state = true;
      return push(values_.add(parameter));
    }
    case GlobalRole::dtype:
    case GlobalRole::storage_class: break;
  }
  return broken(fmt::format("calls {}, which is not a function", global.full_name()));
}

}  // namespace modelutils::pytorch
