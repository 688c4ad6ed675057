#include "tokenizer/pre_table.h"

#include "tokenizer/regex_form.h"

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
  return join("S(", regex_form(join(pieces...)), ")");
}

// The regexes as the published tokenizer.json files spell them; split() gives them their one form. Shared pieces first.
constexpr std::string_view contractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr std::string_view plain_words = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view punctuation = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)";
constexpr std::string_view lines = R"(|\s*[\r\n]+)";
constexpr std::string_view blank_runs = R"(|\s+(?!\S)|\s+)";

std::string cl100k_like(std::string_view numbers) {
  return join(contractions, "|", plain_words, numbers, punctuation, lines, blank_runs);
}

// Words by case: upper-case letters then lower-case ones, each half possibly without the other.
struct Halves {
  std::string_view upper, lower;
};
// As published, and as llama.cpp has them, which some tokenizers took over.
constexpr Halves by_category = {R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"};
constexpr Halves by_ascii_case = {R"(((?=[\p{L}])([^a-z])))", R"(((?=[\p{L}])([^A-Z])))"};

std::string cased(const Halves& halves, std::string_view contraction, std::string_view numbers) {
  constexpr std::string_view lead = R"([^\r\n\p{L}\p{N}]?)";
  return join(lead, halves.upper, "*", halves.lower, "+", contraction, "|", lead, halves.upper, "+", halves.lower, "*",
              contraction, "|", numbers, R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)", lines, blank_runs);
}

// Kimi K2: runs of Han characters, then words by case without them. `\p{Han}` is the first alternative.
std::string han_apart() {
  constexpr std::string_view lead = R"([^\r\n\p{L}\p{N}]?)";
  constexpr std::string_view upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])";
  constexpr std::string_view lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])";
  return join(R"([\p{Han}]+|)", lead, upper, "*", lower, "+", contractions, "?|", lead, upper, "+", lower, "*",
              contractions, R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)", lines, blank_runs);
}

constexpr std::string_view marks_and_capitals =
    "words with combining marks (Hindi, Thai, vowelled Arabic and Hebrew …) and with a capital outside ASCII after a "
    "small "
    "letter";

constexpr std::string_view all_cases = "words with capitals after small letters (camelCase) or combining marks";
constexpr std::string_view all_cases_and_numbers =
    "words with capitals after small letters (camelCase) or combining marks, and long numbers next to letters";

