#include "tokenizer/known_pre.h"

#include <algorithm>
#include <array>

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

}  // namespace modelutils::tokenizer
