// Parses tokenizer.model, SentencePiece's protobuf, without a protobuf library.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/byte_reader.h"
#include "base/types.h"
#include "base/utf8.h"
#include "formats/hf/config_members.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/class_facts.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// Sixteen times the largest known vocabulary; a piece takes at least two bytes in the file and 32 in memory.
constexpr std::size_t max_pieces = std::size_t{1} << 22;

enum class Wire : u8 { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// One field of a message.
struct Field {
  u64 number = 0;
  Wire wire = Wire::varint;
  u64 varint = 0;         // if wire type is varint
  std::string_view data;  // if wire type is bytes
  u32 fixed32 = 0;        // if wire type is fixed32
  u64 offset = 0;         // absolute offset of `data`, or of the key
};

tl::unexpected<Error> broken(std::string message, u64 offset, std::string where = {}) {
  return input_error("hf-tok-sentencepiece", std::move(message), std::move(where), offset);
}

// Reads the fields of one message in sequence. The message is in memory, so fields can be views into it.
class MessageReader {
 public:
  MessageReader(std::string_view message, u64 base)
      : message_(message), base_(base), reader_(std::as_bytes(std::span(message)), base) {}

  /// Returns the next field; nullopt at the end.
  Result<std::optional<Field>> next() {
    if (reader_.offset() - base_ == message_.size()) return std::nullopt;
    Field field;
    field.offset = reader_.offset();
    MU_ASSIGN(const u64 key, varint());
    field.number = key >> 3;
    field.wire = static_cast<Wire>(key & 7);
    if (field.number == 0 || field.number >= u64{1} << 29) return broken("invalid field number", field.offset);
    switch (field.wire) {
      case Wire::varint: {
        MU_ASSIGN(field.varint, varint());
        break;
      }
      case Wire::fixed64: reader_.read<u64>(); break;
      case Wire::fixed32: field.fixed32 = reader_.read<u32>(); break;
      case Wire::bytes: {
        MU_ASSIGN(const u64 size, varint());
        field.offset = reader_.offset();
        if (!fits(field.offset - base_, size, message_.size())) {
          return broken(fmt::format("a field has {} bytes, but only {} are left: the file is incomplete or damaged",
                                    size, message_.size() - (field.offset - base_)),
                        field.offset);
        }
        field.data = message_.substr(static_cast<std::size_t>(field.offset - base_), static_cast<std::size_t>(size));
        reader_.skip(size);
        break;
      }
      default: return broken(fmt::format("wire type {} does not exist", key & 7), field.offset);
    }
    if (!reader_.ok()) return broken("the data ends inside a field", field.offset);
    return field;
  }

 private:
  // Reads at most ten bytes of seven bits each, lowest first.
  Result<u64> varint() {
    const u64 start = reader_.offset();
    u64 value = 0;
    for (u32 shift = 0; shift < 70; shift += 7) {
      const u8 byte = reader_.read<u8>();
      if (!reader_.ok()) return broken("the data ends inside a number", start);
      if (shift == 63 && byte > 1) break;
      value |= u64{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return broken("a number has more than 64 bits", start);
  }

  std::string_view message_;
  u64 base_;
  ByteReader reader_;
};

// Calls `take(field)` for each field of a message; `take` returns a Status.
template <typename Take>
Status for_each_field(std::string_view message, u64 base, Take take) {
  MessageReader reader(message, base);
  while (true) {
    MU_ASSIGN(const std::optional<Field> field, reader.next());
    if (!field) return {};
    MU_TRY(take(*field));
  }
}

// On the wire, int32 fields are sign-extended to 64 bits.
i32 as_int32(u64 varint) {
  return static_cast<i32>(static_cast<u32>(varint));
}

Status read_piece(const Field& message, std::size_t id, SentencePiece& piece) {
  const std::string where = fmt::format("piece {}", id);
  MU_TRY(for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.number == 1 && field.wire == Wire::bytes) piece.text = field.data;
    if (field.number == 2 && field.wire == Wire::fixed32) piece.score = std::bit_cast<float>(field.fixed32);
    if (field.number == 3 && field.wire == Wire::varint) {
      if (field.varint < 1 || field.varint > 6) {
        return broken(fmt::format("type is {}, 1 to 6 are allowed", field.varint), field.offset, where);
      }
      piece.type = as_int32(field.varint);
    }
    return {};
  }));
  if (!std::isfinite(piece.score)) return broken("the score is not a finite number", message.offset, where);
  if (!is_utf8(piece.text)) return broken("the text is not UTF-8", message.offset, where);
  return {};
}