std::vector<PreRow> make_table() {
  const std::string three = R"(\p{N}{1,3})";
  const std::string contraction = join(contractions, "?");
  const std::string cl100k = split(cl100k_like(three));
  const std::string qwen2 = split(cl100k_like(R"(\p{N})"));
  const std::string no_contractions = split(plain_words, R"(\p{N})", punctuation, lines, blank_runs);
  const std::string qwen35 = split(
      contractions, R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)", lines, blank_runs);
  const std::string minicpm = split(cl100k_like(R"(\p{N}+)"));
  const std::string seed = split(contractions, "|", plain_words, R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+)", lines, blank_runs);
  const std::string o200k = split(cased(by_category, contraction, three));
  const std::string tekken = split(cased(by_category, "", R"(\p{N})"));
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
      contractions, "|", plain_words, three, punctuation, lines,
      R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})");
  const std::string line_ends = split(R"([\r\n])");
  const std::string by_lines = split(R"([^\n]+|[\n]+)");
  const std::string phrases = split(
      contractions,
      R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)");
  const std::string youtu_scripts =
      split("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+");
  const std::string youtu_words = split(cased(by_category, contraction, R"(\p{N})"));
  const std::string afmoe_scripts = split(
      "[一-鿿㐀-䶿豈-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-"
      "\ua9ff가-"
      "\ud7afᄀ-"
      "ᇿ]"
      "+");
  using enum PreWhen;
  return {
      {{cl100k, "B-"}, gmask, "chatglm-bpe", "GLM-4", {}},
      {{cl100k, "B-"}, ignore_merges, "llama-bpe", "Llama 3, LFM2", {}},
      {{cl100k, "B-"}, always, "dbrx", "DBRX, Phi-4, OLMo-2, Granite 4, Smaug", {}},
      {{qwen2, "B-"}, stablelm, "stablelm2", "StableLM-2", {}},
      {{qwen2, "B-"}, always, "qwen2", "Qwen2, Qwen2.5, Qwen3, Ling, Grok-2", {}},
      {{no_contractions, "B-"}, always, "ufakzeka", "Ufakzeka", {}},
      {{qwen35, "B-"}, always, "qwen35", "Qwen3.5", {}},
      {{by_lines, qwen2, "B-"}, always, "laguna", "Laguna", {}},
      {{digits3, cjk3, deepseek3, "B-"}, always, "deepseek-v3", "DeepSeek V3 and R1, Hunyuan dense", {}},
      {{line_ends, split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"), cjkd, "D1", "B-"},
       always,
       "deepseek-coder",
       "DeepSeek Coder",
       {}},
      {{line_ends, "^S(\\s?[A-Za-zµÀ-ÖØ-ö", split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split(R"(\s+$)"), cjkd, "D1",
        "B-"},
       always,
       "deepseek-llm",
       "DeepSeek LLM and V2",
       {}},
      {{"P", "B+", "D*", split("[0-9][0-9][0-9]")}, always, "falcon", "Falcon", {}},
      {{"D1", "B+"}, cohere_tidy, "command-r", "Command-R", {}},
      {{"D1", "B+"}, tidy, "smollm", "SmolLM", {}},
      {{"D1", "B+"}, always, "starcoder", "StarCoder, Granite-code, EXAONE 3", {}},
      {{tekken, "B-"}, always, "tekken", "Mistral Nemo and Small", marks_and_capitals},
      {{split(cased(by_ascii_case, "", R"(\p{N})")), "B-"}, always, "tekken", "tokenizers with llama.cpp's regex", {}},
      {{o200k, "B-"}, always, "gpt-4o", "gpt-oss, Llama 4, Phi-4-mini", marks_and_capitals},
      {{split(cased(by_ascii_case, contraction, three)), "B-"},
       always,
       "gpt-4o",
       "tokenizers with llama.cpp's regex",
       {}},
      {{youtu_scripts, youtu_words, "B-"}, always, "youtu", "Youtu", all_cases},
      {{"B+"}, roberta, "roberta-bpe", "RoBERTa", {}},
      {{"B+"}, always, "gpt-2", "GPT-2, OLMo, MPT, Phi-2, EXAONE 4", {}},
      {{bloom, "D1", "B-"}, always, "viking", "Viking", {}},
      {{bloom, "B-"}, clean_off, "poro-chat", "Poro", {}},
      {{bloom, "B-"}, always, "bloom", "BLOOM", {}},
      {{seed, "B-"}, always, "seed-coder", "Seed-Coder, Seed-OSS", {}},
      {{aya, o200k, "B-"}, always, "tiny_aya", "Tiny-Aya", all_cases_and_numbers},
      {{jais2, "B-"}, always, "jais-2", "Jais-2", {}},
      {{phrases, "B-"}, always, "exaone-moe", "EXAONE MoE", {}},
      {{split(R"(\p{N}+)"), split(R"((?=(\d{3})+(?!\d)))"), "B-"}, always, "superbpe", "SuperBPE", {}},
      {{"~(?=", afmoe_scripts, deepseek3, "B-"}, always, "afmoe", "AFMoE", {}},
      {{split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split("([\\t\\n]|    |  )"), "D1",
        "P:Isolated", "B+"},
       always,
       "chameleon",
       "Chameleon",
       {}},
      {{digits3, minicpm, "B-"}, always, "minicpm5", "MiniCPM5", {}},
      {{digits3, cjk3, spark, "D1", "B-"}, always, "spark2_5", "Spark 2.5", {}},
      {{split(han_apart()), "B-"}, always, "kimi-k2", "Kimi K2", all_cases},
  };
}

}  // namespace

const std::vector<PreRow>& pre_table() {
  static const std::vector<PreRow> table = make_table();
  return table;
}

}  // namespace modelutils::tokenizer
