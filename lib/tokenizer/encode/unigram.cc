// Unigram: finds the split with the best sum of scores (Viterbi), after SentencePiece's normalisation.
#include <algorithm>
#include <limits>
#include <queue>
#include <string>

#include "base/byte_reader.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/encode/prefix_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// Reads the precompiled character map described at check_charsmap().
class CharacterMap {
 public:
  CharacterMap() = default;
  explicit CharacterMap(std::string_view bytes) {
    if (bytes.empty()) return;
    ByteReader reader(std::as_bytes(std::span(bytes)));
    const u32 array_bytes = reader.read<u32>();
    for (u32 i = 0; i < array_bytes / 4; ++i) units_.push_back(reader.read<u32>());
    texts_ = bytes.substr(4 + std::size_t{array_bytes});
  }

  // Finds the longest prefix of `text` in the map and its replacement. Returns the prefix's length; 0 if there is none.
  std::size_t longest(std::string_view text, std::string_view& replacement) const {
    std::size_t length = 0;
    if (units_.empty()) return length;
    u32 node = offset(units_[0]);
    const std::size_t end = std::min(text.size(), longest_key);
    for (std::size_t i = 0; i < end && text[i] != '\0'; ++i) {
      const u32 byte = static_cast<u8>(text[i]);
      node ^= byte;
      if (node >= units_.size() || (units_[node] & (leaf_bit | 0xff)) != byte) break;
      const bool has_value = (units_[node] >> 8 & 1) != 0;
      node ^= offset(units_[node]);
      if (!has_value || node >= units_.size()) continue;
      const u32 begin = units_[node] & ~leaf_bit;
      if (begin >= texts_.size()) break;
      const std::string_view from = texts_.substr(begin);
      replacement = from.substr(0, from.find('\0'));
      length = i + 1;
    }
    return length;
  }

