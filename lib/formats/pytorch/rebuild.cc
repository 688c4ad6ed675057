// Results of calling the allowed globals.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/escape.h"
#include "formats/pytorch/pickle_machine.h"

namespace modelutils::pytorch {

namespace {

// Setting one of these attributes replaces the values of a tensor, or parts of them.
constexpr std::array value_attributes = {"data", "real", "imag"};

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

bool PickleMachine::rebuild_tensor(GlobalRole role, std::span<const ValueId> arguments, ValueId& made) {
  // v1: storage, offset, size, stride; v2: also requires_grad, hooks[, metadata]; v3: also requires_grad, hooks,
  // dtype[, metadata].
  const std::size_t fewest = role == GlobalRole::rebuild_tensor ? 4 : role == GlobalRole::rebuild_tensor_v2 ? 6 : 7;
  const std::size_t most = role == GlobalRole::rebuild_tensor ? fewest : fewest + 1;
  if (arguments.size() < fewest || arguments.size() > most) {
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
      !check_numbers(arguments[2], "the size of a tensor", use.shape) ||
      !check_numbers(arguments[3], "the stride of a tensor", use.strides)) {
    return false;
  }
  const std::size_t sizes = values_.items(use.shape).size(), strides = values_.items(use.strides).size();
  if (sizes != strides) return fail("pt-tensor", fmt::format("a tensor has {} sizes and {} strides", sizes, strides));
  if (arguments.size() > fewest && !check_metadata(arguments.back())) return false;
  if (!use.type && use.element_bytes == 1) {
    return fail("pt-tensor", "a tensor without a dtype over an untyped storage");
  }
  tensors_.push_back(std::move(use));
  made = values_.add({ValueKind::tensor, false, 0, static_cast<i64>(tensors_.size() - 1)});
  return true;
}

/// torch sets the bits "neg" and "conj" of a tensor if its metadata contains these keys, regardless of their value. The
/// stored elements are then not the tensor's values.
bool PickleMachine::check_metadata(ValueId metadata) {
  if (values_.is(metadata, ValueKind::none)) return true;
  if (!values_.is(metadata, ValueKind::dict)) {
    return fail("pt-tensor", fmt::format("the metadata of a tensor is {}", kind_name(values_[metadata].kind)));
  }
  if (values_.items(metadata).empty()) return true;
  if (values_.find(metadata, "neg") != nullptr) {
    return fail("pt-tensor", "a tensor is negated lazily ('neg'); save its resolve_neg() instead");
  }
  if (values_.find(metadata, "conj") != nullptr) {
    return fail("pt-tensor", "a tensor is conjugated lazily ('conj'); save its resolve_conj() instead");
  }
  return fail("pt-tensor", "a tensor has metadata of an unknown kind");
}

/// Checks the attributes that torch sets on a Parameter: a dict, or a pair of dicts. None may change its values.
bool PickleMachine::check_attributes(ValueId state) {
  std::vector<ValueId> dicts = {state};
  if (values_.is(state, ValueKind::tuple) && !copy_items(state, dicts)) return false;
  if (dicts.size() != 1 && dicts.size() != 3) return fail("pt-tensor", "the state of a Parameter is not a pair");
  for (const ValueId dict : std::span(dicts).subspan(dicts.size() == 3 ? 1 : 0)) {
    if (values_.is(dict, ValueKind::none)) continue;
    if (!values_.is(dict, ValueKind::dict)) {
      return fail("pt-tensor", fmt::format("the state of a Parameter is {}", kind_name(values_[dict].kind)));
    }
    std::vector<ValueId> entries;
    if (!copy_items(dict, entries)) return false;
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      if (!values_.is(entries[i], ValueKind::text)) return fail("pt-tensor", "an attribute's name is not a text");
      const std::string_view name = values_.text(entries[i]);
      if (std::ranges::find(value_attributes, name) != value_attributes.end() || name.starts_with("__")) {
        return fail("pt-tensor", fmt::format("the state of a Parameter sets '{}', which can replace its values",
                                             name.substr(0, name.starts_with("__") ? 40 : name.size())));
      }
    }
  }
  return true;
}

bool PickleMachine::build() {
  ValueId state = 0, object = 0;
  if (!pop(state) || !pop(object)) return false;
  stack_.push_back(object);
  const Value& value = values_[object];
  if (value.kind == ValueKind::opaque) return true;
  if (!value.takes_state) return broken(fmt::format("BUILD on {}", kind_name(value.kind)));
  if (value.kind == ValueKind::tensor) {
    // torch's Tensor.__setstate__ takes (requires_grad, _, hooks); with four or five items it replaces the values.
    const bool is_harmless = values_.is(state, ValueKind::tuple) && values_.items(state).size() == 3;
    if (!is_harmless) {
      return fail(
          "pt-tensor",
          fmt::format("BUILD gives a Parameter {}{}, which can replace its values", kind_name(values_[state].kind),
                      values_.is(state, ValueKind::tuple) ? fmt::format(" of {}", values_.items(state).size())
                                                          : std::string()));
    }
  }
  attachments_.push_back({object, state});
  return true;
}

/// Appends the items of a container or tuple to `out`. In a legitimate pickle each item is copied at most once, so
/// copying more items than the pickle has bytes is refused.
bool PickleMachine::copy_items(ValueId from, std::vector<ValueId>& out) {
  const std::span<const ValueId> items = values_.items(from);
  copied_items_ += items.size();
  if (copied_items_ > bytes_.size()) return fail("pt-limit", "copies containers over and over");
  out.insert(out.end(), items.begin(), items.end());
  return true;
}

bool PickleMachine::push_object(ValueId arguments, bool takes_state) {
  const ValueId made = values_.add({ValueKind::object, takes_state, 0, 0});
  if (!values_.items(arguments).empty()) attachments_.push_back({made, arguments});
  return push(made);
}

bool PickleMachine::make_dict(const GlobalUse& global, ValueId arguments) {
  const ValueId made = values_.add_container(ValueKind::dict);
  values_[made].takes_state = true;
  const std::span<const ValueId> given = values_.items(arguments);
  if (given.empty()) return push(made);
  const bool is_counter = global.known->role == GlobalRole::counter;
  std::vector<ValueId> entries;
  if (given.size() == 1 && values_.is(given[0], ValueKind::dict)) {
    if (!copy_items(given[0], entries)) return false;
    values_.append(made, entries);
    return push(made);
  }
  if (given.size() != 1 || !values_.is(given[0], ValueKind::list) || is_counter) {
    return broken(fmt::format("{} of {}; a {} is allowed", global.full_name(),
                              given.size() == 1 ? kind_name(values_[given[0]].kind) : "several arguments",
                              is_counter ? "dict" : "dict or a list of pairs"));
  }
  // A list of pairs, as Python 2 writes it.
  if (!copy_items(given[0], entries)) return false;
  for (const ValueId entry : entries) {
    std::vector<ValueId> pair;
    if ((!values_.is(entry, ValueKind::list) && !values_.is(entry, ValueKind::tuple)) ||
        values_.items(entry).size() != 2) {
      return broken("an OrderedDict is built from entries that are not pairs");
    }
    if (!copy_items(entry, pair)) return false;
    values_.append(made, pair);
  }
  return push(made);
}

bool PickleMachine::make_set(ValueId arguments) {
  const std::span<const ValueId> given = values_.items(arguments);
  std::vector<ValueId> items;
  if (!given.empty()) {
    const ValueKind kind = values_[given[0]].kind;
    if (given.size() != 1 || (kind != ValueKind::list && kind != ValueKind::tuple && kind != ValueKind::set)) {
      return broken("a set is built from something other than a list");
    }
    if (!copy_items(given[0], items)) return false;
  }
  return push(values_.add_container(ValueKind::set, items));
}

bool PickleMachine::make_parameter(const GlobalUse& global, ValueId argument_tuple) {
  const std::span<const ValueId> arguments = values_.items(argument_tuple);
  const GlobalRole role = global.known->role;
  const std::size_t most = role == GlobalRole::parameter ? 2 : role == GlobalRole::rebuild_parameter ? 3 : 4;
  const std::size_t fewest = role == GlobalRole::parameter ? 1 : most;
  if (arguments.size() < fewest || arguments.size() > most || !values_.is(arguments[0], ValueKind::tensor)) {
    return fail("pt-tensor", "a parameter is built from something other than a tensor");
  }
  const ValueId state = role == GlobalRole::rebuild_parameter_with_state ? arguments[3] : values_.none();
  if (!check_attributes(state)) return false;
  Value parameter = values_[arguments[0]];
  parameter.takes_state = true;
  const ValueId made = values_.add(parameter);
  if (state != values_.none()) attachments_.push_back({made, state});
  return push(made);
}

bool PickleMachine::call(GlobalUse& global, ValueId argument_tuple, bool is_new_object) {
  const GlobalRole role = global.known->role;
  const std::span<const ValueId> arguments = values_.items(argument_tuple);
  if (is_new_object) {
    // NEWOBJ calls only __new__: functions have none, and containers stay empty.
    const bool is_container =
        role == GlobalRole::ordered_dict || role == GlobalRole::counter || role == GlobalRole::set;
    const bool is_class = is_container || role == GlobalRole::plain || role == GlobalRole::numpy_dtype ||
                          role == GlobalRole::size || role == GlobalRole::parameter;
    if (!is_class || (is_container && !arguments.empty())) {
      return broken(fmt::format("NEWOBJ of {}{}", global.full_name(), is_class ? " with arguments" : ""));
    }
  }
  switch (role) {
    case GlobalRole::ordered_dict:
    case GlobalRole::counter: return make_dict(global, argument_tuple);
    case GlobalRole::set: return make_set(argument_tuple);
    case GlobalRole::encode: {
      // Bytes, as protocol 2 writes them. Other codecs (rot13) return text, which could be used as a name.
      if (arguments.size() != 2 || !values_.is(arguments[0], ValueKind::text) ||
          !values_.is(arguments[1], ValueKind::text) || values_.text(arguments[1]) != "latin1") {
        return broken("_codecs.encode of something other than (text, 'latin1')");
      }
      Value bytes = values_[arguments[0]];
      bytes.kind = ValueKind::bytes;
      return push(values_.add(bytes));
    }
    case GlobalRole::plain: return push_object(argument_tuple, false);
    case GlobalRole::numpy_dtype: return push_object(argument_tuple, true);
    case GlobalRole::size:
      if (arguments.size() != 1 || !values_.is(arguments[0], ValueKind::tuple)) {
        return broken("torch.Size of something other than a tuple");
      }
      return push(arguments[0]);
    case GlobalRole::rebuild_tensor:
    case GlobalRole::rebuild_tensor_v2:
    case GlobalRole::rebuild_tensor_v3: {
      ValueId made = 0;
      return rebuild_tensor(role, std::vector<ValueId>(arguments.begin(), arguments.end()), made) && push(made);
    }
    case GlobalRole::rebuild_parameter:
    case GlobalRole::rebuild_parameter_with_state:
    case GlobalRole::parameter: return make_parameter(global, argument_tuple);
    case GlobalRole::dtype:
    case GlobalRole::storage_class: break;
  }
  return broken(fmt::format("calls {}, which is not a function", global.full_name()));
}

// Persistent ids, which describe the storages of tensors.

namespace {

constexpr std::size_t max_dims = 64;  // torch's own limit

bool is_same(const StorageUse& a, const StorageUse& b) {
  if (a.view_offset != b.view_offset || a.view_elements != b.view_elements) return false;
  return a.key == b.key && a.storage_class.type == b.storage_class.type &&
         a.storage_class.element_bytes == b.storage_class.element_bytes && a.elements == b.elements;
}

}  // namespace

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

/// Returns a tuple as is, and a copy of a list, because lists may still change.
bool PickleMachine::check_numbers(ValueId id, std::string_view what, ValueId& tuple) {
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
  }
  tuple = values_.is(id, ValueKind::tuple) ? id : values_.add_tuple(items);
  return true;
}

