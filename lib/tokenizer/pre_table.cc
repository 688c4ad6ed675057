#include "tokenizer/pre_table.h"

namespace modelutils::tokenizer {

namespace {

template <typename... Pieces>
std::string join(const Pieces&... pieces) {
  std::string text;
  (text.append(pieces), ...);
  return text;
}

// An element that splits at a regex which is put together from pieces.
template <typename... Pieces>
std::string split(const Pieces&... pieces) {
  return join("S(", canonical_regex(join(pieces...)), ")");
}

// The regexes as the published tokenizer.json files spell them; split() makes them canonical. Shared pieces first.
constexpr std::string_view contractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr std::string_view words = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view punctuation = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)";
constexpr std::string_view lines = R"(|\s*[\r\n]+)";
constexpr std::string_view blank_runs = R"(|\s+(?!\S)|\s+)";

std::string cl100k_like(std::string_view numbers) {
  return join(contractions, words, numbers, punctuation, lines, blank_runs);
}

// Words by case: upper-case letters then lower-case ones, each half possibly without the other.
std::string cased(std::string_view contraction, std::string_view numbers) {
  constexpr std::string_view lead = R"([^\r\n\p{L}\p{N}]?)";
  constexpr std::string_view upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  constexpr std::string_view lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  return join(lead, upper, "*", lower, "+", contraction, "|", lead, upper, "+", lower, "*", contraction, "|", numbers,
              R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)", lines, blank_runs);
}

std::vector<PreRow> make_table() {
  const std::string three = R"(\p{N}{1,3})";
  const std::string cl100k = split(cl100k_like(three));
  const std::string qwen2 = split(cl100k_like(R"(\p{N})"));
  const std::string qwen35 = split(
      contractions, R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)", lines, blank_runs);
  const std::string minicpm = split(cl100k_like(R"(\p{N}+)"));
  const std::string seed = split(contractions, words, R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+)", lines, blank_runs);
  const std::string ling =
      split(R"('(?i:[sdmt]|ll|ve|re))", words, R"(\p{N})", punctuation, R"(|\s*[\r\n])", blank_runs);
  const std::string o200k = split(cased(join(contractions, "?"), three));
  const std::string tekken = split(cased("", R"(\p{N})"));
  const std::string digits3 = split(three);
  const std::string cjk3 = split("[一-龥\u3040-ゟ゠-ヿ]+");
  const std::string cjkd = split("[一-龥ࠀ-一가-\ud7ff]+");
  const std::string symbol_words =
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)";
  const std::string deepseek3 = split(symbol_words, R"( ?[\p{P}\p{S}]+[\r\n]*)", lines, blank_runs);
  const std::string spark = split(symbol_words, R"( ?[\p{P}\p{S}]+|[\r\n])", blank_runs);
  const std::string bloom = split(" ?[^(\\s|[.,!?…。，、।۔،])]+");
  const std::string aya = split(R"(\d{1,3}(?=(?:\d{3})*\b))");
  const std::string jais2 = split(
      contractions, words, three, punctuation, lines,
      R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})");
  const std::string line_ends = split(R"([\r\n])");
  using enum PreWhen;
  return {
      {{cl100k, "B-"}, gmask, "chatglm-bpe", "GLM-4"},
      {{cl100k, "B-"}, ignore_merges, "llama-bpe", "Llama 3, LFM2"},
      {{cl100k, "B-"}, always, "dbrx", "DBRX, Phi-4, OLMo-2, Granite 4, Smaug"},
      {{qwen2, "B-"}, stablelm, "stablelm2", "StableLM-2"},
      {{qwen2, "B-"}, always, "qwen2", "Qwen2, Qwen2.5, Qwen3"},
      {{qwen35, "B-"}, always, "qwen35", "Qwen3.5"},
      {{digits3, cjk3, deepseek3, "B-"}, always, "deepseek-v3", "DeepSeek V3 and R1"},
      {{line_ends, split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"), cjkd, "D1", "B-"},
       always,
       "deepseek-coder",
       "DeepSeek Coder"},
      {{line_ends, "^S(\\s?[A-Za-zµÀ-ÖØ-ö", split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split(R"(\s+$)"), cjkd, "D1",
        "B-"},
       always,
       "deepseek-llm",
       "DeepSeek LLM and V2"},
      {{"P", "B+", "D*", split("[0-9][0-9][0-9]")}, always, "falcon", "Falcon"},
      {{"D1", "B+"}, cohere_tidy, "command-r", "Command-R"},
      {{"D1", "B+"}, tidy, "smollm", "SmolLM"},
      {{"D1", "B+"}, always, "starcoder", "StarCoder, Granite-code"},
      {{tekken, "B-"}, always, "tekken", "Mistral Nemo and Small"},
      {{o200k, "B-"}, always, "gpt-4o", "gpt-oss, Llama 4, Phi-4-mini"},
      {{"B+"}, roberta, "roberta-bpe", "RoBERTa"},
      {{"B+"}, always, "gpt-2", "GPT-2, OLMo, MPT, Phi-2"},
      {{bloom, "D1", "B-"}, always, "viking", "Viking"},
      {{bloom, "B-"}, clean_off, "poro-chat", "Poro"},
      {{bloom, "B-"}, always, "bloom", "BLOOM"},
      {{ling, "B-"}, always, "bailingmoe", "Ling, LLaDA"},
      {{seed, "B-"}, always, "seed-coder", "Seed-Coder"},
      {{aya, o200k, "B-"}, always, "tiny_aya", "Tiny-Aya"},
      {{jais2, "B-"}, always, "jais-2", "Jais-2"},
      {{digits3, minicpm, "B-"}, always, "minicpm5", "MiniCPM5"},
      {{digits3, cjk3, spark, "D1", "B-"}, always, "spark2_5", "Spark 2.5"},
      {{"~&&[^\\p{Han}]", "B-"}, always, "kimi-k2", "Kimi K2"},
  };
}

}  // namespace

const std::vector<PreRow>& pre_table() {
  static const std::vector<PreRow> table = make_table();
  return table;
}

}  // namespace modelutils::tokenizer
