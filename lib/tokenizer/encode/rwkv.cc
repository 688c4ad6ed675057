// RWKV: takes the longest token at each position.
#include <string>

#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/encode/prefix_table.h"
#include "tokenizer/encode/token_pieces.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
