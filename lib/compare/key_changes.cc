#include "compare/key_changes.h"

#include <bit>

#include "base/name_index.h"

namespace modelutils {

namespace {

struct Keys {
  Keys(std::span<const ListedKey> all, const std::vector<std::string>& ignored) {
    names.reserve(all.size());
    for (const ListedKey& key : all) {
      if (!ignored.empty() && selects(ignored, key.name)) continue;
      if (names.insert(key.name).is_new) list.push_back(&key);
    }
  }
  const ListedKey* find(std::string_view name) const {
    const std::optional<u32> place = names.find(name);
    return place ? list[*place] : nullptr;
  }

  NameIndex names;
  std::vector<const ListedKey*> list;
};

bool is_same_scalar(const ListedValue& a, const ListedValue& b) {
  if (const auto* left = std::get_if<float>(&a)) {
    const auto* right = std::get_if<float>(&b);
    return right != nullptr && std::bit_cast<u32>(*left) == std::bit_cast<u32>(*right);
  }
  if (const auto* left = std::get_if<double>(&a)) {
    const auto* right = std::get_if<double>(&b);
    return right != nullptr && std::bit_cast<u64>(*left) == std::bit_cast<u64>(*right);
  }
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, ListedArray>) {
          return false;
        } else {
          const auto* right = std::get_if<T>(&b);
          return right != nullptr && left == *right;
        }
      },
      a);
}

}  // namespace

Result<KeyChanges> compare_keys(std::span<const ListedKey> a, std::span<const ListedKey> b,
                                const std::vector<std::string>& ignored) {
  const Keys left(a, ignored);
  const Keys right(b, ignored);
  KeyChanges changes;
  for (const ListedKey* key : left.list) {
    const ListedKey* other = right.find(key->name);
    if (other == nullptr) {
      changes.removed.push_back(key);
      continue;
    }
    KeyChange change{key, other, {}};
    const auto* array = std::get_if<ListedArray>(&key->value);
    const auto* other_array = std::get_if<ListedArray>(&other->value);
    bool equal = key->type == other->type;
    if (array != nullptr && other_array != nullptr) {
      MU_ASSIGN(change.array, compare_arrays(*array, *other_array));
      equal = change.array.equal;
    } else {
      equal = equal && is_same_scalar(key->value, other->value);
    }
    if (!equal) changes.changed.push_back(std::move(change));
  }
  for (const ListedKey* key : right.list) {
    if (left.find(key->name) == nullptr) changes.added.push_back(key);
  }
  return changes;
}

}  // namespace modelutils
