#include "tokenizer/pre_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tokenizer/regex_form.h"

namespace modelutils::tokenizer {

namespace {

// clang-format off
constexpr std::array known_names = {
    // name, newer than February 2025, ignore_merges, add_bos, the name of the same split in the table
    KnownPre{"default", false, false, false},
    KnownPre{"llama3", false, true, true, "llama-bpe"},
    KnownPre{"llama-v3", false, true, true, "llama-bpe"},
    KnownPre{"llama-bpe", false, true, true},
    KnownPre{"falcon3", false, true, true, "llama-bpe"},
    KnownPre{"deepseek-llm", false, false, false},
    KnownPre{"deepseek-coder", false, false, false},
    KnownPre{"deepseek-v3", false, false, false},
    KnownPre{"falcon", false, false, false},
    KnownPre{"mpt", false, false, false, "gpt-2"},
    KnownPre{"starcoder", false, false, false},
    KnownPre{"gpt-2", false, false, false},
    KnownPre{"phi-2", false, false, false, "gpt-2"},
    KnownPre{"jina-es", false, false, false, "gpt-2"},
    KnownPre{"jina-de", false, false, false, "gpt-2"},
    KnownPre{"jina-v1-en", false, false, false, "gpt-2"},
    KnownPre{"jina-v2-es", false, false, false, "gpt-2"},
    KnownPre{"jina-v2-de", false, false, false, "gpt-2"},
    KnownPre{"jina-v2-code", false, false, false, "gpt-2"},
    KnownPre{"gigachat", false, false, false, "gpt-2"},
    KnownPre{"roberta-bpe", false, false, false},
    KnownPre{"refact", false, false, false, "starcoder"},
    KnownPre{"command-r", false, false, false},
    KnownPre{"qwen2", false, false, false},
    KnownPre{"deepseek-r1-qwen", false, false, false, "qwen2"},
    KnownPre{"stablelm2", false, false, false},
    KnownPre{"olmo", false, false, false, "gpt-2"},
    KnownPre{"dbrx", false, false, false},
    KnownPre{"smaug-bpe", false, false, false, "dbrx"},
    KnownPre{"poro-chat", false, false, false},
    KnownPre{"chatglm-bpe", false, false, false},
    KnownPre{"viking", false, false, false},
    KnownPre{"jais", false, false, false, "gpt-2"},
    KnownPre{"tekken", false, true, true},
    KnownPre{"smollm", false, false, false},
    KnownPre{"codeshell", false, false, false, "starcoder"},
    KnownPre{"bloom", false, false, false},
    KnownPre{"gpt3-finnish", false, false, false, "bloom"},
    KnownPre{"exaone", false, false, false, "starcoder"},
    KnownPre{"chameleon", false, false, true},
    KnownPre{"minerva-7b", false, false, false, "starcoder"},
    KnownPre{"megrez", false, false, false, "qwen2"},
    KnownPre{"lfm2", true, true, true, "llama-bpe"},
    KnownPre{"falcon-h1", true, true, true, "llama-bpe"},
    KnownPre{"pixtral", true, true, true, "llama-bpe"},
    KnownPre{"midm-2.0", true, true, true, "llama-bpe"},
    KnownPre{"gpt-4o", true, false, false},
    KnownPre{"llama4", true, false, false, "gpt-4o"},
    KnownPre{"kanana2", true, false, false, "gpt-4o"},
    KnownPre{"superbpe", true, false, false},
    KnownPre{"trillion", true, false, false, "gpt-2"},
    KnownPre{"granite-docling", true, false, false, "gpt-2"},
    KnownPre{"bailingmoe", true, false, false, "qwen2"},
    KnownPre{"bailingmoe2", true, false, false, "qwen2"},
    KnownPre{"llada-moe", true, false, false, "qwen2"},
    KnownPre{"seed-coder", true, false, false},
    KnownPre{"hunyuan", true, false, false, "qwen2"},
    KnownPre{"hunyuan-dense", true, false, false, "deepseek-v3"},
    KnownPre{"kimi-k2", true, false, false},
    KnownPre{"grok-2", true, false, false, "qwen2"},
    KnownPre{"afmoe", true, false, false},
    KnownPre{"minimax-m2", true, false, false, "gpt-4o"},
    KnownPre{"solar-open", true, false, false, "qwen2"},
    KnownPre{"qwen35", true, false, false},
    KnownPre{"glm4", true, false, false, "chatglm-bpe"},
    KnownPre{"a.x-4.0", true, false, false, "gpt-2"},
    KnownPre{"mellum", true, false, false, "gpt-2"},
    KnownPre{"mellum2", true, false, false, "starcoder"},
    KnownPre{"modern-bert", true, false, false, "gpt-2"},
    KnownPre{"exaone4", true, false, false, "gpt-2"},
    KnownPre{"exaone-moe", true, false, false},
    KnownPre{"jais-2", true, false, false},
    KnownPre{"youtu", true, true, false},
    KnownPre{"tiny_aya", true, false, false},
    KnownPre{"joyai-llm", true, false, false},
    KnownPre{"laguna", true, false, false},
    KnownPre{"gemma4", true, false, false},
    KnownPre{"kormo", true, false, false, "qwen2"},
    KnownPre{"f2llmv2", true, false, false, "qwen2"},
    KnownPre{"minicpm5", true, true, false},
    KnownPre{"sarvam-moe", true, false, false},
    KnownPre{"spark2_5", true, false, false},
    KnownPre{"whitespace", true, false, false},
    KnownPre{"jina-v5-nano", true, true, true, "llama-bpe"},
    KnownPre{"granite-embed-multi-97m", true, true, false, "gpt-4o"},
    KnownPre{"granite-embed-multi-311m", true, false, true, "gpt-4o"},
    KnownPre{"talkie", true, false, false},
    KnownPre{"cohere2moe", true, false, false},
    KnownPre{"hy_v4", true, false, false},
    KnownPre{"ufakzeka", true, false, false},
};
// clang-format on

constexpr std::array<std::string_view, 30> single_digits = {
    "deepseek-coder", "starcoder",  "refact",    "command-r", "smollm",           "codeshell",
    "exaone",         "minerva-7b", "mellum2",   "qwen2",     "deepseek-r1-qwen", "kormo",
    "f2llmv2",        "megrez",     "stablelm2", "hunyuan",   "solar-open",       "qwen35",
    "viking",         "tekken",     "chameleon", "youtu",     "bailingmoe",       "bailingmoe2",
    "llada-moe",      "seed-coder", "ufakzeka",  "grok-2",    "exaone-moe",       "spark2_5"};
constexpr std::array<std::string_view, 26> three_digits = {"llama3",       "llama-v3",
                                                           "llama-bpe",    "falcon3",
                                                           "falcon-h1",    "pixtral",
                                                           "midm-2.0",     "lfm2",
                                                           "jina-v5-nano", "jais-2",
                                                           "dbrx",         "smaug-bpe",
                                                           "deepseek-v3",  "joyai-llm",
                                                           "hy_v4",        "glm4",
                                                           "gpt-4o",       "hunyuan-dense",
                                                           "chatglm-bpe",  "llama4",
                                                           "kanana2",      "minimax-m2",
                                                           "tiny_aya",     "cohere2moe",
                                                           "minicpm5",     "granite-embed-multi-97m"};

constexpr std::array<std::string_view, 49> tidy = {
    "",          "default",      "minicpm5",     "llama3",    "llama-v3",   "llama-bpe",  "falcon3",
    "falcon-h1", "pixtral",      "midm-2.0",     "lfm2",      "falcon",     "mpt",        "starcoder",
    "gpt-2",     "phi-2",        "jina-es",      "jina-de",   "gigachat",   "jina-v2-es", "jina-v2-de",
    "a.x-4.0",   "mellum",       "modern-bert",  "jais-2",    "gemma4",     "jina-v1-en", "jina-v2-code",
    "refact",    "roberta-bpe",  "stablelm2",    "olmo",      "dbrx",       "smaug-bpe",  "chatglm-bpe",
    "glm4",      "jina-v5-nano", "jais",         "codeshell", "bloom",      "exaone",     "minerva-7b",
    "exaone4",   "exaone-moe",   "gpt3-finnish", "mellum2",   "whitespace", "megrez",     "granite-embed-multi-311m"};

constexpr std::array<std::string_view, 2> composing = {"qwen2", "qwen35"};

template <std::size_t size>
bool holds_name(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

u32 digits_together(std::string_view pre) {
  return holds_name(single_digits, pre) ? 1 : holds_name(three_digits, pre) ? 3 : 0;
}

bool composes(std::string_view pre) {
  return holds_name(composing, pre);
}

bool tidies_spaces(std::string_view pre) {
  return holds_name(tidy, pre);
}

std::span<const KnownPre> all_known_pre() {
  return known_names;
}

std::optional<KnownPre> known_pre(std::string_view name) {
  const auto* found =
      std::find_if(known_names.begin(), known_names.end(), [&](const KnownPre& one) { return one.name == name; });
  return found == known_names.end() ? std::nullopt : std::optional(*found);
}

bool is_known_pre(std::string_view name) {
  return known_pre(name).has_value();
}

namespace {

template <typename... Pieces>
std::string join(const Pieces&... pieces) {
  std::string text;
  (text.append(pieces), ...);
  return text;
}

// An element of a signature and, for a Split, its published regex.
struct Element {
  std::string form;
  std::string regex = {};

  Element(std::string_view name) : form(name) {}  // NOLINT: meant to be implicit
  Element(const char* name) : form(name) {}       // NOLINT
  Element(std::string_view pattern, std::string_view published) : form(pattern), regex(published) {}
};

// Returns an element that splits at a regex, which is joined from pieces.
template <typename... Pieces>
Element split(const Pieces&... pieces) {
  const std::string regex = join(pieces...);
  return {join("S(", regex_form(regex), ")"), regex};
}

// A row of the table in the form in which it is written below.
struct Row {
  std::vector<Element> elements;
  PreWhen when = PreWhen::always;
  std::string_view pre;
  std::string_view models;
  std::string_view differs;
};

// The regexes are spelled as in the published tokenizer.json files; split() brings them into their canonical form.
// Shared pieces are first.
constexpr std::string_view contractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr std::string_view plain_words = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view punctuation = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)";
constexpr std::string_view lines = R"(|\s*[\r\n]+)";
constexpr std::string_view blank_runs = R"(|\s+(?!\S)|\s+)";

std::string cl100k_like(std::string_view numbers) {
  return join(contractions, "|", plain_words, numbers, punctuation, lines, blank_runs);
}

// Patterns for words by case: upper-case letters, then lower-case ones; either may be missing.
struct Halves {
  std::string_view upper, lower;
};
// The pattern as published, and as in llama.cpp, from which some tokenizers adopted it.
constexpr Halves by_category = {R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"};
constexpr Halves by_ascii_case = {R"(((?=[\p{L}])([^a-z])))", R"(((?=[\p{L}])([^A-Z])))"};

std::string cased(const Halves& halves, std::string_view contraction, std::string_view numbers) {
  constexpr std::string_view lead = R"([^\r\n\p{L}\p{N}]?)";
  return join(lead, halves.upper, "*", halves.lower, "+", contraction, "|", lead, halves.upper, "+", halves.lower, "*",
              contraction, "|", numbers, R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)", lines, blank_runs);
}

// Kimi K2: runs of Han characters are separate, then come words by case without Han characters. `\p{Han}` is the first
// alternative.
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

// Letters that DeepSeek LLM keeps together. Letters that Unicode normalisation would change are escaped.
// clang-format off
constexpr std::string_view listed_letters =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-"
    "Ἕἠ-"
    "ὅὈ-"
    "Ὅὐ"
    "-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-"
    "ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-"
    "𑣟𞤀-"
    "𞥃]"
    "+";
// clang-format on
// Groups of three digits, counted from the right.
constexpr std::string_view digits_from_the_right = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";

std::vector<Row> make_rows() {
  const std::string three = R"(\p{N}{1,3})";
  const std::string contraction = join(contractions, "?");
  const Element cl100k = split(cl100k_like(three));
  const Element qwen2 = split(cl100k_like(R"(\p{N})"));
  const Element no_contractions = split(plain_words, R"(\p{N})", punctuation, lines, blank_runs);
  const Element qwen35 = split(contractions, R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)",
                               lines, blank_runs);
  const Element minicpm = split(cl100k_like(R"(\p{N}+)"));
  const Element seed = split(contractions, "|", plain_words, R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+)", lines, blank_runs);
  const Element o200k = split(cased(by_category, contraction, three));
  const Element tekken = split(cased(by_category, "", R"(\p{N})"));
  const Element digits3 = split(three);
  const Element cjk3 = split("[一-龥\u3040-ゟ゠-ヿ]+");
  const Element cjkd = split("[一-龥ࠀ-一가-\ud7ff]+");
  const std::string symbol_words =
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)";
  const Element deepseek3 = split(symbol_words, R"( ?[\p{P}\p{S}]+[\r\n]*)", lines, blank_runs);
  const Element spark = split(symbol_words, R"( ?[\p{P}\p{S}]+|[\r\n])", blank_runs);
  const Element bloom = split(" ?[^(\\s|[.,!?…。，、।۔،])]+");
  const Element aya = split(R"(\d{1,3}(?=(?:\d{3})*\b))");
  const Element jais2 = split(
      contractions, "|", plain_words, three, punctuation, lines,
      R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})");
  const Element line_ends = split(R"([\r\n])");
  const Element by_lines = split(R"([^\n]+|[\n]+)");
  const Element phrases = split(
      contractions,
      R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)");
  const Element youtu_scripts =
      split("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+");
  const Element youtu_words = split(cased(by_category, contraction, R"(\p{N})"));
  const Element afmoe_scripts = split(
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
      {{qwen2, "B-"}, family_cleaned, "stablelm2", "StableLM-2", {}},
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
      {{line_ends, Element("^S(\\s?[A-Za-zµÀ-ÖØ-ö", listed_letters), split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"),
        split(R"(\s+$)"), cjkd, "D1", "B-"},
       always,
       "deepseek-llm",
       "DeepSeek LLM and V2",
       {}},
      {{"P", "B+", "D*", split("[0-9][0-9][0-9]")}, always, "falcon", "Falcon", {}},
      {{"D1", "B+"}, family_tidy, "command-r", "Command-R", {}},
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
      {{Element("~(?=", digits_from_the_right), afmoe_scripts, deepseek3, "B-"}, always, "afmoe", "AFMoE", {}},
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

std::vector<PreRow> make_table() {
  std::vector<PreRow> table;
  for (Row& row : make_rows()) {
    PreRow& out = table.emplace_back();
    for (Element& element : row.elements) {
      out.signature.push_back(std::move(element.form));
      out.regexes.push_back(std::move(element.regex));
    }
    out.when = row.when;
    out.pre = row.pre;
    out.models = row.models;
    out.differs = row.differs;
  }
  return table;
}

}  // namespace

std::string signature_text(const PreSignature& signature) {
  std::string text;
  for (const std::string& element : signature) {
    if (!text.empty()) text += ' ';
    text += element;
  }
  return text;
}

const PreRow* find_pre_row(std::string_view pre) {
  const std::optional<KnownPre> known = known_pre(pre);
  const std::string_view name = known && !known->same_as.empty() ? known->same_as : pre;
  for (const PreRow& row : pre_table()) {
    if (row.pre == name) return &row;
  }
  return nullptr;
}

const std::vector<PreRow>& pre_table() {
  static const std::vector<PreRow> table = make_table();
  return table;
}

}  // namespace modelutils::tokenizer