std::vector<u64> PickleMachine::numbers(ValueId tuple) const {
  std::vector<u64> numbers;
  const std::span<const ValueId> items = values_.items(tuple);
  numbers.reserve(items.size());
  for (const ValueId item : items) numbers.push_back(static_cast<u64>(values_[item].number));
  return numbers;
}

/// Returns the storage's value for `key`. torch uses the first description of a key for all later ones, of storages and
/// views alike, so a different second one is an error.
bool PickleMachine::enter_storage(std::string_view key, StorageUse use, ValueId& made) {
  const auto known = storage_keys_.find(std::string(key));
  if (known == storage_keys_.end()) {
    storages_.push_back(std::move(use));
    made = values_.add({ValueKind::storage, false, 0, static_cast<i64>(storages_.size() - 1)});
    storage_keys_.emplace(key, made);
    return true;
  }
  made = known->second;
  if (is_same(storages_[static_cast<std::size_t>(values_[made].number)], use)) return true;
  return fail("pt-storage", fmt::format("the storage '{}' is described twice, with a different class, length or view: "
                                        "torch uses the first description for both",
                                        key));
}

bool PickleMachine::rebuild_storage(std::span<const ValueId> id, ValueId& made) {
  const std::size_t members = form_ == CheckpointForm::zip ? 5 : 6;
  if (id.size() != members || !values_.is(id[0], ValueKind::text) || values_.text(id[0]) != "storage") {
    return fail("pt-storage", fmt::format("a persistent id that is not ('storage', class, key, location, numel{})",
                                          form_ == CheckpointForm::zip ? "" : ", view"));
  }
  if (!values_.is(id[1], ValueKind::global)) {
    return fail("pt-storage", fmt::format("the class of a storage is {}", kind_name(values_[id[1]].kind)));
  }
  const GlobalUse& storage_class = globals_[static_cast<std::size_t>(values_[id[1]].number)];
  if (!storage_class.known || storage_class.known->role != GlobalRole::storage_class) {
    return fail("pt-storage", fmt::format("{} is not a class of storages", storage_class.full_name()));
  }
  constexpr std::size_t max_key = 1024;
  if (!values_.is(id[2], ValueKind::text) || values_.text(id[2]).find('/') != std::string_view::npos ||
      values_.text(id[2]).size() > max_key) {
    return fail("pt-storage", "the key of a storage is not a short text, or leads elsewhere");
  }
  StorageUse root{std::string(values_.text(id[2])), *storage_class.known, 0, 0, 0};
  if (!whole_number(id[4], "the length of a storage", root.elements)) return false;
  root.view_elements = root.elements;
  const bool has_view = members == 6 && !values_.is(id[5], ValueKind::none);
  if (!enter_storage(root.key, root, made)) return false;
  if (!has_view) return true;
  // (key, offset, size): this storage is a part of the root storage.
  const std::span<const ValueId> view =
      values_.is(id[5], ValueKind::tuple) ? values_.items(id[5]) : std::span<const ValueId>();
  if (view.size() != 3 || !values_.is(view[0], ValueKind::text) || values_.text(view[0]).size() > max_key) {
    return fail("pt-storage", "the view of a storage is not (key, offset, size)");
  }
  StorageUse part = root;
  if (!whole_number(view[1], "the offset of a storage's view", part.view_offset) ||
      !whole_number(view[2], "the size of a storage's view", part.view_elements)) {
    return false;
  }
  if (part.view_offset > part.elements || part.view_elements > part.elements - part.view_offset) {
    return fail("pt-storage", "the view of a storage goes past its end");
  }
  return enter_storage(values_.text(view[0]), std::move(part), made);
}

}  // namespace modelutils::pytorch