Status read_trainer_spec(const Field& message, SentencePieceModel& model) {
  return for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.wire != Wire::varint) return {};
    switch (field.number) {
      case 3: model.model_type = as_int32(field.varint); break;
      case 24: model.treat_whitespace_as_suffix = field.varint != 0; break;
      case 35: model.byte_fallback = field.varint != 0; break;
      case 40: model.unk_id = as_int32(field.varint); break;
      case 41: model.bos_id = as_int32(field.varint); break;
      case 42: model.eos_id = as_int32(field.varint); break;
      case 43: model.pad_id = as_int32(field.varint); break;
      default: break;
    }
    return {};
  });
}

Status read_normalizer_spec(const Field& message, SentencePieceModel& model) {
  return for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.number == 2 && field.wire == Wire::bytes) model.charsmap = field.data;
    if (field.wire != Wire::varint) return {};
    if (field.number == 3) model.add_dummy_prefix = field.varint != 0;
    if (field.number == 4) model.remove_extra_whitespaces = field.varint != 0;
    if (field.number == 5) model.escape_whitespaces = field.varint != 0;
    return {};
  });
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes) {
  if (bytes.empty()) return broken("the file is empty", 0);
  SentencePieceModel model;
  MU_TRY(for_each_field(bytes, 0, [&](const Field& field) -> Status {
    if (field.wire != Wire::bytes) return {};
    if (field.number == 1) {
      if (model.pieces.size() == max_pieces) {
        return broken(fmt::format("contains more than {} pieces", max_pieces), field.offset);
      }
      model.pieces.emplace_back();
      return read_piece(field, model.pieces.size() - 1, model.pieces.back());
    }
    if (field.number == 2) return read_trainer_spec(field, model);
    if (field.number == 3) return read_normalizer_spec(field, model);
    return {};
  }));
  if (model.pieces.empty()) return broken("contains no pieces, so it is not a SentencePiece model", 0);
  if (model.model_type != 1 && model.model_type != 2) {
    return broken(fmt::format("model type {} is not supported, only 1 (UNIGRAM) and 2 (BPE) are", model.model_type), 0);
  }
  return model;
}

// SentencePiece-like tokenizers, from tokenizer.model, or from tokenizer.json with scores rebuilt from the merges.

