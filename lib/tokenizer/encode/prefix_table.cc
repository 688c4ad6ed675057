#include "tokenizer/encode/prefix_table.h"

namespace modelutils::tokenizer {

PrefixTable::PrefixTable(std::span<const std::string> texts, std::vector<u32> numbers)
    : texts_(texts), numbers_(std::move(numbers)), first_(257) {
  std::erase_if(numbers_, [&](u32 number) { return texts_[number].empty(); });
  std::sort(numbers_.begin(), numbers_.end(), [&](u32 a, u32 b) { return texts_[a] < texts_[b]; });
  for (const u32 number : numbers_) ++first_[static_cast<u8>(texts_[number].front()) + 1];
  for (std::size_t byte = 1; byte < first_.size(); ++byte) first_[byte] += first_[byte - 1];
}

bool PrefixTable::Walk::step(char byte) {
  const PrefixTable& table = *table_;
  const auto value = static_cast<u8>(byte);
  if (depth_ == 0) {
    if (table.first_.empty()) return false;
    begin_ = table.first_[value];
    end_ = table.first_[value + 1];
  } else {
    // Compare bytes as unsigned numbers, like std::string. A text that ends here sorts first.
    const auto key = [&](u32 number) {
      const std::string& text = table.texts_[number];
      return depth_ < text.size() ? static_cast<int>(static_cast<u8>(text[depth_])) : -1;
    };
    const auto from = table.numbers_.begin();
    const auto low = std::lower_bound(from + static_cast<i64>(begin_), from + static_cast<i64>(end_), value,
                                      [&](u32 number, u8 wanted) { return key(number) < wanted; });
    const auto high = std::upper_bound(low, from + static_cast<i64>(end_), value,
                                       [&](u8 wanted, u32 number) { return wanted < key(number); });
    begin_ = static_cast<std::size_t>(low - from);
    end_ = static_cast<std::size_t>(high - from);
  }
  ++depth_;
  return begin_ < end_;
}

const u32* PrefixTable::Walk::found() const {
  if (depth_ == 0 || begin_ >= end_) return nullptr;
  const u32& number = table_->numbers_[begin_];
  return table_->texts_[number].size() == depth_ ? &number : nullptr;
}

}  // namespace modelutils::tokenizer
