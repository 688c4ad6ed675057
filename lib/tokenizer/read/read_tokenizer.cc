#include "tokenizer/read/read_tokenizer.h"

#include "base/log.h"
#include "hf/remarks.h"
#include "tokenizer/known_pre.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/chat_template.h"

namespace modelutils::tokenizer {

namespace {

tl::unexpected<Error> missing(const std::string& directory) {
  return input_error(
      "hf-tok-missing",
      "there is no tokenizer (tokenizer.json, tokenizer.model, or vocab.json with merges.txt); --no-vocab "
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

}  // namespace modelutils::tokenizer