namespace {

// Scores are integers in a float32; above this limit they would not be distinct.
constexpr u64 max_merges = u64{1} << 24;

json::Element model_of(const TokenizerInput& input) {
  return *json::member(input.files.tokenizer_json->root, "model");
}

bool is_added(const TokenizerInput& input, u32 id) {
  const auto& added = input.added.tokens;
  const auto at = std::lower_bound(added.begin(), added.end(), id,
                                   [](const AddedToken& token, u32 wanted) { return token.id < wanted; });
  return at != added.end() && at->id == id;
}

// True if the pieces and model.vocab agree, except for added tokens. A tokenizer.model left over from before a
// fine-tune no longer describes the tokenizer.
bool agree(const TokenizerInput& input, const SentencePieceModel& model, const Vocabulary& vocabulary,
           FindingLog& findings) {
  if (model.is_unigram()) {
    findings.warning(Scope::model, "hf-tok-model-differs",
                     "tokenizer.model chooses the most likely split (UNIGRAM), but tokenizer.json merges: "
                     "tokenizer.model is ignored");
    return false;
  }
  const auto differ = [&](u64 id, std::string_view piece, std::string_view text) {
    findings.warning(
        Scope::model, "hf-tok-model-differs",
        fmt::format("id {} is '{}' in tokenizer.model, but '{}' in tokenizer.json: tokenizer.model is ignored", id,
                    piece, text));
    return false;
  };
  std::vector<bool> claimed(model.pieces.size(), false);
  for (const VocabEntry& entry : vocabulary.entries) {
    if (is_added(input, entry.id)) continue;
    const bool exists = entry.id < model.pieces.size();
    if (!exists || model.pieces[entry.id].text != entry.text) {
      return differ(entry.id, exists ? model.pieces[entry.id].text : "", entry.text);
    }
    claimed[entry.id] = true;
  }
  for (u32 id = 0; id < model.pieces.size() && id < input.rows(); ++id) {
    if (!claimed[id] && !is_added(input, id)) return differ(id, model.pieces[id].text, "");
  }
  return true;
}

// Finds a token that two others can form although no merge lists them. llama.cpp knows only scores and would join them.
// Skips tokens longer than in any real vocabulary, because every split is looked up.
std::optional<std::string> split_without_merge(const Vocabulary& vocabulary, const std::vector<bool>& merged,
                                               const std::vector<u64>& pairs) {
  for (const VocabEntry& entry : vocabulary.entries) {
    constexpr std::size_t longest_real = 256;
    if (!merged[entry.id] || entry.text.size() > longest_real) continue;
    for (std::size_t at = 1; at < entry.text.size(); ++at) {
      if ((static_cast<unsigned char>(entry.text[at]) & 0xC0) == 0x80) continue;
      const auto left = vocabulary.find(entry.text.substr(0, at));
      const auto right = left ? vocabulary.find(entry.text.substr(at)) : std::nullopt;
      if (left && right && !std::binary_search(pairs.begin(), pairs.end(), (u64{*left} << 32) | *right)) {
        return fmt::format("'{}' + '{}'", entry.text.substr(0, at), entry.text.substr(at));
      }
    }
  }
  return std::nullopt;
}

// score[token] = −(rank of the first merge that produces it). llama.cpp joins the pair whose result has the highest
// score, so this preserves the merge order.
Status fill_from_json(const TokenizerInput& input, const Vocabulary& vocabulary, TokenList& list,
                      FindingLog& findings) {
  const json::Element model = model_of(input);
  std::vector<bool> merged(static_cast<std::size_t>(input.rows()), false);
  std::vector<float> scores(static_cast<std::size_t>(input.rows()), 0.0F);
  std::vector<u64> pairs;
  u64 distinct = 0;
  if (const auto merges = json::member(model, "merges")) {
    MU_TRY(visit_merges(*merges, vocabulary, [&](const Merge&, const MergeIds& ids) {
      if (!merged[ids.result]) {
        merged[ids.result] = true;
        scores[ids.result] = 0.0F - static_cast<float>(pairs.size());
        ++distinct;
      }
      pairs.push_back((u64{ids.left} << 32) | ids.right);
    }));
  }
  if (pairs.size() > max_merges) {
    return input_error("hf-tok-merge", fmt::format("there are {} merges, but only {} can be distinguished by score",
                                                   pairs.size(), max_merges));
  }
  const float never_merged = 0.0F - static_cast<float>(pairs.size());
  const std::string_view unk = json::string_member(model, "unk_token").value_or("");
  for (const VocabEntry& entry : vocabulary.entries) {
    if (byte_token_value(entry.text)) {
      list.set(entry.id, entry.text, TokenType::byte, 0);
    } else if (!unk.empty() && entry.text == unk) {
      list.set(entry.id, entry.text, TokenType::unknown, 0);
    } else {
      list.set(entry.id, entry.text, TokenType::normal, merged[entry.id] ? scores[entry.id] : never_merged);
    }
  }
  if (pairs.empty()) {
    findings.warning(Scope::model, "hf-tok-no-merges", "there are no merges: every character becomes a token");
    return {};
  }
  // Vocabularies from SentencePiece list every split of every token, about two per token.
  if (static_cast<double>(pairs.size()) < 1.1 * static_cast<double>(distinct)) {
    std::sort(pairs.begin(), pairs.end());
    if (const auto example = split_without_merge(vocabulary, merged, pairs)) {
      findings.warning(
          Scope::model, "hf-tok-trained-bpe",
          fmt::format("the merges do not list every split of each token ({} is missing): llama.cpp may join pairs that "
                      "the original does not",
                      *example));
    }
  }
  return {};
}

// True if the components of tokenizer.json add a space before the text.
bool json_adds_space(json::Element root) {
  bool adds = false;
  for (const Component& component : normalizers(root)) {
    if (component.type == "Prepend" && json::string_member(component.value, "prepend") == space_mark) adds = true;
  }
  for (const Component& component : pre_tokenizers(root)) {
    if (component.type != "Metaspace") continue;
    const auto scheme = json::string_member(component.value, "prepend_scheme");
    adds = adds || (scheme ? scheme == "first" || scheme == "always"
                           : json::bool_member(component.value, "add_prefix_space").value_or(false));
  }
  return adds;
}

// llama.cpp's converter asks tokenizer_config.json which pieces of a tokenizer.model are special. Where that lists no
// tokens at all, pieces keep their types.
void leave_pieces(const TokenizerInput& input, const SentencePieceModel& model, std::vector<AddedToken>& added) {
  const auto config = input.files.tokenizer_config_root();
  if (!config || json::member(*config, "added_tokens_decoder") || input.files.added_tokens) return;
  std::erase_if(added, [&](const AddedToken& token) {
    return token.id < model.pieces.size() && model.pieces[token.id].text == token.content;
  });
}

bool choose_space_prefix(const TokenizerInput& input, const SentencePieceModel* model, FindingLog& findings) {
  if (input.family().never_prefixes_space) return false;
  const auto config = input.files.tokenizer_config_root();
  const auto stated = config ? json::bool_member(*config, "add_prefix_space") : std::nullopt;
  const auto by_json =
      input.files.tokenizer_json ? std::optional(json_adds_space(input.files.tokenizer_json->root)) : std::nullopt;
  if (stated) return *stated;
  const ClassFacts* facts = find_class_facts(input, model);
  if (facts != nullptr && facts->prefixes_space) return *facts->prefixes_space;
  if (model == nullptr) return by_json.value_or(true);
  if (by_json && *by_json != model->add_dummy_prefix) {
    findings.warning(
        Scope::model, "hf-tok-prefix-space",
        fmt::format("tokenizer.model {} a space before the text, but tokenizer.json {}; tokenizer.model is followed",
                    model->add_dummy_prefix ? "puts" : "does not put", *by_json ? "does" : "does not"));
  }
  return model->add_dummy_prefix;
}

}  // namespace

