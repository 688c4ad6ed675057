// Byte-level BPE: copies tokens, ranks merges, and recognises the pre-tokenizer.
#include <algorithm>

#include "base/escape.h"
#include "base/log.h"
#include "formats/hf/config_members.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/class_facts.h"
#include "tokenizer/read/listed.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/regex_form.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// "left right" cannot have a space inside a part, so spaces are written as in byte-level BPE.
void append_part(std::string& line, std::string_view part) {
  for (const char c : part) {
    if (c == ' ') {
      line += "\u0120";
    } else {
      line += c;
    }
  }
}

std::string merge_line(const Merge& merge) {
  std::string line;
  line.reserve(merge.left.size() + merge.right.size() + 1);
  append_part(line, merge.left);
  line += ' ';
  append_part(line, merge.right);
  return line;
}

Status read_merges(const TokenizerInput& input, const Vocabulary& vocabulary, Tokenizer& tokenizer) {
  std::vector<u64> pairs;
  const auto take = [&](const Merge& merge, const MergeIds& ids) {
    tokenizer.merges.push_back(merge_line(merge));
    pairs.push_back((u64{ids.left} << 32) | ids.right);
  };
  if (input.files.tokenizer_json) {
    const auto merges = json::member(*json::member(input.files.tokenizer_json->root, "model"), "merges");
    if (merges) MU_TRY(visit_merges(*merges, vocabulary, take));
  } else {
    MU_ASSIGN(const auto merges, parse_merges_text(*input.files.merges_text));
    std::string joined;
    for (const Merge& merge : merges) {
      MU_ASSIGN(const MergeIds ids, find_merge(merge, tokenizer.merges.size(), vocabulary, joined));
      take(merge, ids);
    }
  }
  if (tokenizer.merges.empty()) {
    tokenizer.findings.warning(Scope::model, "hf-tok-no-merges", "there are no merges: every byte becomes a token");
  }
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
  if (twice != pairs.end()) {
    tokenizer.findings.warning(Scope::model, "hf-tok-merge-twice",
                               fmt::format("the merge '{}' + '{}' is listed twice; llama.cpp uses the first",
                                           tokenizer.tokens[*twice >> 32], tokenizer.tokens[*twice & 0xFFFFFFFF]));
  }
  return {};
}

// llama.cpp finds a byte's token by its text, so an added token with that text is sufficient (DeepSeek Coder has some).
void check_byte_symbols(const Vocabulary& vocabulary, const std::vector<AddedToken>& added, FindingLog& findings) {
  NameIndex added_texts;
  for (const AddedToken& token : added) added_texts.insert(token.content);
  std::string missing;
  u32 count = 0;
  for (u32 byte = 0; byte < 256; ++byte) {
    const std::string symbol = byte_symbol(static_cast<u8>(byte));
    if (vocabulary.find(symbol) || added_texts.find(symbol)) continue;
    ++count;
    missing += fmt::format("{}{} (0x{:02X})", count == 1 ? "" : ", ", symbol, byte);
  }
  if (count == 0) return;
  findings.warning(
      Scope::model, "hf-tok-bytes",
      fmt::format(
          "{} of the 256 byte symbols are not in the vocabulary, so text with those bytes cannot be tokenised: {}",
          count, missing));
}

// Warns about components that llama.cpp's byte-level tokenizer does not implement.
void check_pipeline(json::Element root, FindingLog& findings) {
  for (const Component& component : pre_tokenizers(root)) {
    if (component.type == "ByteLevel" && json::bool_member(component.value, "add_prefix_space").value_or(false)) {
      findings.warning(Scope::model, "hf-tok-prefix-space",
                       "ByteLevel adds a space before the text (add_prefix_space); llama.cpp does not",
                       "pre_tokenizer");
    }
  }
  warn_of_normalizers(root, false, findings);
}

PreFacts pre_facts(const TokenizerInput& input) {
  PreFacts facts;
  const json::Element root = input.files.tokenizer_json->root;
  facts.ignore_merges = json::bool_member(*json::member(root, "model"), "ignore_merges").value_or(false);
  if (const auto config = input.files.tokenizer_config_root()) {
    facts.clean_spaces = json::bool_member(*config, "clean_up_tokenization_spaces");
  }
  facts.has_gmask = std::any_of(input.added.tokens.begin(), input.added.tokens.end(),
                                [](const AddedToken& token) { return token.content == "[gMASK]"; });
  facts.roberta = has_type(post_processors(root), "RobertaProcessing");
  facts.nfc = has_type(normalizers(root), "NFC");
  facts.of_family = input.family().pre;
  return facts;
}

// Recognises the regex of tekken.json, whose tokenizer looks up whole words before merging.
Result<const PreRow*> recognise_pattern(const TokenizerInput& input) {
  const json::Element config = *json::member(input.files.tekken_json->root, "config");
  PreFacts facts;
  facts.ignore_merges = true;
  facts.of_family = input.family().pre;
  return recognise_pre({fmt::format("S({})", regex_form(*json::string_member(config, "pattern"))), "B-"}, facts);
}

// Without tokenizer.json, only the model type indicates the pre-tokenizer.
Result<std::string_view> pre_of_model_type(const TokenizerInput& input) {
  const bool has_ranks = input.files.form == TokenizerForm::tiktoken;
  const auto list = has_ranks ? &arch::TokenizerFacts::pre_of_ranks : &arch::TokenizerFacts::pre_of_merges;
  const std::string_view pre = arch::pre_of_model_type(list, input.model_type());
  if (!pre.empty()) return pre;
  const ClassFacts* facts = find_class_facts(input);
  if (facts != nullptr && !facts->pre.empty()) return facts->pre;
  return input_error("hf-tok-pre-unknown",
                     fmt::format("there is no tokenizer.json to say how text is split, and the pre-tokenizer of model "
                                 "type '{}' is not known; pass --pre NAME to choose one of llama.cpp's",
                                 input.model_type()));
}

