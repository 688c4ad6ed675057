#include "compare/key_changes.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/name_index.h"
#include "formats/gguf/parse.h"
#include "io/copy_range.h"
#include "model/listing/listing.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

// Hashes each element of the outermost array. Different elements may collide; comparing the bytes still detects a
// difference.
class ElementHashes : public gguf::ArrayVisitor {
 public:
  bool begin() override {
    mix(depth_++ == 0 ? 1 : 2);
    return true;
  }
  bool end() override {
    mix(3);
    if (--depth_ == 0) close();
    return true;
  }
  bool text(std::string_view text) override {
    mix(std::hash<std::string_view>()(text));
    if (depth_ == 0) close();
    return true;
  }
  bool scalar(const gguf::Value& value) override {
    std::visit(
        [&](const auto& number) {
          using T = std::decay_t<decltype(number)>;
          if constexpr (std::is_arithmetic_v<T>) {
            mix(std::hash<std::string_view>()({reinterpret_cast<const char*>(&number), sizeof number}));
          } else if constexpr (std::is_same_v<T, gguf::Bool>) {
            mix(number.byte);
          }
        },
        value);
    if (depth_ == 0) close();
    return true;
  }

  std::vector<u64> take() { return std::move(hashes_); }

 private:
  void mix(u64 value) { current_ = (current_ ^ value) * 0x9E3779B97F4A7C15u + (current_ >> 29); }
  void close() {
    hashes_.push_back(current_);
    current_ = 0;
  }

  std::size_t depth_ = 0;
  u64 current_ = 0;
  std::vector<u64> hashes_;
};

Result<std::vector<u64>> hashes_of(const ListedArray& listed) {
  ElementHashes visitor;
  MU_TRY(gguf::visit_array(*listed.file->source, listed.file->document, listed.array, visitor));
  return visitor.take();
}

class OneElement : public gguf::ArrayVisitor {
 public:
  OneElement(u64 index, std::string& text) : left_(index), text_(text) {}

  bool begin() override { return false; }
  bool end() override { return false; }
  bool text(std::string_view text) override {
    if (left_-- > 0) return true;
    text_ = text;
    found_ = std::string_view(text_);
    return false;
  }
  bool scalar(const gguf::Value& value) override {
    if (left_-- > 0) return true;
    found_ = listed_scalar(value);
    return false;
  }
  const std::optional<ListedValue>& found() const { return found_; }

 private:
  u64 left_;
  std::string& text_;
  std::optional<ListedValue> found_;
};

}  // namespace

Result<ArrayChanges> compare_arrays(const ListedArray& a, const ListedArray& b) {
  ArrayChanges changes;
  const bool same_order = a.file->document.big_endian == b.file->document.big_endian;
  const bool same_type = a.array.element_type == b.array.element_type;
  if (same_order && same_type && a.array.count == b.array.count && a.array.bytes == b.array.bytes) {
    MU_ASSIGN(const bool same,
              same_bytes(*a.file->source, a.array.offset, *b.file->source, b.array.offset, a.array.bytes));
    if (same) return changes;
  }
  MU_ASSIGN(const std::vector<u64> left, hashes_of(a));
  MU_ASSIGN(const std::vector<u64> right, hashes_of(b));
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    ++changes.differing;
    if (!changes.ranges.empty() && changes.ranges.back().last + 1 == i) {
      changes.ranges.back().last = i;
    } else {
      changes.ranges.push_back({i, i});
    }
  }
  // If the byte orders are equal, differing bytes already prove a difference even if the hashes are equal.
  changes.equal = !same_order && same_type && changes.differing == 0 && left.size() == right.size();
  return changes;
}

Result<std::optional<ListedValue>> array_element(const ListedArray& array, u64 index, std::string& text) {
  OneElement visitor(index, text);
  MU_TRY(gguf::visit_array(*array.file->source, array.file->document, array.array, visitor));
  return visitor.found();
}

namespace {

struct SortedKeys {
  SortedKeys(std::span<const ListedKey> all, const std::vector<std::string>& ignored) {
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
  const SortedKeys left(a, ignored);
  const SortedKeys right(b, ignored);
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

namespace {

struct TensorsByName {
  TensorsByName(std::span<const Tensor> all, const std::vector<std::string>& ignored) {
    names.reserve(all.size());
    for (const Tensor& tensor : all) {
      if (!ignored.empty() && selects(ignored, tensor.name)) continue;
      if (names.insert(tensor.name).is_new) list.push_back(&tensor);
    }
  }
  const Tensor* find(std::string_view name) const {
    const std::optional<u32> place = names.find(name);
    return place ? list[*place] : nullptr;
  }

  NameIndex names;
  std::vector<const Tensor*> list;
};

}  // namespace

TensorChanges compare_tensors(const ComparedTensors& a, const ComparedTensors& b,
                              const std::vector<std::string>& ignored) {
  const TensorsByName left(a.list(), ignored);
  const TensorsByName right(b.list(), ignored);
  TensorChanges changes;
  for (const Tensor* tensor : left.list) {
    TensorPair pair{tensor, right.find(tensor->name)};
    if (pair.b == nullptr) {
      changes.removed.push_back(tensor);
      continue;
    }
    pair.is_retyped = a.type_text(*tensor) != b.type_text(*pair.b);
    if (!is_same_shape(tensor->ne, pair.b->ne)) {
      changes.reshaped.push_back(pair);
    } else {
      changes.same_shape.push_back(pair);
      if (pair.is_retyped) ++changes.retyped;
    }
  }
  for (const Tensor* tensor : right.list) {
    if (left.find(tensor->name) == nullptr) changes.added.push_back(tensor);
  }
  return changes;
}

}  // namespace modelutils