u64 fill_from_pieces(const SentencePieceModel& model, TokenList& list, FindingLog& findings, u32 first_piece,
                     u32 first_id) {
  hf::Repeated beyond;
  u64 id = first_id;
  for (std::size_t i = first_piece; i < model.pieces.size(); ++i, ++id) {
    const SentencePiece& piece = model.pieces[i];
    if (id >= list.size()) {
      if (beyond.met()) {
        beyond.set(fmt::format("piece {} ('{}') is dropped, because the embedding has only {} rows", i, piece.text,
                               list.size()));
      }
      continue;
    }
    // User-defined pieces get their final type from the added tokens, as in llama.cpp's converter.
    const auto type = static_cast<TokenType>(piece.type);
    list.set(static_cast<u32>(id), piece.text, type == TokenType::user_defined ? TokenType::normal : type, piece.score);
  }
  beyond.emit(findings, "hf-tok-id-range");
  return id;
}

std::vector<AddedToken> tokens_to_overlay(const TokenizerInput& input, const Vocabulary& vocabulary,
                                          FindingLog& findings) {
  std::vector<AddedToken> overlaid;
  const AddedToken* first = nullptr;
  std::size_t count = 0;
  for (const AddedToken& token : input.added.tokens) {
    if (stands_for_unnormalised_spaces(token) && vocabulary.find(token.content) == token.id) {
      if (count++ == 0) first = &token;
    } else {
      overlaid.push_back(token);
    }
  }
  if (count > 0) {
    findings.note(
        Scope::model, "hf-tok-space-mark",
        fmt::format(
            "'{}' (token {}){} produced only by merging, as in the original; text that contains U+2581 itself is "
            "tokenised differently",
            first->content, first->id, count == 1 ? " is" : fmt::format(" and {} more like it are", count - 1)),
        "added_tokens");
  }
  return overlaid;
}

