#include "tokenizer/encode/encoder.h"

#include <fmt/core.h>

#include <utility>

#include "base/place.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/encode/special_tokens.h"
#include "tokenizer/encode/token_pieces.h"

namespace modelutils::tokenizer {

struct Encoder::Parts {
  EncodeVocabulary vocabulary;
  std::unique_ptr<const SpecialTokens> special;
  EncoderPointer encoder;
};

namespace {

Result<EncoderPointer> make_encoder(const EncodeVocabulary& vocabulary) {
  switch (vocabulary.kind) {
    case EncodeKind::sentencepiece: return make_sentencepiece_encoder(vocabulary);
    case EncodeKind::bpe: return make_bpe_encoder(vocabulary);
    case EncodeKind::wordpiece: return make_wordpiece_encoder(vocabulary);
    case EncodeKind::unigram: return make_unigram_encoder(vocabulary);
    case EncodeKind::rwkv: return make_rwkv_encoder(vocabulary);
    case EncodeKind::plamo2: break;
  }
  return make_plamo2_encoder(vocabulary);
}

Status add_special(std::optional<u32> id, std::string_view role, std::vector<u32>& ids) {
  if (!id) {
    return input_error("tok-special-missing", fmt::format("a token '{}' should be added, but none is defined", role),
                       at_key(fmt::format("tokenizer.ggml.{}_token_id", role == "sep" ? "seperator" : role)));
  }
  ids.push_back(*id);
  return {};
}

// Removes the bos and eos that a chat template has already written, like llama.cpp, because they are added again.
std::string_view without_added(std::string_view prompt, const EncodeVocabulary& vocabulary) {
  if (vocabulary.add_bos && vocabulary.bos && prompt.starts_with(vocabulary.texts[*vocabulary.bos])) {
    prompt.remove_prefix(vocabulary.texts[*vocabulary.bos].size());
  }
  if (vocabulary.add_eos && vocabulary.eos && prompt.ends_with(vocabulary.texts[*vocabulary.eos])) {
    prompt.remove_suffix(vocabulary.texts[*vocabulary.eos].size());
  }
  return prompt;
}

// SentencePiece: replaces spaces by U+2581. `add_space` adds one at the start of a text and after special tokens.
std::string marked(std::string_view text, bool add_space) {
  std::string out;
  if (add_space) out += space_mark;
  for (const char c : text) {
    if (c == ' ') {
      out += space_mark;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

tl::unexpected<Error> no_token_for(u8 byte) {
  return input_error("tok-uncut", fmt::format("the vocabulary has no token for the byte 0x{:02X}", byte));
}

Encoder::Encoder(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

Result<Encoder> Encoder::make(EncodeKeys keys) {
  auto parts = std::make_unique<Parts>();
  MU_TRY(load_vocabulary(std::move(keys), parts->vocabulary));
  parts->special = std::make_unique<const SpecialTokens>(parts->vocabulary);
  MU_ASSIGN(parts->encoder, make_encoder(parts->vocabulary));
  return Encoder(std::move(parts));
}

std::size_t Encoder::size() const {
  return parts_->vocabulary.texts.size();
}

Result<std::vector<u32>> Encoder::encode(std::string_view text, const EncodeOptions& options) const {
  const EncodeVocabulary& vocabulary = parts_->vocabulary;
  const bool is_wordpiece = vocabulary.kind == EncodeKind::wordpiece;
  // llama.cpp never adds tokens for RWKV and PLaMo-2.
  const bool adds = options.add_special && vocabulary.kind != EncodeKind::rwkv && vocabulary.kind != EncodeKind::plamo2;
  if (adds && options.is_prompt) text = without_added(text, vocabulary);
  std::vector<u32> ids;
  if (adds && (vocabulary.add_bos || is_wordpiece)) MU_TRY(add_special(vocabulary.bos, "bos", ids));
  bool after_special = true;
  for (const TextFragment& fragment : parts_->special->partition(text, options.parse_special)) {
    if (fragment.token) {
      ids.push_back(*fragment.token);
    } else if (vocabulary.kind == EncodeKind::sentencepiece) {
      MU_TRY(parts_->encoder->encode(marked(fragment.text, vocabulary.add_space_prefix && after_special), ids));
    } else {
      MU_TRY(parts_->encoder->encode(fragment.text, ids));
    }
    after_special = fragment.token.has_value();
  }
  if (adds && is_wordpiece) MU_TRY(add_special(vocabulary.sep, "sep", ids));
  if (adds && !is_wordpiece && vocabulary.add_eos) MU_TRY(add_special(vocabulary.eos, "eos", ids));
  return ids;
}

std::string Encoder::piece(u32 id) const {
  return token_piece(parts_->vocabulary, id);
}

std::string Encoder::decode(std::span<const u32> ids) const {
  return text_of_tokens(parts_->vocabulary, ids);
}

}  // namespace modelutils::tokenizer
