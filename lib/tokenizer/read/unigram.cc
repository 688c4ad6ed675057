// Unigram tokenizers (tokenizer.json of type Unigram, tokenizer.model of type UNIGRAM) become llama.cpp's model "t5",
// which any architecture may use. It finds the most likely split, after the same normalisation as SentencePiece.
#include <algorithm>
#include <cmath>

#include "base/escape.h"
#include "formats/hf/config_members.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/class_facts.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

tl::unexpected<Error> refuse(std::string message, std::string where) {
  return input_error("hf-tok-unigram", std::move(message) + "; it cannot be converted", std::move(where));
}

void warn_of_spaces(FindingLog& findings, std::string_view texts, std::string_view why) {
  findings.warning(Scope::model, "hf-tok-unigram-spaces", fmt::format("{} are tokenised differently: {}", texts, why));
}

// How spaces change between a text and its pieces.
struct Spaces {
  bool prefix = false;        // a space is added before the text
  bool merged = false;        // runs of spaces become one, and spaces at the ends are removed
  bool first_only = false;    // no space is added after an added token
  bool unless_there = false;  // no space is added if the text begins with one
  bool ends_stay = false;     // spaces at the ends are kept despite `merged`
  bool splits = false;        // no piece extends past a space
};

// Interprets the normalizer and the pre-tokenizer of tokenizer.json.
class Pipeline {
 public:
  Pipeline(json::Element root, Tokenizer& tokenizer) : root_(root), tokenizer_(tokenizer) {}

  Result<Spaces> read() {
    for (const Component& component : normalizers(root_)) MU_TRY(normalizer(component));
    for (const Component& component : pre_tokenizers(root_)) MU_TRY(pre_tokenizer(component));
    if (!marks_) {
      return refuse("spaces do not become U+2581 as in llama.cpp's tokenizer t5", "pre_tokenizer");
    }
    // Splitting at white space removes it at the ends, as stripping does.
    spaces_.ends_stay = spaces_.merged && !stripped_ && !split_at_spaces_;
    spaces_.merged = spaces_.merged || split_at_spaces_;
    return spaces_;
  }

 private:
  Status normalizer(const Component& component) {
    if (component.type == "Precompiled") {
      const auto text = json::string_member(component.value, "precompiled_charsmap");
      const auto bytes = text ? decode_base64(*text) : std::nullopt;
      if (!bytes)
        return input_error("hf-tok-charsmap", "the precompiled map of characters is not base64", "normalizer");
      MU_TRY(check_charsmap(*bytes));
      tokenizer_.charsmap = *bytes;
      tokenizer_.findings.note(Scope::model, "hf-tok-charsmap-differs", std::string(charsmap_differences),
                               "normalizer");
    } else if (component.type == "Prepend" && json::string_member(component.value, "prepend") == space_mark) {
      spaces_.prefix = true;
    } else if (component.type == "Strip") {
      stripped_ = json::bool_member(component.value, "strip_right").value_or(false);
    } else if (component.type == "Replace") {
      replace(component);
    } else {
      warn_of_normalizer(component, tokenizer_.findings);
    }
    return {};
  }

  void replace(const Component& component) {
    const auto pattern = json::member(component.value, "pattern");
    const std::string_view content = json::string_member(component.value, "content").value_or("");
    const auto text = pattern ? json::string_member(*pattern, "String") : std::nullopt;
    const auto regex = pattern ? json::string_member(*pattern, "Regex") : std::nullopt;
    if (text == " " && content == space_mark) {
      marks_ = true;
    } else if (regex == " {2,}" && (content == " " || content == space_mark)) {
      spaces_.merged = true;
    } else {
      warn_of_normalizer(component, tokenizer_.findings);
    }
  }

  Status pre_tokenizer(const Component& component) {
    if (component.type == "WhitespaceSplit") {
      split_at_spaces_ = true;
    } else if (component.type == "Metaspace") {
      const auto scheme = json::string_member(component.value, "prepend_scheme");
      const bool prefix =
          scheme ? *scheme != "never" : json::bool_member(component.value, "add_prefix_space").value_or(true);
      marks_ = true;
      spaces_.unless_there = prefix && !spaces_.prefix;
      spaces_.prefix = spaces_.prefix || prefix;
      spaces_.first_only = scheme == "first";
      spaces_.splits = json::bool_member(component.value, "split").value_or(true);
    } else {
      return refuse(
          fmt::format("the pre-tokenizer {} splits texts, and llama.cpp's tokenizer t5 has none", component.type),
          "pre_tokenizer");
    }
    return {};
  }

  json::Element root_;
  Tokenizer& tokenizer_;
  Spaces spaces_;
  bool marks_ = false, stripped_ = false, split_at_spaces_ = false;
};

