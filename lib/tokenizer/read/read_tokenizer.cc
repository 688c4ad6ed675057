#include "tokenizer/read/read_tokenizer.h"

#include <algorithm>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/hf/config_members.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/listed.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

tl::unexpected<Error> missing(const std::string& directory) {
  return input_error(
      "hf-tok-missing",
      "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.txt, or vocab.json with merges.txt); --no-vocab "
      "converts without one",
      {}, {}, directory);
}

// Parses tokenizer.model if it is SentencePiece. Next to a tokenizer.json, another format is not an error: Llama 3
// ships its tiktoken vocabulary under that name.
Result<std::optional<SentencePieceModel>> sentencepiece_of(const TokenizerFiles& files, FindingLog& findings) {
  if (!files.model_bytes) return std::nullopt;
  if (files.tokenizer_json && !looks_like_sentencepiece(*files.model_bytes)) {
    findings.warning(Scope::model, "hf-tok-model-other", "is not a SentencePiece model and is ignored",
                     "tokenizer.model");
    return std::nullopt;
  }
  auto model = parse_sentencepiece(*files.model_bytes);
  if (!model) return tl::make_unexpected(in_file(model.error(), files.path(files.model_name)));
  return std::optional(std::move(*model));
}

// Returns the file to name in an error that has none.
std::string main_file(const TokenizerFiles& files) {
  switch (files.form) {
    case TokenizerForm::sentencepiece: return files.path(files.model_name);
    case TokenizerForm::vocab_merges: return files.path("vocab.json");
    case TokenizerForm::tiktoken:
    case TokenizerForm::rwkv:
    case TokenizerForm::plamo: return files.path(files.listed_name);
    case TokenizerForm::wordpiece: return files.path(files.tokenizer_json ? "tokenizer.json" : files.listed_name);
    case TokenizerForm::tekken: return files.path("tekken.json");
    default: return files.path("tokenizer.json");
  }
}

Status build(const TokenizerInput& input, Tokenizer& tokenizer) {
  std::optional<SentencePieceModel> model;
  switch (input.files.form) {
    case TokenizerForm::byte_bpe:
    case TokenizerForm::vocab_merges:
    case TokenizerForm::tekken:
    case TokenizerForm::tiktoken: MU_TRY(build_byte_bpe(input, tokenizer)); break;
    case TokenizerForm::rwkv: MU_TRY(build_rwkv(input, tokenizer)); break;
    case TokenizerForm::plamo: MU_TRY(build_plamo(input, tokenizer)); break;
    case TokenizerForm::unigram: MU_TRY(build_unigram(input, nullptr, tokenizer)); break;
    case TokenizerForm::wordpiece: MU_TRY(build_wordpiece(input, tokenizer)); break;
    case TokenizerForm::none:
    case TokenizerForm::spm_json:
    case TokenizerForm::sentencepiece:
      MU_ASSIGN(model, sentencepiece_of(input.files, tokenizer.findings));
      if (model && model->is_unigram() && !input.files.tokenizer_json) {
        MU_TRY(build_unigram(input, &*model, tokenizer));
      } else {
        MU_TRY(build_spm(input, model, tokenizer));
      }
  }
  return resolve_special_tokens(input, model ? &*model : nullptr, tokenizer);
}

}  // namespace

Result<Tokenizer> build_tokenizer(const TokenizerFiles& files, const TokenizerOptions& options) {
  if (files.form == TokenizerForm::none) return missing(files.directory);
  if (options.embedding_rows == 0 || options.embedding_rows > max_embedding_rows) {
    return input_error("hf-tok-rows", fmt::format("the embedding has {} rows, it must have 1 to {}",
                                                  options.embedding_rows, max_embedding_rows));
  }
  if (options.pre_force.empty() && !options.pre.empty() && !is_known_pre(options.pre)) {
    return usage_error(
        fmt::format("--pre: llama.cpp has no pre-tokenizer '{}'; use --pre-force to write any name", options.pre));
  }
  Tokenizer tokenizer;
  TokenizerInput input{files, options, options.config, {}};
  auto added = collect_added_tokens(files, options.embedding_rows, tokenizer.findings);
  if (!added) return tl::make_unexpected(in_file(added.error(), files.directory));
  input.added = std::move(*added);
  const Status built = build(input, tokenizer);
  if (!built) return tl::make_unexpected(in_file(built.error(), main_file(files)));
  log_info("{}: vocabulary '{}' of {} tokens", main_file(files), tokenizer_kind_name(tokenizer.kind),
           tokenizer.tokens.size());
  return tokenizer;
}

