// Which of many texts begin what follows: a step for each byte, among the texts in order.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// Numbers of texts, sorted by the bytes of these. Keeps a view: the texts must outlive it. They are distinct.
class PrefixTable {
 public:
  PrefixTable() = default;
  PrefixTable(std::span<const std::string> texts, std::vector<u32> numbers);
  bool empty() const { return numbers_.empty(); }

  /// Byte by byte from the beginning.
  class Walk {
   public:
    explicit Walk(const PrefixTable& table) : table_(&table), end_(table.numbers_.size()) {}
    /// Is there a text that goes on with this byte? If not, the walk has ended.
    bool step(char byte);
    /// The text that ends here.
    const u32* found() const;

   private:
    const PrefixTable* table_;
    std::size_t begin_ = 0, end_;
    std::size_t depth_ = 0;
  };

 private:
  std::span<const std::string> texts_;
  std::vector<u32> numbers_;
  // Where the texts with each first byte begin.
  std::vector<u32> first_;
};

}  // namespace modelutils::tokenizer
