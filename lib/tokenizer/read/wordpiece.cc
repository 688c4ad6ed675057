// WordPiece tokenizers (tokenizer.json of type WordPiece, or BERT's vocab.txt) become llama.cpp's model "bert", in
// which tokens that begin a word are marked, not those that continue one.
#include <algorithm>

#include "base/name_index.h"
#include "base/utf8.h"
#include "formats/hf/config_members.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/class_facts.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

tl::unexpected<Error> refuse_wordpiece(std::string message, std::string where) {
  return input_error("hf-tok-wordpiece", std::move(message) + "; it cannot be converted", std::move(where));
}

// Fills in the vocabulary: `prefix` marks the tokens that continue a word.
class PieceList {
 public:
  PieceList(const TokenizerInput& input, std::string_view prefix, TokenList& list) : prefix_(prefix), list_(list) {
    const SpecialTexts texts = special_texts_of(input, find_class_facts(input));
    for (const SpecialVariable& variable : special_variables()) {
      if (texts.*variable.text) special_.push_back(*(texts.*variable.text));
    }
  }
  void add_special(std::string_view text) { special_.emplace_back(text); }

  void set(u32 id, std::string_view text) {
    if (std::find(special_.begin(), special_.end(), text) != special_.end()) {
      list_.set(id, text, TokenType::control, 0);
    } else if (text.starts_with(prefix_)) {
      list_.set(id, text.substr(prefix_.size()), TokenType::normal, 0);
    } else {
      list_.set(id, std::string(space_mark).append(text), TokenType::normal, 0);
    }
  }

 private:
  std::string prefix_;
  TokenList& list_;
  std::vector<std::string> special_;  // at most eight
};

// Texts that the original splits or normalises differently from llama.cpp.
void note_differences(Tokenizer& tokenizer, bool splits_chinese, u64 longest_word) {
  std::string texts = fmt::format("texts with words of more than {} characters", longest_word);
  if (tokenizer.strip_accents.value_or(*tokenizer.lowercase)) texts += ", with Korean";
  if (!splits_chinese) texts += ", with Chinese";
  tokenizer.findings.add(splits_chinese ? Severity::note : Severity::warning, Scope::model, "hf-tok-wordpiece-differs",
                         std::move(texts) + " are tokenised differently by llama.cpp");
}

// Interprets normalizer and pre_tokenizer of tokenizer.json.
Status read_steps(json::Element root, u64 longest_word, Tokenizer& tokenizer) {
  tokenizer.lowercase = tokenizer.strip_accents = false;
  bool splits_chinese = true;
  for (const Component& component : normalizers(root)) {
    if (component.type == "BertNormalizer") {
      tokenizer.lowercase = json::bool_member(component.value, "lowercase").value_or(true);
      tokenizer.strip_accents = json::bool_member(component.value, "strip_accents");
      splits_chinese = json::bool_member(component.value, "handle_chinese_chars").value_or(true);
    } else if (component.type == "Lowercase") {
      tokenizer.lowercase = true;
    } else if (component.type == "StripAccents") {
      tokenizer.strip_accents = true;
    } else if (component.type != "NFD" || !has_type(normalizers(root), "StripAccents")) {
      warn_of_normalizer(component, tokenizer.findings);
    }
  }
  const std::vector<Component> splits = pre_tokenizers(root);
  if (splits.size() != 1 || splits.front().type != "BertPreTokenizer") {
    return refuse_wordpiece("the pre-tokenizer splits texts in another way than BERT's, which llama.cpp has built in",
                            "pre_tokenizer");
  }
  note_differences(tokenizer, splits_chinese, longest_word);
  return {};
}

Status fill_from_tokenizer_json(const TokenizerInput& input, TokenList& list, Tokenizer& tokenizer) {
  const json::Element root = input.files.tokenizer_json->root, model = *json::member(root, "model");
  const std::string_view prefix = json::string_member(model, "continuing_subword_prefix").value_or("##");
  if (prefix.empty()) return refuse_wordpiece("nothing marks the tokens that continue a word", "model");
  MU_ASSIGN(const Vocabulary vocabulary,
            read_vocabulary(*json::member(model, "vocab"), input.rows(), input.added.dropped));
  PieceList pieces(input, prefix, list);
  pieces.add_special(json::string_member(model, "unk_token").value_or("[UNK]"));
  for (const VocabEntry& entry : vocabulary.entries) pieces.set(entry.id, entry.text);
  return read_steps(root, json::u64_member(model, "max_input_chars_per_word").value_or(100), tokenizer);
}

// vocab.txt: the number of a line is the id of its token, also that of an empty line.
Status fill_from_lines(const TokenizerInput& input, TokenList& list, Tokenizer& tokenizer) {
  std::string_view text = *input.files.listed_text;
  if (!is_utf8(text)) return input_error("hf-tok-vocab", "is not UTF-8");
  if (find_class_facts(input) == nullptr) {
    return refuse_wordpiece(fmt::format("tokenizer_class is {}, which splits texts in another way than BERT",
                                        input.files.tokenizer_class()),
                            "tokenizer_config.json");
  }
  PieceList pieces(input, "##", list);
  for (u64 id = 0; !text.empty(); ++id) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (id < list.size()) {
      pieces.set(static_cast<u32>(id), line);
    } else if (!std::binary_search(input.added.dropped.begin(), input.added.dropped.end(), id)) {
      return input_error("hf-tok-id-range",
                         fmt::format("'{}' has the id {}, but the embedding has only {} rows", line, id, list.size()),
                         fmt::format("line {}", id + 1));
    }
  }
  const auto config = input.files.tokenizer_config_root();
  const auto flag = [&](std::string_view name) { return config ? json::bool_member(*config, name) : std::nullopt; };
  tokenizer.lowercase = flag("do_lower_case").value_or(true);
  tokenizer.strip_accents = flag("strip_accents");
  note_differences(tokenizer, flag("tokenize_chinese_chars").value_or(true), 100);
  return {};
}

}  // namespace

Status build_wordpiece(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::bert;
  tokenizer.source = input.files.tokenizer_json ? "tokenizer.json" : input.files.listed_name;
  TokenList list(tokenizer, input.rows());
  MU_TRY(input.files.tokenizer_json ? fill_from_tokenizer_json(input, list, tokenizer)
                                    : fill_from_lines(input, list, tokenizer));
  list.overlay(input.added.tokens);
  list.finish(tokenizer.findings);
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  return {};
}

}  // namespace modelutils::tokenizer