Status choose_pre(const TokenizerInput& input, Tokenizer& tokenizer) {
  const TokenizerOptions& options = input.options;
  if (!options.pre_force.empty()) {
    tokenizer.pre = options.pre_force;
  } else if (!options.pre.empty()) {
    tokenizer.pre = options.pre;
  } else if (input.files.tokenizer_json || input.files.tekken_json) {
    const PreRow* row = nullptr;
    if (input.files.tekken_json) {
      MU_ASSIGN(row, recognise_pattern(input));
    } else {
      MU_ASSIGN(row, recognise_pre(pre_signature(input.files.tokenizer_json->root), pre_facts(input)));
    }
    tokenizer.pre = row->pre;
    log_info("pre-tokenizer '{}', by the patterns of {} (as in {})", row->pre, tokenizer.source, row->models);
    if (!row->differs.empty()) {
      tokenizer.findings.warning(
          Scope::model, "hf-tok-pre-differs",
          fmt::format(
              "{} are tokenised differently: llama.cpp's pre-tokenizer '{}' does not split them as the original does",
              row->differs, row->pre),
          "pre_tokenizer");
    }
  } else {
    MU_ASSIGN(tokenizer.pre, pre_of_model_type(input));
    log_info("pre-tokenizer '{}', by the model type '{}'", tokenizer.pre, input.model_type());
  }
  const auto known = known_pre(tokenizer.pre);
  if (!known) return {};
  if (known->newer) {
    tokenizer.findings.note(
        Scope::model, "hf-tok-pre-new",
        fmt::format("llama.cpp gained the pre-tokenizer '{}' after February 2025; older builds refuse to load the file",
                    tokenizer.pre));
  }
  if (input.files.tokenizer_json && pre_facts(input).ignore_merges != known->ignore_merges) {
    tokenizer.findings.warning(
        Scope::model, "hf-tok-ignore-merges",
        fmt::format("ignore_merges is {} in the file, but {} for the pre-tokenizer '{}': some words may be tokenised "
                    "differently",
                    !known->ignore_merges, known->ignore_merges, tokenizer.pre));
  }
  return {};
}

// tiktoken's ranks are the ids and also the merge order.
Status build_tiktoken(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.source = input.files.listed_name;
  MU_ASSIGN(TiktokenVocabulary vocabulary, parse_tiktoken(*input.files.listed_text, input.rows()));
  TokenList list(tokenizer, input.rows());
  for (std::size_t rank = 0; rank < vocabulary.tokens.size(); ++rank) {
    if (vocabulary.tokens[rank].empty()) continue;
    list.set(static_cast<u32>(rank), vocabulary.tokens[rank], TokenType::normal, 0);
  }
  tokenizer.merges = std::move(vocabulary.merges);
  list.overlay(input.added.tokens);
  list.finish(tokenizer.findings);
  if (input.added.tokens.empty()) {
    tokenizer.findings.warning(Scope::model, "hf-tok-tiktoken-special",
                               "no file lists the special tokens (they are in the tokenizer's Python code): texts with "
                               "them are tokenised differently");
  }
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  return choose_pre(input, tokenizer);
}

Status build_tekken(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.source = "tekken.json";
  MU_ASSIGN(TekkenVocabulary vocabulary, parse_tekken(input.files.tekken_json->root, input.rows()));
  TokenList list(tokenizer, input.rows());
  u32 id = 0;
  for (const TekkenSpecial& special : vocabulary.special) {
    list.set(id++, special.text, special.is_control ? TokenType::control : TokenType::user_defined, 0);
  }
  for (const std::string& token : vocabulary.ordinary.tokens) list.set(id++, token, TokenType::normal, 0);
  tokenizer.merges = std::move(vocabulary.ordinary.merges);
  list.overlay(input.added.tokens);
  list.finish(tokenizer.findings);
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  return choose_pre(input, tokenizer);
}

}  // namespace

Status build_byte_bpe(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::gpt2;
  if (input.files.listed_text) return build_tiktoken(input, tokenizer);
  if (input.files.tekken_json) return build_tekken(input, tokenizer);
  const bool fast = input.files.tokenizer_json != nullptr;
  tokenizer.source = fast ? "tokenizer.json" : "vocab.json";
  const json::Element vocab = fast ? *json::member(*json::member(input.files.tokenizer_json->root, "model"), "vocab")
                                   : input.files.vocab_json->root;
  MU_ASSIGN(const Vocabulary vocabulary, read_vocabulary(vocab, input.rows(), input.added.dropped));
  TokenList list(tokenizer, input.rows());
  for (const VocabEntry& entry : vocabulary.entries) list.set(entry.id, entry.text, TokenType::normal, 0);
  MU_TRY(read_merges(input, vocabulary, tokenizer));
  check_byte_symbols(vocabulary, input.added.tokens, tokenizer.findings);
  list.overlay(input.added.tokens);
  list.finish(tokenizer.findings);
  warn_of_added_tokens(input.added.tokens, tokenizer.findings);
  if (fast) check_pipeline(input.files.tokenizer_json->root, tokenizer.findings);
  return choose_pre(input, tokenizer);
}

}  // namespace modelutils::tokenizer
