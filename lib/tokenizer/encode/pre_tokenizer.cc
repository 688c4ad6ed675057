#include "tokenizer/encode/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/place.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/pre_table.h"

namespace modelutils::tokenizer {

namespace {

// Names that llama.cpp treats like another one and that the table of pre-tokenizers does not mention.
struct RunsAs {
  std::string_view name, as;
};
constexpr std::array runs_as = {RunsAs{"talkie", "gpt-4o"}, RunsAs{"cohere2moe", "tiny_aya"},
                                RunsAs{"joyai-llm", "deepseek-v3"}, RunsAs{"hy_v4", "deepseek-v3"}};

constexpr std::string_view words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view lines = R"([^\n]+|[\n]+)";
constexpr std::string_view without_sentence_marks = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view before_groups = "before groups", from_the_right = "from the right";
constexpr std::string_view contraction = R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?)";

// Returns llama.cpp's splits if they differ from the published ones in the table; else nullopt.
std::optional<std::vector<std::string>> own_splits(std::string_view pre) {
  using List = std::vector<std::string>;
  const auto list = [](auto... texts) { return List{std::string(texts)...}; };
  if (pre.empty() || pre == "default") {
    return list(R"([\p{P}\$\+<=>\^~\|]+)", words, R"(\p{N}+)", "[0-9][0-9][0-9]");
  }
  if (pre == "gemma4" || pre == "granite-embed-multi-311m" || pre == "sarvam-moe") return list(lines);
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
  if (form == "B+") return std::string(words);
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

}  // namespace modelutils::tokenizer
