// Finds which of many texts are prefixes of some input, one byte at a time, by narrowing a range of sorted texts.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// Indexes of distinct texts, sorted by their bytes. Keeps a view: the texts must outlive the table.
class PrefixTable {
 public:
  PrefixTable() = default;
  PrefixTable(std::span<const std::string> texts, std::vector<u32> numbers);
  bool empty() const { return numbers_.empty(); }

  /// Reads an input byte by byte from its start.
  class Walk {
   public:
    explicit Walk(const PrefixTable& table) : table_(&table), end_(table.numbers_.size()) {}
    /// Advances by one byte. Returns false if no text continues with it; the walk has then ended.
    bool step(char byte);
    /// Returns the number of the text that equals the bytes read so far, or nullptr.
    const u32* found() const;

   private:
    const PrefixTable* table_;
    std::size_t begin_ = 0, end_;
    std::size_t depth_ = 0;
  };

 private:
  std::span<const std::string> texts_;
  std::vector<u32> numbers_;
  // For each possible first byte, the position of the first text that begins with it.
  std::vector<u32> first_;
};

}  // namespace modelutils::tokenizer