 private:
  static constexpr u32 leaf_bit = 1U << 31;
  // Real keys have less than 64 bytes. The limit is for damaged maps with cycles, whose keys have no maximum length.
  static constexpr std::size_t longest_key = 1024;
  static u32 offset(u32 unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

  std::vector<u32> units_;
  std::string_view texts_;
};

class UnigramEncoder final : public FragmentEncoder {
 public:
  explicit UnigramEncoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary), map_(vocabulary.charsmap) {
    float worst = std::numeric_limits<float>::max();
    std::vector<u32> words, user_defined;
    for (u32 id = 0; id < vocabulary.texts.size(); ++id) {
      const u8 traits = vocabulary.stated_traits[id];
      if ((traits & trait_normal) != 0) worst = std::min(worst, vocabulary.scores[id]);
      if ((traits & (trait_normal | trait_user_defined | trait_unused)) != 0) words.push_back(id);
      if ((traits & trait_user_defined) != 0) user_defined.push_back(id);
    }
    unknown_score_ = worst - 10.0F;
    words_ = PrefixTable(vocabulary.texts, std::move(words));
    user_defined_ = PrefixTable(vocabulary.texts, std::move(user_defined));
  }

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    const std::string normal = normalise(text);
    if (normal.empty()) return {};
    std::vector<Best> best(normal.size() + 1);
    best[0].score = 0;
    for (std::size_t at = 0; at < normal.size();) {
      const std::size_t size = std::min(promised_bytes(normal[at]), normal.size() - at);
      const double before = best[at].score;
      const auto offer = [&](std::size_t end, double score, i64 id) {
        if (before + score > best[end].score) best[end] = {before + score, at, id};
      };
      bool has_character = false;
      PrefixTable::Walk walk(words_);
      for (std::size_t end = at; end < normal.size() && walk.step(normal[end]);) {
        ++end;
        const u32* id = walk.found();
        if (id == nullptr) continue;
        has_character = has_character || end - at == size;
        offer(end, vocabulary_.has(*id, trait_user_defined) ? 0.0 : vocabulary_.scores[*id], *id);
      }
      if (!has_character) offer(at + size, unknown_score_, unknown);
      at += size;
    }
    return trace(best, ids);
  }

 private:
  static constexpr i64 unknown = -1;
  struct Best {
    double score = std::numeric_limits<double>::lowest();
    std::size_t from = 0;
    i64 id = unknown;
  };

  // Collects the ids from the end; merges adjacent unknown tokens.
  Status trace(const std::vector<Best>& best, std::vector<u32>& ids) const {
    const std::size_t begin = ids.size();
    bool was_unknown = false;
    for (std::size_t at = best.size() - 1; at > 0; at = best[at].from) {
      const bool is_unknown = best[at].id == unknown || (vocabulary_.unk && best[at].id == *vocabulary_.unk);
      if (is_unknown && !vocabulary_.unk) {
        return input_error("tok-uncut",
                           "the text has a character that no token covers, and the vocabulary has no unknown token");
      }
      if (!is_unknown) {
        ids.push_back(static_cast<u32>(best[at].id));
      } else if (!was_unknown) {
        ids.push_back(*vocabulary_.unk);
      }
      was_unknown = is_unknown;
    }
    std::reverse(ids.begin() + static_cast<i64>(begin), ids.end());
    return {};
  }

  std::string normalise(std::string_view text) const {
    const std::string_view space = vocabulary_.escapes_spaces ? space_mark : std::string_view(" ");
    const bool merges_spaces = vocabulary_.remove_extra_whitespaces;
    std::string normal;
    bool has_prefix = false, in_word = false;
    for (std::size_t at = 0; at < text.size();) {
      std::string_view part;
      at += normalise_first(text.substr(at), part);
      for (const char c : part) {
        if (c == ' ') {
          in_word = false;
          if (!merges_spaces) normal += space;
          continue;
        }
        if (!in_word && ((vocabulary_.add_space_prefix && !has_prefix) || merges_spaces)) {
          normal += space;
          has_prefix = true;
        }
        in_word = true;
        normal += c;
      }
    }
    return normal;
  }

  // Normalises the start of `text` to `part`; returns the number of bytes consumed.
  std::size_t normalise_first(std::string_view text, std::string_view& part) const {
    // Consume the longest prefix of any user-defined token, even if it is not a whole token.
    PrefixTable::Walk walk(user_defined_);
    std::size_t size = 0;
    while (size < text.size() && walk.step(text[size])) ++size;
    if (size == 0) {
      size = map_.longest(text, part);
      if (size > 0) return size;
      size = valid_size(text);
    }
    if (size == 0) {
      part = "\ufffd";
      return 1;
    }
    part = text.substr(0, size);
    return size;
  }

  // Returns the length in bytes of the character at the start of `text`; 0 if it is invalid.
  static std::size_t valid_size(std::string_view text) {
    const auto first = static_cast<u8>(text.front());
    const std::size_t size = promised_bytes(text.front());
    if ((first >= 0x80 && first < 0xc0) || first >= 0xf8 || size > text.size()) return 0;
    for (std::size_t i = 1; i < size; ++i) {
      if ((static_cast<u8>(text[i]) & 0xc0) != 0x80) return 0;
    }
    return size;
  }

  const EncodeVocabulary& vocabulary_;
  const CharacterMap map_;
  PrefixTable words_, user_defined_;
  float unknown_score_ = 0;
};

}  // namespace

EncoderPointer make_unigram_encoder(const EncodeVocabulary& vocabulary) {
  return std::make_unique<UnigramEncoder>(vocabulary);
}

// SentencePiece's byte-pair encoding: merges pairs by the score of the resulting token.