void warn_of_common_score(std::optional<float> score, std::string_view file, FindingLog& findings) {
  if (!score) return;
  findings.warning(
      Scope::model, "hf-tok-scores",
      fmt::format(
          "all normal tokens have the score {}: llama.cpp splits texts into different tokens than the model expects",
          *score),
      std::string(file));
}

void check_byte_tokens(const Tokenizer& tokenizer, FindingLog& findings) {
  std::array<bool, 256> seen{};
  for (const std::string& token : tokenizer.tokens) {
    if (const auto byte = byte_token_value(token)) seen[*byte] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return;
  findings.warning(
      Scope::model, "hf-tok-bytes",
      fmt::format("{} of the 256 byte tokens are missing, the first is {}: llama.cpp fails on text that needs them",
                  std::count(seen.begin(), seen.end(), false), byte_token(static_cast<u8>(missing - seen.begin()))));
}

Status build_spm(const TokenizerInput& input, std::optional<SentencePieceModel>& model, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::llama;
  Vocabulary vocabulary;
  if (input.files.tokenizer_json) {
    MU_ASSIGN(vocabulary, read_vocabulary(*json::member(model_of(input), "vocab"), input.rows(), input.added.dropped));
    if (model && !agree(input, *model, vocabulary, tokenizer.findings)) model.reset();
  }
  tokenizer.source = model ? "tokenizer.model" : "tokenizer.json";
  TokenList list(tokenizer, input.rows());
  if (model) {
    fill_from_pieces(*model, list, tokenizer.findings);
    if (model->treat_whitespace_as_suffix) {
      tokenizer.findings.warning(Scope::model, "hf-tok-spm-suffix",
                                 "tokenizer.model puts spaces after words; llama.cpp puts them before");
    }
  } else {
    MU_TRY(fill_from_json(input, vocabulary, list, tokenizer.findings));
  }
  std::vector<AddedToken> overlaid = tokens_to_overlay(input, vocabulary, tokenizer.findings);
  if (model) leave_pieces(input, *model, overlaid);
  list.overlay(overlaid);
  list.finish(tokenizer.findings);
  if (model) {
    warn_of_common_score(common_score(tokenizer.types, tokenizer.scores), tokenizer.source, tokenizer.findings);
  }
  check_byte_tokens(tokenizer, tokenizer.findings);
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  if (input.files.tokenizer_json) warn_of_normalizers(input.files.tokenizer_json->root, true, tokenizer.findings);
  tokenizer.add_space_prefix = choose_space_prefix(input, model ? &*model : nullptr, tokenizer.findings);
  tokenizer.pre = !input.options.pre_force.empty() ? input.options.pre_force
                  : !input.options.pre.empty()     ? input.options.pre
                                                   : "default";
  return {};
}

}  // namespace modelutils::tokenizer
