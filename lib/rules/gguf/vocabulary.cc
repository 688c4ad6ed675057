#include "rules/gguf/vocabulary.h"

#include <algorithm>
#include <array>

#include "base/byte_reader.h"
#include "base/utf8.h"
#include "rules/gguf/token_table.h"

namespace modelutils {

namespace {

// Calls visit(index, text, offset) for each string of an array; the views live during the call.
template <typename Visit>
Status each_string(const ByteSource& source, const gguf::Document& document, const gguf::ArrayRef& array,
                   const Visit& visit) {
  ByteReader reader(source, array.offset);
  reader.set_big_endian(document.big_endian);
  for (u64 i = 0; i < array.count; ++i) {
    const u64 offset = reader.offset();
    const u64 size = reader.read<u64>();
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) break;
    visit(i, text, offset);
  }
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return {};
}

// Strings whose hashes are known and whose slots are on their way into the cache; `settle` is called for each when
// enough of them have come together (see TokenTable).
template <typename Item, typename Settle>
class Batch {
 public:
  explicit Batch(const Settle& settle) : settle_(settle) {}
  void add(const Item& item) {
    items_[size_++] = item;
    if (size_ == items_.size()) finish();
  }
  void finish() {
    for (std::size_t i = 0; i < size_; ++i) settle_(items_[i]);
    size_ = 0;
  }

 private:
  std::array<Item, 32> items_;
  std::size_t size_ = 0;
  const Settle& settle_;
};

struct Token {
  u64 hash;
  u64 index;
  u64 offset;
};

std::size_t longest_digits(std::string_view text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

bool has_several_characters(std::string_view text) {
  return !text.empty() && decode_utf8(text).size < text.size();
}

bool is_set(const std::vector<bool>& flags, u64 index) {
  return index < flags.size() && flags[static_cast<std::size_t>(index)];
}

Status scan_tokens(const ByteSource& source, const gguf::Document& document, const gguf::ArrayRef& tokens,
                   const std::vector<bool>& ordinary, TokenTable& table, std::vector<bool>& unmade,
                   gguf_rules::RoleTextsOnTheWay* roles, VocabularyScan& scan) {
  const auto settle = [&](const Token& token) {
    const u32 index = static_cast<u32>(token.index);
    const std::optional<u32> first = table.insert(token.hash, index);
    if (!first) return;
    if (scan.duplicate_count++ < VocabularyScan::kept_duplicates) {
      scan.duplicates.push_back({index, *first, token.offset});
    }
  };
  Batch<Token, decltype(settle)> batch(settle);
  const Status read = each_string(source, document, tokens, [&](u64 index, std::string_view text, u64 offset) {
    if (!is_utf8(text)) scan.tokens_not_utf8.count(index, offset);
    if (roles != nullptr && roles->next() == index) roles->take(text);
    if (text.empty()) return scan.tokens_empty.count(index, offset);
    if (is_set(ordinary, index)) {
      unmade[static_cast<std::size_t>(index)] = has_several_characters(text);
      const std::size_t digits = longest_digits(text);
      if (digits >= 2) scan.two_digits.count(index, offset);
      if (digits >= 4) scan.four_digits.count(index, offset);
    }
    const u64 hash = table.hash(text);
    table.prefetch(hash);
    batch.add({hash, index, offset});
  });
  batch.finish();
  return read;
}

// The halves of a merge as the loader takes them: divided by the first space that is not the first byte. Nothing if
// there is none, or nothing after it.
struct Halves {
  std::string_view left;
  std::string_view right;
};
std::optional<Halves> split_merge(std::string_view text) {
  const std::size_t space = text.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == text.size()) return std::nullopt;
  return Halves{text.substr(0, space), text.substr(space + 1)};
}

struct Merge {
  u64 left;
  u64 right;
  u64 joined;
  u64 index;
  u64 offset;
};

Status scan_merges(const ByteSource& source, const gguf::Document& document, const gguf::ArrayRef& merges,
                   const TokenTable& table, std::vector<bool>& unmade, VocabularyScan& scan) {
  const auto settle = [&](const Merge& merge) {
    const std::optional<u32> token = table.find(merge.joined);
    if (token && !unmade.empty()) unmade[*token] = false;
    if (!token || !table.contains(merge.left) || !table.contains(merge.right)) {
      scan.merges_without_token.count(merge.index, merge.offset);
    }
  };
  Batch<Merge, decltype(settle)> batch(settle);
  std::string joined;
  const Status read = each_string(source, document, merges, [&](u64 index, std::string_view text, u64 offset) {
    if (!is_utf8(text)) scan.merges_not_utf8.count(index, offset);
    const std::optional<Halves> halves = split_merge(text);
    if (!halves) return scan.merges_not_split.count(index, offset);
    joined.assign(halves->left);
    joined.append(halves->right);
    const Merge merge{table.hash(halves->left), table.hash(halves->right), table.hash(joined), index, offset};
    for (const u64 hash : {merge.left, merge.right, merge.joined}) table.prefetch(hash);
    batch.add(merge);
  });
  batch.finish();
  return read;
}

// The token that a merge needs and the table does not have.
std::string missing_token(std::string_view merge, const TokenTable& table) {
  const std::optional<Halves> halves = split_merge(merge);
  if (!halves) return {};
  for (const std::string_view half : {halves->left, halves->right}) {
    if (!table.contains(table.hash(half))) return std::string(half);
  }
  return std::string(halves->left) + std::string(halves->right);
}

std::string whole_string_at(const ByteSource& source, const gguf::Document& document, u64 offset) {
  ByteReader reader(source, offset, 4096);
  reader.set_big_endian(document.big_endian);
  const u64 size = reader.read<u64>();
  return reader.read_string(size);
}

std::string beginning_of(std::string text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > most - 4 && (static_cast<u8>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "…";
}

}  // namespace

Result<VocabularyScan> scan_vocabulary(const ByteSource& source, const gguf::Document& document,
                                       const gguf::ArrayRef& tokens, const gguf::ArrayRef* merges,
                                       const std::vector<bool>& ordinary, gguf_rules::RoleTextsOnTheWay* roles) {
  VocabularyScan scan;
  TokenTable table(tokens.count);
  std::vector<bool> unmade(ordinary.empty() ? 0 : static_cast<std::size_t>(tokens.count));
  MU_TRY(scan_tokens(source, document, tokens, ordinary, table, unmade, roles, scan));
  if (merges == nullptr) return scan;
  MU_TRY(scan_merges(source, document, *merges, table, unmade, scan));
  if (const auto first = std::ranges::find(unmade, true); first != unmade.end()) {
    scan.not_merged.number = static_cast<u64>(std::count(first, unmade.end(), true));
    scan.not_merged.first_index = static_cast<u64>(first - unmade.begin());
    ByteReader reader(source, tokens.offset);
    reader.set_big_endian(document.big_endian);
    reader.skip_strings(scan.not_merged.first_index);
    scan.not_merged.first_offset = reader.offset();
  }
  if (const StringTally& bad = scan.merges_without_token; bad.number != 0) {
    scan.first_missing = beginning_of(missing_token(whole_string_at(source, document, bad.first_offset), table));
  }
  return scan;
}

std::string string_at(const ByteSource& source, const gguf::Document& document, u64 offset) {
  return beginning_of(whole_string_at(source, document, offset));
}

}  // namespace modelutils
