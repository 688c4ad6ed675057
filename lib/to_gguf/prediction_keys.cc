#include "to_gguf/prediction_keys.h"

#include <algorithm>
#include <charconv>

#include "arch/prediction_block.h"
#include "base/checked_math.h"
#include "gguf/key_elements.h"

namespace modelutils::to_gguf {

namespace {

bool may_have_one_for_each_layer(arch::KeyType type) {
  switch (type) {
    case arch::KeyType::u32_or_layers:
    case arch::KeyType::u32_where_used:
    case arch::KeyType::f32_or_layers:
    case arch::KeyType::flag_layers: return true;
    default: return false;
  }
}

// Returns the number of `key` in a list like "KEY=1|OTHER=0", or nullopt if absent.
std::optional<u64> stated_number(std::string_view numbers, std::string_view key) {
  std::optional<u64> found;
  for_each_name(numbers, [&](std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(0, equals) != key) return;
    u64 value = 0;
    std::from_chars(text.data() + equals + 1, text.data() + text.size(), value);
    found = value;
  });
  return found;
}

class KeyExtender {
 public:
  KeyExtender(const arch::Family& family, const arch::Sizes& sizes, u64 blocks)
      : family_(family), sizes_(sizes), blocks_(blocks), trunk_(sizes.get(arch::symbol::layers) - blocks) {}

  void extend(const arch::Key& row, gguf::OutKey& key) const {
    const gguf::KeyElements elements = gguf::elements_of(key);
    const u64 size = elements.element_size();
    if (size == 0) return;
    std::string bytes(elements.bytes);
    if (!elements.count) {
      if (is_as_in_layers(row, elements)) return;
      bytes.clear();
      for (u64 i = 0; i < trunk_; ++i) bytes += elements.bytes;
    } else if (*elements.count != trunk_) {
      return;
    }
    const std::string last = bytes.substr(bytes.size() - static_cast<std::size_t>(size));
    for (u64 i = trunk_; i < trunk_ + blocks_; ++i) {
      const std::optional<u64> number = number_in(row, i);
      bytes += number ? gguf::encoded_number(elements.type, *number) : last;
    }
    key = gguf::make_key_of_elements(std::move(key.key), elements.type, bytes);
  }

 private:
  std::optional<u64> number_in(const arch::Key& row, u64 block) const {
    if (const auto stated = stated_number(family_.prediction.numbers, row.name)) return stated;
    if (row.symbol.empty()) return std::nullopt;
    return sizes_.find(row.symbol, block);
  }

  // True if a single number, which holds for all layers that have one, is also right for the blocks.
  bool is_as_in_layers(const arch::Key& row, const gguf::KeyElements& elements) const {
    for (u64 i = trunk_; i < trunk_ + blocks_; ++i) {
      const std::optional<u64> number = row.symbol.empty() ? std::nullopt : sizes_.find(row.symbol, i);
      if (number && *number != 0 && number != elements.number(0)) return false;
    }
    return true;
  }

  const arch::Family& family_;
  const arch::Sizes& sizes_;
  u64 blocks_;
  u64 trunk_;
};

}  // namespace

void add_prediction_keys(const arch::Family& family, const arch::Sizes& sizes, u64 blocks,
                         std::vector<gguf::OutKey>& keys) {
  const std::string prefix = std::string(family.gguf) + ".";
  const KeyExtender extender(family, sizes, blocks);
  const std::vector<const arch::Key*> rows = arch::keys_of(family);
  for (gguf::OutKey& key : keys) {
    if (!key.key.starts_with(prefix)) continue;
    const std::string_view name = std::string_view(key.key).substr(prefix.size());
    const auto row = std::ranges::find(rows, name, [](const arch::Key* each) { return each->name; });
    if (row != rows.end() && may_have_one_for_each_layer((*row)->type)) extender.extend(**row, key);
  }
  const auto count = std::ranges::find(keys, prefix + "block_count", &gguf::OutKey::key);
  if (count == keys.end()) return;
  *count = gguf::make_key(count->key, static_cast<u32>(sizes.get(arch::symbol::layers)));
  gguf::OutKey number = gguf::make_key(prefix + "nextn_predict_layers", static_cast<u32>(blocks));
  const auto stated = std::ranges::find(keys, number.key, &gguf::OutKey::key);
  if (stated != keys.end()) {
    *stated = std::move(number);
  } else {
    keys.insert(std::next(count), std::move(number));
  }
}

gguf::OutKey extracted_from(const std::vector<std::string>& tensors, u64 trunk) {
  std::vector<std::string> after;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (arch::block_of(tensors[i]).value_or(0) < trunk) continue;
    after.push_back(i == 0 ? std::string() : tensors[i - 1]);
  }
  return gguf::make_key_strings(std::string(arch::extracted_key), after);
}

}  // namespace modelutils::to_gguf
