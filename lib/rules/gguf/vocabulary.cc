#include "rules/gguf/vocabulary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/byte_reader.h"
#include "base/os/process.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

TextHash::TextHash() {
  if (!os::random_bytes(&seed_, sizeof seed_)) {
    seed_ = reinterpret_cast<u64>(this);  // a fallback: address space randomisation makes this hard to guess
  }
}

u64 TextHash::operator()(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed_);
}

TokenTable::TokenTable(u64 tokens)
    : mask_(std::bit_ceil(std::max<u64>(16, tokens * 2)) - 1), slots_(mask_ + 1), hashes_(tokens) {}

}  // namespace modelutils

namespace modelutils::gguf_rules {

namespace {

constexpr std::array<std::string_view, 4> role_names = {"bos", "eos", "eot", "eom"};

}  // namespace

RoleTextsOnTheWay::RoleTextsOnTheWay(const gguf::Index& index, u64 tokens) {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    ids_[i] = index.unsigned_value(tokenizer::find_token_role(role_names[i])->key);
  }
  if (std::ranges::any_of(ids_, [&](const auto& id) { return id && *id >= tokens; })) ids_ = {};
  find_next({});
}

void RoleTextsOnTheWay::find_next(std::optional<u64> after) {
  next_.reset();
  for (const std::optional<u64>& id : ids_) {
    if (id && (!after || *id > *after) && (!next_ || *id < *next_)) next_ = id;
  }
}

void RoleTextsOnTheWay::take(std::string_view text) {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == next_) texts_[i] = text;
  }
  find_next(next_);
}

RoleTexts read_role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index) {
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element_type != gguf::ValueType::string) return {};
  RoleTextsOnTheWay roles(index, tokens->count);
  ByteReader reader(source, tokens->offset);
  reader.set_big_endian(document.big_endian);
  u64 at = 0;
  while (const std::optional<u64> next = roles.next()) {
    reader.skip_strings(*next - at);
    const u64 size = reader.read<u64>();
    roles.take(reader.read_view(size));
    if (!reader.ok()) return {};
    at = *next + 1;
  }
  return roles.texts();
}

}  // namespace modelutils::gguf_rules