Result<Tokenizer> read_tokenizer(const ModelFolder& folder, const TokenizerOptions& options) {
  MU_ASSIGN(const TokenizerFiles files, load_tokenizer_files(folder));
  TokenizerOptions complete = options;
  std::optional<hf::Config> config;
  if (options.config == nullptr) {
    MU_ASSIGN(config, hf::load_config(folder));
    if (config) complete.config = &*config;
  }
  hf::GenerationConfig generation;
  if (options.generation == nullptr) {
    MU_ASSIGN(generation, hf::load_generation_config(folder));
    complete.generation = &generation;
  }
  MU_ASSIGN(Tokenizer tokenizer, build_tokenizer(files, complete));
  tokenizer.findings.add_all(generation.findings);
  MU_ASSIGN(tokenizer.templates, read_chat_templates(folder, files.tokenizer_config_root(), tokenizer.findings));
  return tokenizer;
}

// Checks the tokenizer files of a directory, for verify.

namespace {

// Converts an error to a finding, with a file name relative to the folder.
Finding finding_of(const Error& error, const ModelFolder& folder) {
  const std::string beginning = folder.file("");
  return without_path(
      error, Scope::model,
      error.file.starts_with(beginning) ? error.file.substr(beginning.size()) : base_name_of(error.file));
}

// A tokenizer that we cannot convert is not broken, so its finding becomes a note.
Finding demoted(Finding finding, const Error& error) {
  if (is_unsupported_kind(error)) finding.severity = Severity::note;
  return finding;
}

Status check_tokenizer_json(json::Element root, u64 rows, const AddedTokens& added) {
  const json::Element model = *json::member(root, "model");  // exists and has a vocabulary: tokenizer_form() checked it
  MU_ASSIGN(const Vocabulary vocabulary, read_vocabulary(*json::member(model, "vocab"), rows, added.dropped));
  const auto merges = json::member(model, "merges");
  if (merges) MU_TRY(visit_merges(*merges, vocabulary, [](const Merge&, const MergeIds&) {}));
  return {};
}

// Builds a Unigram tokenizer as for conversion, but without added tokens that have no row.
Status check_unigram(const TokenizerFiles& files, const SentencePieceModel* model, const AddedTokens& added, u64 rows,
                     FindingLog& findings) {
  TokenizerOptions options;
  options.embedding_rows = rows;
  AddedTokens with_row = added;
  std::erase_if(with_row.tokens, [&](const AddedToken& token) { return token.id >= rows; });
  Tokenizer built;
  MU_TRY(build_unigram(TokenizerInput{files, options, nullptr, std::move(with_row)}, model, built));
  warn_of_common_score(common_score(built.types, built.scores), built.source, findings);
  return {};
}

std::optional<float> common_score_of(const SentencePieceModel& model) {
  ScoreSpread spread;
  for (const SentencePiece& piece : model.pieces) {
    if (piece.type == static_cast<i32>(TokenType::normal)) spread.add(piece.score);
  }
  return spread.common();
}

u64 pieces_of(json::Element root) {
  const auto pieces = json::array_member(*json::member(root, "model"), "vocab");
  return pieces ? std::min(u64{pieces->size()}, max_embedding_rows) : 0;
}

Status check_files(const TokenizerFiles& files, std::optional<u64> embedding_rows, FindingLog& findings) {
  const u64 rows = std::min(embedding_rows.value_or(max_embedding_rows), max_embedding_rows);
  MU_ASSIGN(const AddedTokens added, collect_added_tokens(files, rows, findings));
  if (files.model_bytes && (!files.tokenizer_json || looks_like_sentencepiece(*files.model_bytes))) {
    const auto model = parse_sentencepiece(*files.model_bytes);
    if (!model) return tl::make_unexpected(in_file(model.error(), files.path(files.model_name)));
    if (!files.tokenizer_json && model->is_unigram()) {
      constexpr u64 class_tokens = 6;  // at most, besides the pieces
      const u64 tokens = embedding_rows ? rows : model->pieces.size() + class_tokens;
      const Status built = check_unigram(files, &*model, added, tokens, findings);
      if (!built) return tl::make_unexpected(in_file(built.error(), files.path(files.model_name)));
    } else {
      warn_of_common_score(common_score_of(*model), files.model_name, findings);
    }
  }
  if (files.tokenizer_json) {
    const json::Element root = files.tokenizer_json->root;
    const Status checked = files.form == TokenizerForm::unigram
                               ? check_unigram(files, nullptr, added, embedding_rows ? rows : pieces_of(root), findings)
                               : check_tokenizer_json(root, rows, added);
    if (!checked) return tl::make_unexpected(in_file(checked.error(), files.path("tokenizer.json")));
  }
  if (files.form == TokenizerForm::vocab_merges) {
    MU_TRY(read_vocabulary(files.vocab_json->root, rows, added.dropped));
    MU_TRY(parse_merges_text(*files.merges_text));
  }
  if (files.form == TokenizerForm::tiktoken) {
    const auto ranks = parse_tiktoken(*files.listed_text, rows);
    if (!ranks) return tl::make_unexpected(in_file(ranks.error(), files.path(files.listed_name)));
  }
  if (files.form == TokenizerForm::tekken) {
    const auto vocabulary = parse_tekken(files.tekken_json->root, rows);
    if (!vocabulary) return tl::make_unexpected(in_file(vocabulary.error(), files.path("tekken.json")));
  }
  const bool is_listed = files.form == TokenizerForm::wordpiece && files.listed_text;
  if (is_listed || files.form == TokenizerForm::rwkv || files.form == TokenizerForm::plamo) {
    const auto lines = std::count(files.listed_text->begin(), files.listed_text->end(), '\n');
    TokenizerOptions options;
    options.embedding_rows = embedding_rows ? rows : std::min(rows, static_cast<u64>(lines) + 2);
    Tokenizer built;
    const TokenizerInput input{files, options, nullptr, added};
    const Status done = is_listed                           ? build_wordpiece(input, built)
                        : files.form == TokenizerForm::rwkv ? build_rwkv(input, built)
                                                            : build_plamo(input, built);
    if (!done) return tl::make_unexpected(in_file(done.error(), files.path(files.listed_name)));
    warn_of_common_score(common_score(built.types, built.scores), built.source, findings);
  }
  return {};
}

}  // namespace

FindingLog check_tokenizer(const ModelFolder& folder, std::optional<u64> embedding_rows) {
  FindingLog findings;
  const auto files = load_tokenizer_files(folder);
  if (!files) {
    Finding finding = demoted(finding_of(files.error(), folder), files.error());
    if (finding.code == "hf-tok-missing") finding.severity = Severity::warning;
    findings.add(std::move(finding));
    return findings;
  }
  if (files->form == TokenizerForm::none) {
    findings.warning(
        Scope::model, "hf-tok-missing",
        "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.txt, or vocab.json with merges.txt)");
    return findings;
  }
  const Status checked = check_files(*files, embedding_rows, findings);
  if (!checked) findings.add(demoted(finding_of(checked.error(), folder), checked.error()));
  const auto templates = read_chat_templates(folder, files->tokenizer_config_root(), findings);
  if (!templates) findings.add(finding_of(templates.error(), folder));
  return findings;
}

}  // namespace modelutils::tokenizer