namespace {

struct Part {
  i64 previous, next;
  std::size_t at, size;  // size 0: merged into another part
};

struct Pair {
  float score;
  i64 left, right;
  std::size_t size;
  bool operator<(const Pair& other) const { return score < other.score || (score == other.score && left > other.left); }
};

class SpmEncoder final : public FragmentEncoder {
 public:
  explicit SpmEncoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    if (text.empty()) return {};
    std::vector<Part> parts;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = std::min(promised_bytes(text[at]), text.size() - at);
      const auto index = static_cast<i64>(parts.size());
      parts.push_back({index - 1, index + 1, at, size});
      at += size;
    }
    parts.back().next = -1;
    join(text, parts);
    for (i64 i = 0; i >= 0; i = parts[static_cast<std::size_t>(i)].next) {
      const Part& part = parts[static_cast<std::size_t>(i)];
      MU_TRY(add_token(text.substr(part.at, part.size), ids));
    }
    return {};
  }

 private:
  void join(std::string_view text, std::vector<Part>& parts) const {
    std::priority_queue<Pair> queue;
    const auto add = [&](i64 left, i64 right) {
      if (left < 0 || right < 0) return;
      const Part &a = parts[static_cast<std::size_t>(left)], &b = parts[static_cast<std::size_t>(right)];
      if (a.size + b.size > vocabulary_.longest) return;
      const auto id = vocabulary_.ids.find(text.substr(a.at, a.size + b.size));
      if (id) queue.push({vocabulary_.scores[*id], left, right, a.size + b.size});
    };
    for (std::size_t i = 1; i < parts.size(); ++i) add(static_cast<i64>(i) - 1, static_cast<i64>(i));
    while (!queue.empty()) {
      const Pair best = queue.top();
      queue.pop();
      Part &left = parts[static_cast<std::size_t>(best.left)], &right = parts[static_cast<std::size_t>(best.right)];
      if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;  // outdated
      left.size += right.size;
      left.next = right.next;
      right.size = 0;
      if (right.next >= 0) parts[static_cast<std::size_t>(right.next)].previous = best.left;
      add(left.previous, best.left);
      add(best.left, left.next);
    }
  }

  Status add_token(std::string_view text, std::vector<u32>& ids) const {
    if (const auto id = vocabulary_.ids.find(text)) {
      ids.push_back(*id);
      return {};
    }
    for (const char c : text) {
      const auto byte = static_cast<u8>(c);
      auto id = vocabulary_.ids.find(byte_token(byte));
      if (!id) id = vocabulary_.ids.find(std::string_view(&c, 1));
      if (!id) return no_token_for(byte);
      ids.push_back(*id);
    }
    return {};
  }

  const EncodeVocabulary& vocabulary_;
};

}  // namespace

EncoderPointer make_sentencepiece_encoder(const EncodeVocabulary& vocabulary) {
  return std::make_unique<SpmEncoder>(vocabulary);
}

// WordPiece as in BERT: splits each word from its start into the longest possible tokens.

namespace {

// Blocks of ideographs that are separate words. Differs from is_han() in the start of one block.
bool is_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

class WordPieceEncoder final : public FragmentEncoder {
 public:
  explicit WordPieceEncoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary) {
    std::vector<u32> all(vocabulary.texts.size());
    for (u32 id = 0; id < all.size(); ++id) all[id] = id;
    table_ = PrefixTable(vocabulary.texts, std::move(all));
  }

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    for (const std::string& word : words(text)) MU_TRY(add_word(word, ids));
    return {};
  }

 private:
  // Returns the words of a text, each prefixed with U+2581.
  std::vector<std::string> words(std::string_view text) const {
    std::vector<std::string> words;
    std::string word;
    const auto finish = [&] {
      if (!word.empty()) words.push_back(std::string(space_mark) + word);
      word.clear();
    };
    for (char32_t c : code_points(text)) {
      if (vocabulary_.strip_accents) c = first_of_decomposed(c);
      const CharacterClass is = character_class(c);
      if (is_space(c)) {
        finish();
        continue;
      }
      if (c == 0 || c == 0xfffd || is == CharacterClass::control) continue;
      if (vocabulary_.strip_accents && is == CharacterClass::mark) continue;
      const bool stands_alone =
          is == CharacterClass::punctuation || (c < 0x7f && is == CharacterClass::symbol) || is_ideograph(c);
      if (stands_alone) finish();
      append_point(word, vocabulary_.lowercase ? to_lower(c) : c);
      if (stands_alone) finish();
    }
    finish();
    return words;
  }

  // If any part of a word is not a token, the whole word is unknown.
  Status add_word(std::string_view word, std::vector<u32>& ids) const {
    const std::size_t before = ids.size();
    for (std::size_t at = 0; at < word.size();) {
      PrefixTable::Walk walk(table_);
      std::size_t longest = 0;
      u32 id = 0;
      for (std::size_t end = at; end < word.size() && walk.step(word[end]); ++end) {
        if (const u32* found = walk.found()) {
          longest = end + 1 - at;
          id = *found;
        }
      }
      if (longest == 0) {
        ids.resize(before);
        break;
      }
      ids.push_back(id);
      at += longest;
    }
    if (ids.size() > before) return {};
    if (!vocabulary_.unk)
      return input_error("tok-uncut",
                         "the text has a word that no tokens cover, and the vocabulary has no unknown token");
    ids.push_back(*vocabulary_.unk);
    return {};
  }

  const EncodeVocabulary& vocabulary_;
  PrefixTable table_;
};

}  // namespace

EncoderPointer make_wordpiece_encoder(const EncodeVocabulary& vocabulary) {
  return std::make_unique<WordPieceEncoder>(vocabulary);
}

}  // namespace modelutils::tokenizer
