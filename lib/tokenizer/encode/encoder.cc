#include "tokenizer/encode/encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/fragment_encoder.h"
#include "tokenizer/tokenizer.h"

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

namespace {

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_space = text.substr(at).starts_with(space_mark);
    out += is_space ? ' ' : text[at];
    at += is_space ? space_mark.size() : 1;
  }
  return out;
}

// Returns the byte of each character below U+0144 in byte_symbol()'s alphabet; -1 if there is none.
std::array<int, 0x144> bytes_of_symbols() {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) {
    const std::vector<char32_t> symbol = code_points(byte_symbol(static_cast<u8>(byte)));
    bytes[symbol.front()] = byte;
  }
  return bytes;
}

// Decodes byte_symbol()'s alphabet; spells out other characters like llama.cpp.
std::string decoded(std::string_view text) {
  static const std::array<int, 0x144> bytes = bytes_of_symbols();
  std::string out;
  for (const char32_t point : code_points(text)) {
    if (point < bytes.size() && bytes[point] >= 0) {
      out += static_cast<char>(bytes[point]);
      continue;
    }
    std::string utf8;
    append_point(utf8, point);
    out += "[UNK_BYTE_0x";
    for (const char c : utf8) out += fmt::format("{:02x}", static_cast<u8>(c));
    out += text;
    out += "]";
  }
  return out;
}

bool is_any_of(char c, std::string_view of) {
  return of.find(c) != std::string_view::npos;
}

// The three passes of llama.cpp that remove spaces; each works on the result of the previous one.
std::string without_spaces_before_marks(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i - 1] == ' ' && is_any_of(text[i], "?!.,")) out.pop_back();
    out += text[i];
  }
  return out;
}

std::string without_spaces_around_apostrophes(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i > 0 && c == '\'' && i + 1 < text.size() && text[i - 1] == ' ' && text[i + 1] == ' ') {
      out.pop_back();
      text[++i] = '\0';
    }
    out += c;
  }
  return out;
}

std::string without_spaces_before_endings(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i - 1] == ' ' && text[i] == '\'' && i + 1 < text.size()) {
      const std::string_view ending = std::string_view(text).substr(i + 1);
      if (is_any_of(ending.front(), "sm") || ending.starts_with("re") || ending.starts_with("ve")) out.pop_back();
    }
    out += text[i];
  }
  return out;
}

int hex_value(char c) {
  return c >= 'a' ? c - 'a' + 10 : c - '0';
}

}  // namespace

std::string unescape_rwkv(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (text[i] != '\\') bytes += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'x') {
      if (i + 2 >= text.size()) break;  // truncated
      bytes += static_cast<char>((hex_value(text[i + 1]) << 4) + hex_value(text[i + 2]));
      i += 2;
    } else {
      bytes += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return bytes;
}

std::string token_piece(const EncodeVocabulary& vocabulary, u32 id) {
  const std::string& text = vocabulary.texts[id];
  if (vocabulary.kind == EncodeKind::rwkv) return unescape_rwkv(text);
  const bool is_plamo2 = vocabulary.kind == EncodeKind::plamo2;
  if (vocabulary.has(id, trait_unknown | trait_control | trait_user_defined)) return text;
  if (!is_plamo2 && vocabulary.has(id, trait_normal)) {
    return vocabulary.kind == EncodeKind::bpe && !vocabulary.escapes_spaces ? decoded(text) : with_spaces(text);
  }
  if (vocabulary.has(id, trait_byte)) {
    if (const auto byte = byte_token_value(text)) return std::string(1, static_cast<char>(*byte));
  }
  return is_plamo2 ? text : std::string();
}

std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids) {
  std::string text;
  bool is_first = true;
  for (const u32 id : ids) {
    std::string piece = token_piece(vocabulary, id);
    if (is_first && vocabulary.add_space_prefix && piece.starts_with(' ')) piece.erase(0, 1);
    is_first = false;
    text += piece;
  }
  if (!vocabulary.tidies_spaces) return text;
  return without_spaces_before_endings(without_spaces_around_apostrophes(without_spaces_before_marks(text)));
}

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
