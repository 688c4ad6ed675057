// Persistent ids, which describe the storages of tensors.
#include <fmt/core.h>

#include <algorithm>

#include "pytorch/pickle_machine.h"

namespace modelutils::pytorch {

namespace {

constexpr std::size_t max_dims = 64;  // torch's own limit

bool is_same(const StorageUse& a, const StorageUse& b) {
  return a.key == b.key && a.storage_class.type == b.storage_class.type &&
         a.storage_class.element_bytes == b.storage_class.element_bytes && a.elements == b.elements &&
         a.view_offset == b.view_offset && a.view_elements == b.view_elements;
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