// Reads model.vocab: [[text, score], …]; the position is the id.
Result<Vocabulary> read_pieces(json::Element model, u64 rows, const std::vector<u32>& dropped, TokenList& list) {
  json::Array pieces;
  const auto member = json::member(model, "vocab");
  if (!member || !member->get(pieces)) return input_error("hf-tok-vocab", "must be an array of pieces", "model.vocab");
  const bool falls_back = json::bool_member(model, "byte_fallback").value_or(false);
  Vocabulary vocabulary;
  u64 id = 0;
  for (const json::Element piece : pieces) {
    const auto bad = [&](std::string message) {
      return input_error("hf-tok-vocab", std::move(message), fmt::format("model.vocab[{}]", id));
    };
    json::Array pair;
    std::string_view text;
    double score = 0;
    if (!piece.get(pair) || pair.size() != 2 || !pair.at(0)->get(text) || !pair.at(1)->get(score) ||
        !std::isfinite(static_cast<float>(score))) {
      return bad("must be a text and a score");
    }
    if (id >= rows) {
      if (!std::binary_search(dropped.begin(), dropped.end(), id)) {
        return input_error("hf-tok-id-range",
                           fmt::format("'{}' has the id {}, but the embedding has only {} rows", text, id, rows));
      }
      ++id;
      continue;
    }
    if (!vocabulary.index.insert(text).is_new) return bad(fmt::format("'{}' appears twice", text));
    vocabulary.entries.push_back({text, static_cast<u32>(id)});
    const bool is_byte = falls_back && byte_token_value(text);
    list.set(static_cast<u32>(id), text, is_byte ? TokenType::byte : TokenType::normal, static_cast<float>(score));
    ++id;
  }
  return vocabulary;
}

Result<u32> unknown_of(json::Element model, const Vocabulary& vocabulary) {
  const auto unknown = json::i64_member(model, "unk_id");
  if (!unknown) return refuse("there is no unknown token, which llama.cpp's tokenizer t5 needs", "model.unk_id");
  if (*unknown < 0 || static_cast<u64>(*unknown) >= vocabulary.entries.size()) {
    return input_error("hf-tok-vocab",
                       fmt::format("is {}, but there are {} pieces", *unknown, vocabulary.entries.size()),
                       "model.unk_id");
  }
  return static_cast<u32>(*unknown);
}

Result<Spaces> fill_from_json(const TokenizerInput& input, TokenList& list, Tokenizer& tokenizer) {
  const json::Element root = input.files.tokenizer_json->root, model = *json::member(root, "model");
  MU_ASSIGN(const Spaces spaces, Pipeline(root, tokenizer).read());
  MU_ASSIGN(const Vocabulary vocabulary, read_pieces(model, input.rows(), input.added.dropped, list));
  MU_ASSIGN(tokenizer.special.unk, unknown_of(model, vocabulary));
  list.overlay(tokens_to_overlay(input, vocabulary, tokenizer.findings));
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  return spaces;
}

// T5's class counts its extra tokens from the end: <extra_id_0> has the highest id. The usual number counts only if it
// fits, because mT5 has these tokens among its pieces.
void add_extra_ids(const TokenizerInput& input, const ClassFacts& facts, u64 first, TokenList& list) {
  constexpr std::string_view beginning = "<extra_id_";
  const auto& added = input.added.tokens;
  if (std::ranges::any_of(added, [&](const AddedToken& token) { return token.content.starts_with(beginning); })) return;
  const auto config = input.files.tokenizer_config_root();
  const auto stated = config ? json::u64_member(*config, "extra_ids") : std::nullopt;
  const u64 count = stated.value_or(facts.extra_ids);
  if (first >= list.size() || count > list.size() - first) return;
  for (u64 i = 0; i < count; ++i) {
    list.set(static_cast<u32>(first + count - 1 - i), fmt::format("{}{}>", beginning, i), TokenType::control, 0);
  }
}

// The tokens of a class whose ids are not the positions of the pieces.
u32 add_leading(std::string_view texts, TokenList& list, Tokenizer& tokenizer) {
  u32 id = 0;
  for (std::string_view rest = texts; !rest.empty() && id < list.size(); ++id) {
    const std::string_view text = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    const bool is_used = !text.ends_with("NOTUSED");
    list.set(id, text, is_used ? TokenType::control : TokenType::unused, is_used ? 0 : padding_score);
    if (text == "<unk>") tokenizer.special.unk = id;
  }
  return id;
}

