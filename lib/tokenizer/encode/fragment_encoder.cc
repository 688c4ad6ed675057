#include "tokenizer/encode/fragment_encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <queue>
#include <string>

#include "base/error.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// Names that llama.cpp treats like another one and that the table of pre-tokenizers does not mention.
struct RunsAs {
  std::string_view name, as;
};
constexpr std::array runs_as = {RunsAs{"talkie", "gpt-4o"}, RunsAs{"cohere2moe", "tiny_aya"},
                                RunsAs{"joyai-llm", "deepseek-v3"}, RunsAs{"hy_v4", "deepseek-v3"}};

constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view lines_or_feeds = R"([^\n]+|[\n]+)";
constexpr std::string_view without_sentence_marks = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view before_groups = "before groups", from_the_right = "from the right";
constexpr std::string_view contraction = R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?)";

// Returns llama.cpp's splits if they differ from the published ones in the table; else nullopt.
std::optional<std::vector<std::string>> own_splits(std::string_view pre) {
  using List = std::vector<std::string>;
  const auto list = [](auto... texts) { return List{std::string(texts)...}; };
  if (pre.empty() || pre == "default") {
    return list(R"([\p{P}\$\+<=>\^~\|]+)", gpt2_pattern, R"(\p{N}+)", "[0-9][0-9][0-9]");
  }
  if (pre == "gemma4" || pre == "granite-embed-multi-311m" || pre == "sarvam-moe") return list(lines_or_feeds);
  if (pre == "whitespace") return list(R"(\S+)");
  if (pre == "bloom" || pre == "gpt3-finnish" || pre == "poro-chat") return list(without_sentence_marks);
  if (pre == "viking") return list(without_sentence_marks, R"(\p{N})");
  if (pre == "superbpe") return list(R"(\p{N}+)", before_groups);
  if (pre == "kimi-k2") {
    return list(fmt::format(
        R"(\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}&&[^\p{{Han}}]]+{}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        contraction));
  }
  if (pre == "granite-embed-multi-97m") {
    constexpr std::string_view upper = R"(((?=[\p{L}\p{M}])([^a-z])))", lower = R"(((?=[\p{L}\p{M}])([^A-Z])))";
    constexpr std::string_view lead = R"([^\r\n\p{L}\p{N}]?)";
    return list(fmt::format(
        R"({0}{1}*{2}+{3}|{0}{1}+{2}*{3}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)", lead,
        upper, lower, contraction));
  }
  return std::nullopt;
}

// Returns llama.cpp's equivalent of an element of a published pre-tokenizer; empty if it has no effect.
std::string split_of(std::string_view form, std::string_view regex) {
  if (form == "B+") return std::string(gpt2_pattern);
  if (form == "D1") return R"(\p{N})";
  if (form == "P") return R"([\p{P}\$\+<=>\^~\|`]+)";
  if (form == "P:Isolated") return R"([\p{P}!-/:-@\[-`{-~])";
  if (form == "B-" || form == "D*") return {};
  // Groups of three digits, counted from the right.
  if (form.starts_with('~') || regex == R"(\d{1,3}(?=(?:\d{3})*\b))") return std::string(from_the_right);
  return std::string(regex);
}

std::vector<std::string> published_splits(std::string_view pre) {
  const PreRow* row = find_pre_row(pre);
  if (row == nullptr) return {};
  // Prefer a row that llama.cpp reproduces exactly over one that it only approximates.
  for (const PreRow& other : pre_table()) {
    if (other.pre == row->pre && other.differs.empty()) {
      row = &other;
      break;
    }
  }
  std::vector<std::string> splits;
  for (std::size_t i = 0; i < row->signature.size(); ++i) {
    std::string split = split_of(row->signature[i], row->regexes[i]);
    if (split.empty()) continue;
    if (row->pre == "deepseek-llm" && row->signature[i] == "D1") split += '+';
    splits.push_back(std::move(split));
  }
  return splits;
}

// Splits `points` from `begin` to `end` before each position for which `is_cut` is true.
class Cuts {
 public:
  explicit Cuts(std::size_t begin) : done_(begin) {}
  void before(std::size_t at) {
    if (at > done_) lengths_.push_back(static_cast<u32>(at - done_));
    done_ = std::max(done_, at);
  }
  void take(std::vector<u32>& out) { out.insert(out.end(), lengths_.begin(), lengths_.end()); }

 private:
  std::size_t done_;
  std::vector<u32> lengths_;
};

template <typename IsDigit>
void cut_runs(const std::vector<char32_t>& points, std::size_t begin, std::size_t end, bool also_before,
              const IsDigit& is_digit, std::vector<u32>& out) {
  Cuts cuts(begin);
  for (std::size_t at = begin; at < end;) {
    if (!is_digit(points[at])) {
      ++at;
      continue;
    }
    std::size_t behind = at;
    while (behind < end && is_digit(points[behind])) ++behind;
    const std::size_t odd = (behind - at) % 3;
    if (also_before) {
      for (std::size_t group = at + odd; group < behind; group += 3) cuts.before(group);
    } else {
      if (odd > 0) cuts.before(at + odd);
      for (std::size_t group = at + odd + 3; group <= behind; group += 3) cuts.before(group);
    }
    at = behind;
  }
  cuts.before(end);
  cuts.take(out);
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(std::string_view pre) {
  constexpr std::string_view key = "tokenizer.ggml.pre";
  const auto* alias = std::find_if(runs_as.begin(), runs_as.end(), [&](const RunsAs& row) { return row.name == pre; });
  std::optional<std::vector<std::string>> splits = own_splits(pre);
  if (!splits) splits = published_splits(alias == runs_as.end() ? pre : alias->as);
  if (splits->empty()) {
    return input_error("tok-pre", fmt::format("is '{}', a pre-tokenizer that llama.cpp does not know", pre),
                       at_key(key));
  }
  PreTokenizer out;
  for (const std::string& split : *splits) {
    Split& one = out.splits_.emplace_back();
    if (split == before_groups) {
      one.digits = Digits::before_groups;
    } else if (split == from_the_right) {
      one.digits = Digits::from_the_right;
    } else {
      MU_ASSIGN(EncodeRegex regex, EncodeRegex::compile(split));
      one.regex.push_back(std::move(regex));
    }
  }
  return out;
}

std::vector<u32> PreTokenizer::cut(const std::vector<char32_t>& points) const {
  std::vector<u32> pieces = {static_cast<u32>(points.size())};
  const RegexText text(points);
  for (const Split& split : splits_) {
    if (split.digits == Digits::none) {
      pieces = split.regex.front().cut(text, pieces);
      continue;
    }
    std::vector<u32> finer;
    std::size_t begin = 0;
    for (const u32 piece : pieces) {
      const std::size_t end = begin + piece;
      if (split.digits == Digits::before_groups) {
        cut_runs(
            points, begin, end, true, [](char32_t c) { return c >= '0' && c <= '9'; }, finer);
      } else {
        const auto is_number = [](char32_t c) { return character_class(c) == CharacterClass::number; };
        cut_runs(points, begin, end, false, is_number, finer);
      }
      begin = end;
    }
    pieces = std::move(finer);
  }
  return pieces;
}

// Byte-pair encoding, including vocabularies that spell spaces like SentencePiece.

namespace {

constexpr u32 no_number = ~u32{0};

// Merges, as numbers of the texts that they join. A token's number is its id; other texts have higher numbers.
class MergeTable {
 public:
  explicit MergeTable(const EncodeVocabulary& vocabulary) : numbers_(vocabulary.ids) {
    std::string joined;
    for (u32 rank = 0; rank < vocabulary.merges.size(); ++rank) {
      const std::string_view text = vocabulary.merges[rank];
      const std::size_t space = text.find(' ', 1);
      if (space == std::string_view::npos) continue;
      const std::string_view left = text.substr(0, space), right = text.substr(space + 1);
      joined.assign(left);
      joined += right;
      merges_.push_back({number(left), number(right), rank, number_of_copy(joined)});
    }
    std::sort(merges_.begin(), merges_.end(), [](const Merge& a, const Merge& b) {
      return std::tuple(a.left, a.right, a.rank) < std::tuple(b.left, b.right, b.rank);
    });
    begins_.resize(numbers_.size() + 1);
    for (const Merge& merge : merges_) ++begins_[merge.left + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  }

  struct Merge {
    u32 left, right, rank, result;
  };

  u32 find_number(std::string_view text) const { return numbers_.find(text).value_or(no_number); }

  const Merge* find(u32 left, u32 right) const {
    if (left == no_number || right == no_number) return nullptr;
    const auto first = merges_.begin() + begins_[left], last = merges_.begin() + begins_[left + 1];
    const auto found =
        std::lower_bound(first, last, right, [](const Merge& merge, u32 wanted) { return merge.right < wanted; });
    return found != last && found->right == right ? &*found : nullptr;
  }

 private:
  u32 number(std::string_view text) { return numbers_.insert(text).number; }
  u32 number_of_copy(const std::string& text) {
    if (const auto known = numbers_.find(text)) return *known;
    return number(copies_.emplace_back(text));
  }

  NameIndex numbers_;
  std::deque<std::string> copies_;
  std::vector<Merge> merges_;
  std::vector<u32> begins_;  // index of the first merge with each left part
};

struct Symbol {
  i64 previous, next;
  std::size_t at, size;  // in the word; size 0: merged into another symbol
  u32 number;
};

struct Candidate {
  u32 rank;
  i64 left, right;
  u32 result;
  u32 left_number, right_number;
  bool operator<(const Candidate& other) const {
    return rank > other.rank || (rank == other.rank && left > other.left);
  }
};

class BpeEncoder final : public FragmentEncoder {
 public:
  BpeEncoder(const EncodeVocabulary& vocabulary, PreTokenizer pre)
      : vocabulary_(vocabulary), pre_(std::move(pre)), merges_(vocabulary) {
    for (std::size_t byte = 0; byte < symbols_.size(); ++byte) symbols_[byte] = byte_symbol(static_cast<u8>(byte));
  }

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    if (vocabulary_.model != "whitespace") {
      encode_points(code_points(text), ids);
      return {};
    }
    std::vector<char32_t> word;
    for (const char32_t point : code_points(text)) {
      if (!is_space(point)) {
        word.push_back(vocabulary_.lowercase ? to_lower(point) : point);
      } else if (!word.empty()) {
        encode_points(word, ids);
        word.clear();
      }
    }
    if (!word.empty()) encode_points(word, ids);
    return {};
  }

 private:
  void encode_points(std::vector<char32_t> points, std::vector<u32>& ids) const {
    if (vocabulary_.escapes_spaces) std::replace(points.begin(), points.end(), U' ', U'\u2581');
    std::size_t at = 0;
    std::string word, bytes;
    for (const u32 length : pre_.cut(points)) {
      bytes.clear();
      for (u32 i = 0; i < length; ++i) append_point(bytes, points[at++]);
      if (!vocabulary_.encodes_bytes) {
        encode_word(bytes, ids);
        continue;
      }
      word.clear();
      for (const char byte : bytes) word += symbols_[static_cast<u8>(byte)];
      encode_word(word, ids);
    }
  }

  void encode_word(const std::string& word, std::vector<u32>& ids) const {
    if (word.empty()) return;
    const bool may_be_whole =
        vocabulary_.ignore_merges ||
        (vocabulary_.escapes_spaces && vocabulary_.pre != "sarvam-moe" && word.find_first_not_of('\n') == word.npos);
    if (may_be_whole) {
      if (const auto id = vocabulary_.ids.find(word)) return ids.push_back(*id);
    }
    std::vector<Symbol> symbols = split(word);
    merge(symbols);
    for (const Symbol& symbol : symbols) {
      if (symbol.size > 0) add_token(word, symbol, ids);
    }
  }

  std::vector<Symbol> split(std::string_view word) const {
    std::vector<Symbol> symbols;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t size = std::min(promised_bytes(word[at]), word.size() - at);
      const auto index = static_cast<i64>(symbols.size());
      symbols.push_back({index - 1, index + 1, at, size, merges_.find_number(word.substr(at, size))});
      at += size;
    }
    symbols.back().next = -1;
    return symbols;
  }

  void merge(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate> queue;
    const auto add = [&](i64 left, i64 right) {
      if (left < 0 || right < 0) return;
      const Symbol &a = symbols[static_cast<std::size_t>(left)], &b = symbols[static_cast<std::size_t>(right)];
      const MergeTable::Merge* found = merges_.find(a.number, b.number);
      if (found != nullptr) queue.push({found->rank, left, right, found->result, a.number, b.number});
    };
    for (std::size_t i = 1; i < symbols.size(); ++i) add(static_cast<i64>(i) - 1, static_cast<i64>(i));
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol &left = symbols[static_cast<std::size_t>(best.left)],
             &right = symbols[static_cast<std::size_t>(best.right)];
      // Outdated: one of the symbols has been merged into another, or has grown.
      if (left.size == 0 || right.size == 0 || left.number != best.left_number || right.number != best.right_number) {
        continue;
      }
      left.size += right.size;
      left.number = best.result;
      left.next = right.next;
      right.size = 0;
      if (right.next >= 0) symbols[static_cast<std::size_t>(right.next)].previous = best.left;
      add(left.previous, best.left);
      add(best.left, left.next);
    }
  }

  void add_token(const std::string& word, const Symbol& symbol, std::vector<u32>& ids) const {
    if (symbol.number < vocabulary_.texts.size()) return ids.push_back(symbol.number);
    // Not in the vocabulary: add its bytes, if they have tokens.
    for (const char byte : std::string_view(word).substr(symbol.at, symbol.size)) {
      const auto id = vocabulary_.encodes_bytes ? vocabulary_.ids.find(std::string_view(&byte, 1))
                                                : vocabulary_.ids.find(byte_token(static_cast<u8>(byte)));
      if (id) ids.push_back(*id);
    }
  }

  const EncodeVocabulary& vocabulary_;
  const PreTokenizer pre_;
  const MergeTable merges_;
  std::array<std::string, 256> symbols_;
};

}  // namespace

Result<EncoderPointer> make_bpe_encoder(const EncodeVocabulary& vocabulary) {
  MU_ASSIGN(PreTokenizer pre, PreTokenizer::make(vocabulary.pre));
  return std::make_unique<BpeEncoder>(vocabulary, std::move(pre));
}

}  // namespace modelutils::tokenizer
