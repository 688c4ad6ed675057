#include "tokenizer/encode/prefix_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/encoder.h"
#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/tokenizer.h"

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

// RWKV: takes the longest token at each position.

namespace {

class RwkvEncoder final : public FragmentEncoder {
 public:
  explicit RwkvEncoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary) {
    NameIndex seen;
    std::vector<u32> numbers;
    for (const std::string& text : vocabulary.texts) bytes_.push_back(unescape_rwkv(text));
    // If several tokens decode to the same bytes, the last one counts.
    for (auto id = static_cast<u32>(bytes_.size()); id-- > 0;) {
      if (seen.insert(bytes_[id]).is_new) numbers.push_back(id);
    }
    table_ = PrefixTable(bytes_, std::move(numbers));
  }

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    for (std::size_t at = 0; at < text.size();) {
      PrefixTable::Walk walk(table_);
      std::size_t longest = 0, end = at;
      u32 id = 0;
      for (; end < text.size() && walk.step(text[end]); ++end) {
        if (const u32* found = walk.found()) {
          longest = end + 1 - at;
          id = *found;
        }
      }
      if (longest == 0) {
        // A byte that begins no token is unknown. A byte that only begins longer tokens would make llama.cpp loop
        // endlessly.
        if (end > at || !vocabulary_.unk) return no_token_for(static_cast<u8>(text[at]));
        id = *vocabulary_.unk;
        longest = 1;
      }
      ids.push_back(id);
      at += longest;
    }
    return {};
  }

 private:
  const EncodeVocabulary& vocabulary_;
  std::vector<std::string> bytes_;
  PrefixTable table_;
};

}  // namespace

EncoderPointer make_rwkv_encoder(const EncodeVocabulary& vocabulary) {
  return std::make_unique<RwkvEncoder>(vocabulary);
}

// PLaMo-2: finds the split with the best sum of scores, working backwards from the end. Scores are integers in units of
// 1/10,000.

namespace {

// The score of a character without a token, and the lowest score that a token may have.
constexpr i64 unknown_score = -10'000'000, invalid_score = -20'000'000;

class Plamo2Encoder final : public FragmentEncoder {
 public:
  explicit Plamo2Encoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary) {
    std::vector<u32> words;
    for (u32 id = 0; id < vocabulary.texts.size(); ++id) {
      if (!vocabulary.has(id, trait_byte)) {
        words.push_back(id);
      } else if (const auto byte = byte_token_value(vocabulary.texts[id])) {
        bytes_[*byte] = id;
      }
    }
    table_ = PrefixTable(vocabulary.texts, std::move(words));
  }

  // llama.cpp treats a byte as missing if its token has id 0.
  Status check() const {
    const auto missing = std::find(bytes_.begin(), bytes_.end(), 0);
    if (missing == bytes_.end()) return {};
    return no_token_for(static_cast<u8>(missing - bytes_.begin()));
  }

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    std::string valid;
    std::vector<char32_t> points = code_points(text);
    if (!points.empty() && points.front() == 0xfeff) points.erase(points.begin());
    std::vector<std::size_t> begins;
    for (const char32_t point : points) {
      begins.push_back(valid.size());
      append_point(valid, point);
    }
    std::vector<Choice> best(valid.size() + 1);
    best.back().cost = 0;
    std::vector<Found> found;
    for (std::size_t i = begins.size(); i-- > 0;) {
      const std::size_t at = begins[i], next = i + 1 < begins.size() ? begins[i + 1] : valid.size();
      found_at(valid, at, found);
      // Of equally good tokens, prefer the longest.
      for (auto one = found.rbegin(); one != found.rend(); ++one) {
        const i64 cost = best[one->end].cost - one->score;
        if (cost < best[at].cost) best[at] = {cost, one->end, one->id};
      }
      const i64 cost = best[next].cost - unknown_score;
      if (cost < best[at].cost) best[at] = {cost, next, no_token};
    }
    for (std::size_t at = 0; at < valid.size(); at = best[at].end) {
      if (best[at].id != no_token) {
        ids.push_back(static_cast<u32>(best[at].id));
        continue;
      }
      for (std::size_t i = at; i < best[at].end; ++i) ids.push_back(bytes_[static_cast<u8>(valid[i])]);
    }
    return {};
  }

 private:
  static constexpr i64 no_token = -1;
  struct Choice {
    i64 cost = i64{1} << 60;
    std::size_t end = 0;
    i64 id = no_token;
  };
  struct Found {
    std::size_t end;
    i64 score;
    u32 id;
  };

  void found_at(std::string_view text, std::size_t at, std::vector<Found>& found) const {
    found.clear();
    PrefixTable::Walk walk(table_);
    for (std::size_t end = at; end < text.size() && walk.step(text[end]);) {
      ++end;
      const u32* id = walk.found();
      if (id == nullptr) continue;
      const float score = vocabulary_.scores[*id];
      if (!std::isfinite(score) || std::abs(score) > 100'000.0F) continue;
      const auto scaled = static_cast<i64>(std::round(static_cast<double>(score) * 1e4));
      if (scaled > invalid_score) found.push_back({end, scaled, *id});
    }
  }

  const EncodeVocabulary& vocabulary_;
  std::array<u32, 256> bytes_{};
  PrefixTable table_;
};

}  // namespace

Result<EncoderPointer> make_plamo2_encoder(const EncodeVocabulary& vocabulary) {
  auto encoder = std::make_unique<Plamo2Encoder>(vocabulary);
  MU_TRY(encoder->check());
  return encoder;
}

}  // namespace modelutils::tokenizer