Result<Spaces> fill_from_model(const TokenizerInput& input, const SentencePieceModel& model, TokenList& list,
                               Tokenizer& tokenizer) {
  const std::string& name = input.files.model_name;
  const ClassFacts* facts = find_class_facts(input, &model);
  if (model.treat_whitespace_as_suffix) return refuse("spaces are put after words, not before them", name);
  if (!model.escape_whitespaces) return refuse("spaces do not become U+2581", name);
  if (name == shifted_model_name && (facts == nullptr || facts->leading.empty())) {
    return refuse(
        fmt::format("the ids of the pieces are not known for the tokenizer_class {}", input.files.tokenizer_class()),
        "tokenizer_config.json");
  }
  const u32 first_piece = facts != nullptr ? facts->first_piece : 0;
  const u32 first_id = facts != nullptr ? add_leading(facts->leading, list, tokenizer) : 0;
  const u64 behind = fill_from_pieces(model, list, tokenizer.findings, first_piece, first_id);
  for (u64 i = first_piece; i < model.pieces.size(); ++i) {
    const auto type = static_cast<TokenType>(model.pieces[i].type);
    const u64 id = i - first_piece + first_id;
    if (id >= list.size()) break;
    if (type == TokenType::unknown && !tokenizer.special.unk) tokenizer.special.unk = static_cast<u32>(id);
    // SentencePiece never uses such a piece, but llama.cpp would.
    if (type == TokenType::unused) list.set(static_cast<u32>(id), model.pieces[i].text, type, padding_score);
  }
  if (!tokenizer.special.unk) return refuse("there is no unknown token", name);
  if (facts != nullptr && !facts->leading.empty() && behind < list.size()) {
    list.set(static_cast<u32>(behind), "<mask>", TokenType::control, 0);
  }
  if (facts != nullptr && facts->extra_ids > 0) add_extra_ids(input, *facts, behind, list);
  if (!model.charsmap.empty()) MU_TRY(check_charsmap(model.charsmap));
  tokenizer.charsmap = model.charsmap;
  Spaces spaces;
  spaces.prefix = model.add_dummy_prefix;
  spaces.merged = model.remove_extra_whitespaces;
  return spaces;
}

// Sets the space flags. If llama.cpp merges spaces, it also adds one before each word.
void settle_spaces(const Spaces& spaces, Tokenizer& tokenizer) {
  FindingLog& findings = tokenizer.findings;
  tokenizer.add_space_prefix = spaces.prefix;
  tokenizer.remove_extra_whitespaces = spaces.merged && spaces.prefix;
  if (spaces.merged && !spaces.prefix) {
    warn_of_spaces(findings, "texts with leading, trailing or repeated white space",
                   "llama.cpp cannot remove it without putting a space before the text");
  } else if (spaces.merged && spaces.ends_stay) {
    warn_of_spaces(findings, "texts that end with spaces", "llama.cpp removes them along with repeated ones");
  } else if (!spaces.merged && spaces.prefix && spaces.unless_there) {
    warn_of_spaces(findings, "texts that begin with spaces, or continue with one after an added token",
                   "llama.cpp puts one more before them");
  } else if (!spaces.merged && spaces.prefix) {
    warn_of_spaces(findings, "texts of spaces only", "llama.cpp puts none before them");
  }
  if (spaces.prefix && spaces.first_only) {
    warn_of_spaces(findings, "texts that continue directly after an added token", "llama.cpp puts a space there too");
  }
}

bool goes_on_after_space(const Tokenizer& tokenizer) {
  for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) {
    if (tokenizer.types[id] != static_cast<i32>(TokenType::normal)) continue;
    if (tokenizer.tokens[id].find(space_mark, 1) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Status build_unigram(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::t5;
  tokenizer.source = model != nullptr ? input.files.model_name : "tokenizer.json";
  tokenizer.pre = "default";
  TokenList list(tokenizer, input.rows());
  Spaces spaces;
  if (model != nullptr) {
    MU_ASSIGN(spaces, fill_from_model(input, *model, list, tokenizer));
    list.overlay(input.added.tokens);
  } else {
    MU_ASSIGN(spaces, fill_from_json(input, list, tokenizer));
  }
  tokenizer.types[*tokenizer.special.unk] = static_cast<i32>(TokenType::unknown);
  list.finish(tokenizer.findings);
  warn_of_common_score(common_score(tokenizer.types, tokenizer.scores), tokenizer.source, tokenizer.findings);
  settle_spaces(spaces, tokenizer);
  if (spaces.splits && goes_on_after_space(tokenizer)) {
    warn_of_spaces(tokenizer.findings, "texts with a piece that contains spaces",
                   "the original splits texts at spaces first, llama.cpp does not");
  }
  const auto byte = static_cast<i32>(TokenType::byte);
  if (std::find(tokenizer.types.begin(), tokenizer.types.end(), byte) != tokenizer.types.end()) {
    tokenizer.findings.warning(Scope::model, "hf-tok-byte-fallback",
                               fmt::format("texts with characters that are not in the vocabulary are tokenised "
                                           "differently: llama.cpp's tokenizer t5 turns them into '{}', not bytes",
                                           tokenizer.tokens[*tokenizer.special.unk]));
  }
  return {};
}

}  // namespace modelutils::tokenizer
