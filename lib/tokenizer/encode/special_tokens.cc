#include "tokenizer/encode/special_tokens.h"

#include <algorithm>

namespace modelutils::tokenizer {

namespace {

constexpr u8 special_traits = trait_control | trait_user_defined | trait_unknown;

// True for white space in the C locale, which lstrip and rstrip remove.
bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

struct Occurrence {
  u32 rank;
  std::size_t at;
};

enum ByteState : u8 { still_text, stripped, inside_token, begins_token };

}  // namespace

SpecialTokens::SpecialTokens(const EncodeVocabulary& vocabulary)
    : vocabulary_(vocabulary), rank_(vocabulary.texts.size()) {
  for (u32 id = 0; id < vocabulary.texts.size(); ++id) {
    if (vocabulary.has(id, special_traits)) order_.push_back(id);
  }
  // Not a stable sort, so that texts of equal length are in the same order as in llama.cpp, which uses std::sort.
  std::sort(order_.begin(), order_.end(), [&](u32 a, u32 b) {  // NOLINT(modernize-use-ranges)
    return vocabulary.texts[a].size() > vocabulary.texts[b].size();
  });
  for (u32 rank = 0; rank < order_.size(); ++rank) rank_[order_[rank]] = rank;
  table_ = PrefixTable(vocabulary.texts, order_);
}

std::vector<TextFragment> SpecialTokens::partition(std::string_view text, bool parse_special) const {
  std::vector<TextFragment> fragments;
  if (text.empty()) return fragments;
  std::vector<Occurrence> occurrences;
  for (std::size_t at = 0; at < text.size() && !table_.empty(); ++at) {
    PrefixTable::Walk walk(table_);
    for (std::size_t end = at; end < text.size() && walk.step(text[end]); ++end) {
      const u32* id = walk.found();
      if (id == nullptr) continue;
      if (!parse_special && vocabulary_.has(*id, trait_control | trait_unknown)) continue;
      occurrences.push_back({rank_[*id], at});
    }
  }
  if (occurrences.empty()) {
    fragments.push_back({std::nullopt, text});
    return fragments;
  }
  std::sort(occurrences.begin(), occurrences.end(),
            [](const Occurrence& a, const Occurrence& b) { return a.rank != b.rank ? a.rank < b.rank : a.at < b.at; });

  std::vector<u8> states(text.size(), still_text);
  std::vector<u32> tokens(text.size());
  for (const Occurrence& one : occurrences) {
    const u32 id = order_[one.rank];
    const std::size_t end = one.at + vocabulary_.texts[id].size();
    const auto first = states.begin() + static_cast<i64>(one.at), last = states.begin() + static_cast<i64>(end);
    if (std::any_of(first, last, [](u8 state) { return state != still_text; })) continue;
    std::fill(first, last, inside_token);
    states[one.at] = begins_token;
    tokens[one.at] = id;
    const auto strips = [&](std::size_t at) { return states[at] == still_text && is_blank(text[at]); };
    if (vocabulary_.has(id, trait_strips_left)) {
      for (std::size_t at = one.at; at > 0 && strips(at - 1); --at) states[at - 1] = stripped;
    }
    if (vocabulary_.has(id, trait_strips_right)) {
      for (std::size_t at = end; at < text.size() && strips(at); ++at) states[at] = stripped;
    }
  }
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (states[at] == still_text) {
      while (end < text.size() && states[end] == still_text) ++end;
      fragments.push_back({std::nullopt, text.substr(at, end - at)});
    } else if (states[at] == begins_token) {
      fragments.push_back({tokens[at], {}});
    }
    at = end;
  }
  return fragments;
}

}  // namespace modelutils::tokenizer
