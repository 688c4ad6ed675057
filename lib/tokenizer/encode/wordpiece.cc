// WordPiece as in BERT: splits each word from its start into the longest possible tokens.
#include <string>

#include "tokenizer/byte_tokens.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/encode/prefix_table.h"

namespace modelutils::tokenizer {

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