namespace modelutils {

namespace {

// Strings [first, end) of an array. `offset` is the first string's length field.
struct Strings {
  u64 first;
  u64 end;
  u64 offset;
};

Strings whole(const gguf::ArrayRef& array) {
  return {0, array.count, array.offset};
}

// Divides the array into `parts` ranges of about equal length. Stops early if the array cannot be read.
std::vector<Strings> parts_of(const ByteSource& source, const gguf::Document& document, const gguf::ArrayRef& array,
                              unsigned parts) {
  ByteReader reader(source, array.offset);
  reader.set_big_endian(document.big_endian);
  std::vector<Strings> all;
  for (u64 part = 0; part < parts && reader.ok(); ++part) {
    const u64 first = array.count / parts * part;
    const u64 end = part + 1 == parts ? array.count : first + array.count / parts;
    all.push_back({first, end, reader.offset()});
    if (end < array.count) reader.skip_strings(end - first);
  }
  return all;
}

// Calls visit(index, text, offset) for each string. The view is only valid during the call.
template <typename Visit>
Status each_string(const ByteSource& source, const gguf::Document& document, const Strings& strings,
                   const Visit& visit) {
  ByteReader reader(source, strings.offset);
  reader.set_big_endian(document.big_endian);
  for (u64 i = strings.first; i < strings.end; ++i) {
    const u64 offset = reader.offset();
    const u64 size = reader.read<u64>();
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) break;
    visit(i, text, offset);
  }
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return {};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t longest_digits(std::string_view text) {
  if (std::ranges::none_of(text, is_digit)) return 0;  // the usual case
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = is_digit(c) ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

bool has_several_characters(std::string_view text) {
  if (text.size() < 2) return false;
  return static_cast<u8>(text[0]) < 0x80 || decode_utf8(text).size < text.size();
}

bool is_set(const std::vector<u8>& flags, u64 index) {
  return index < flags.size() && flags[static_cast<std::size_t>(index)] != 0;
}

// The halves of a merge, split like the loader does: at the first space that is not the first byte. split_merge()
// returns nullopt if there is no such space or nothing after it.
struct Halves {
  std::string_view left;
  std::string_view right;
};
std::optional<Halves> split_merge(std::string_view text) {
  const std::size_t space = text.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == text.size()) return std::nullopt;
  return Halves{text.substr(0, space), text.substr(space + 1)};
}

// Collects hashed strings while their slots are prefetched, and calls `settle` for each once the batch is full (see
// TokenTable).
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
  u32 index;
  u64 offset;
};

// The scan's input, and the state shared by its passes.
struct Vocabulary {
  const ByteSource& source;
  const gguf::Document& document;
  const gguf::ArrayRef& tokens;
  TextHash hash = {};
  std::optional<TokenTable> table = {};
};

std::string_view up_to_nul(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

Status fill_table(Vocabulary& all, gguf_rules::RoleTextsOnTheWay* roles, VocabularyScan& scan) {
  TokenTable& table = all.table.emplace(all.tokens.count);
  const auto settle = [&](const Token& token) {
    const std::optional<u32> first = table.insert(token.hash, token.index);
    if (!first) return;
    if (scan.duplicate_count++ < VocabularyScan::kept_duplicates) {
      scan.duplicates.push_back({token.index, *first, token.offset});
    }
  };
  Batch<Token, decltype(settle)> batch(settle);
  const Status read =
      each_string(all.source, all.document, whole(all.tokens), [&](u64 index, std::string_view text, u64 offset) {
        if (roles != nullptr && roles->next() == index) roles->take(text);
        if (scan.is_cut_at_nul) text = up_to_nul(text);
        if (text.empty()) return;
        const u64 hash = all.hash(text);
        table.prefetch(hash);
        batch.add({hash, static_cast<u32>(index), offset});
      });
  batch.finish();
  return read;
}

// Sets `unmade` to 1 for ordinary tokens of several characters, and `has_nul` if any text contains NUL.
Status look_at_texts(const Vocabulary& all, const std::vector<u8>& ordinary, std::vector<u8>& unmade, bool& has_nul,
                     VocabularyScan& scan) {
  return each_string(all.source, all.document, whole(all.tokens), [&](u64 index, std::string_view text, u64 offset) {
    if (!is_utf8(text)) scan.tokens_not_utf8.count(index, offset);
    if (text.empty()) return scan.tokens_empty.count(index, offset);
    if (text.find('\0') != std::string_view::npos) has_nul = true;
    if (!is_set(ordinary, index)) return;
    unmade[static_cast<std::size_t>(index)] = has_several_characters(text) ? 1 : 0;
    const std::size_t digits = longest_digits(text);
    if (digits >= 2) scan.two_digits.count(index, offset);
    if (digits >= 4) scan.four_digits.count(index, offset);
  });
}

struct Merge {
  u64 left;
  u64 right;
  u64 joined;
  u64 index;
  u64 offset;
};

// The result of scanning a range of merges.
struct MergesFound {
  StringTally not_utf8;
  StringTally not_split;
  StringTally without_token;
  std::vector<u8> made;  // 1 for each token that a merge makes; empty if not needed
};

Status look_up(const Vocabulary& all, const Strings& merges, MergesFound& found) {
  const TokenTable& table = *all.table;
  const auto settle = [&](const Merge& merge) {
    const std::optional<u32> token = table.find(merge.joined);
    if (token && !found.made.empty()) found.made[*token] = 1;
    if (!token || !table.contains(merge.left) || !table.contains(merge.right)) {
      found.without_token.count(merge.index, merge.offset);
    }
  };
  Batch<Merge, decltype(settle)> batch(settle);
  std::string joined;  // the text of both halves, and some bytes of longer ones
  const Status read = each_string(all.source, all.document, merges, [&](u64 index, std::string_view text, u64 offset) {
    if (!is_utf8(text)) found.not_utf8.count(index, offset);
    const std::optional<Halves> halves = split_merge(text);
    if (!halves) return found.not_split.count(index, offset);
    if (joined.size() < text.size()) joined.resize(text.size());
    const char* const end = std::ranges::copy(halves->right, std::ranges::copy(halves->left, joined.data()).out).out;
    const Merge merge{all.hash(halves->left), all.hash(halves->right), all.hash({joined.data(), end}), index, offset};
    for (const u64 hash : {merge.left, merge.right, merge.joined}) table.prefetch(hash);
    batch.add(merge);
  });
  batch.finish();
  return read;
}

// Returns the first text of the merge that is not a token: left, right, or both joined.
std::string missing_token(std::string_view merge, const Vocabulary& all) {
  const std::optional<Halves> halves = split_merge(merge);
  if (!halves) return {};
  for (const std::string_view half : {halves->left, halves->right}) {
    if (!all.table->contains(all.hash(half))) return std::string(half);
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
                                       const std::vector<u8>& ordinary, gguf_rules::RoleTextsOnTheWay* roles,
                                       unsigned threads) {
  constexpr u64 worth_a_thread = 10000;
  if (tokens.count < worth_a_thread) threads = 1;
  VocabularyScan scan;
  Vocabulary all = {.source = source, .document = document, .tokens = tokens};
  std::vector<u8> unmade(ordinary.empty() ? 0 : static_cast<std::size_t>(tokens.count));
  bool has_nul = false;
  std::vector<Strings> parts;
  // Merges need the table, but checking the token texts does not, so both run in parallel.
  const auto scan_tokens = [&](u64 item, unsigned /*thread*/) -> Status {
    if (item == 1) return look_at_texts(all, ordinary, unmade, has_nul, scan);
    if (merges != nullptr) parts = parts_of(source, document, *merges, std::max(threads, 1u));
    return fill_table(all, roles, scan);
  };
  MU_TRY(parallel_for(2, threads, scan_tokens));
  if (has_nul) {  // in no real vocabulary
    scan.is_cut_at_nul = true;
    scan.duplicate_count = 0;
    scan.duplicates.clear();
    MU_TRY(fill_table(all, nullptr, scan));
  }
  if (merges == nullptr) return scan;
  std::vector<MergesFound> found(parts.size());
  for (MergesFound& part : found) part.made.resize(unmade.size());
  const auto scan_merges = [&](u64 part, unsigned /*thread*/) { return look_up(all, parts[part], found[part]); };
  MU_TRY(parallel_for(parts.size(), threads, scan_merges));
  for (const MergesFound& part : found) {
    scan.merges_not_utf8.add(part.not_utf8);
    scan.merges_not_split.add(part.not_split);
    scan.merges_without_token.add(part.without_token);
    // The compiler cannot vectorise through the vectors, because bytes may alias their pointers.
    const std::span<u8> left = unmade;
    const std::span<const u8> made = part.made;
    for (std::size_t i = 0; i < left.size(); ++i) left[i] &= made[i] ^ 1;
  }
  if (const auto first = std::ranges::find(unmade, 1); first != unmade.end()) {
    scan.not_merged.number = static_cast<u64>(std::count(first, unmade.end(), 1));
    scan.not_merged.first_index = static_cast<u64>(first - unmade.begin());
    ByteReader reader(source, tokens.offset);
    reader.set_big_endian(document.big_endian);
    reader.skip_strings(scan.not_merged.first_index);
    scan.not_merged.first_offset = reader.offset();
  }
  if (const StringTally& bad = scan.merges_without_token; bad.number != 0) {
    scan.first_missing = beginning_of(missing_token(whole_string_at(source, document, bad.first_offset), all));
  }
  return scan;
}

std::string string_at(const ByteSource& source, const gguf::Document& document, u64 offset) {
  return beginning_of(whole_string_at(source, document, offset));
}

}  // namespace modelutils
