// The names that llama.cpp accepts in tokenizer.ggml.pre, and what its loader derives from them.
#include <algorithm>
#include <array>

#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// clang-format off
constexpr std::array known_names = {
    // name, newer than February 2025, ignore_merges, add_bos
    KnownPre{"default", false, false, false},
    KnownPre{"llama3", false, true, true},
    KnownPre{"llama-v3", false, true, true},
    KnownPre{"llama-bpe", false, true, true},
    KnownPre{"falcon3", false, true, true},
    KnownPre{"deepseek-llm", false, false, false},
    KnownPre{"deepseek-coder", false, false, false},
    KnownPre{"deepseek-v3", false, false, false},
    KnownPre{"falcon", false, false, false},
    KnownPre{"mpt", false, false, false},
    KnownPre{"starcoder", false, false, false},
    KnownPre{"gpt-2", false, false, false},
    KnownPre{"phi-2", false, false, false},
    KnownPre{"jina-es", false, false, false},
    KnownPre{"jina-de", false, false, false},
    KnownPre{"jina-v1-en", false, false, false},
    KnownPre{"jina-v2-es", false, false, false},
    KnownPre{"jina-v2-de", false, false, false},
    KnownPre{"jina-v2-code", false, false, false},
    KnownPre{"gigachat", false, false, false},
    KnownPre{"roberta-bpe", false, false, false},
    KnownPre{"refact", false, false, false},
    KnownPre{"command-r", false, false, false},
    KnownPre{"qwen2", false, false, false},
    KnownPre{"deepseek-r1-qwen", false, false, false},
    KnownPre{"stablelm2", false, false, false},
    KnownPre{"olmo", false, false, false},
    KnownPre{"dbrx", false, false, false},
    KnownPre{"smaug-bpe", false, false, false},
    KnownPre{"poro-chat", false, false, false},
    KnownPre{"chatglm-bpe", false, false, false},
    KnownPre{"viking", false, false, false},
    KnownPre{"jais", false, false, false},
    KnownPre{"tekken", false, true, true},
    KnownPre{"smollm", false, false, false},
    KnownPre{"codeshell", false, false, false},
    KnownPre{"bloom", false, false, false},
    KnownPre{"gpt3-finnish", false, false, false},
    KnownPre{"exaone", false, false, false},
    KnownPre{"chameleon", false, false, true},
    KnownPre{"minerva-7b", false, false, false},
    KnownPre{"megrez", false, false, false},
    KnownPre{"lfm2", true, true, true},
    KnownPre{"falcon-h1", true, true, true},
    KnownPre{"pixtral", true, true, true},
    KnownPre{"midm-2.0", true, true, true},
    KnownPre{"gpt-4o", true, false, false},
    KnownPre{"llama4", true, false, false},
    KnownPre{"kanana2", true, false, false},
    KnownPre{"superbpe", true, false, false},
    KnownPre{"trillion", true, false, false},
    KnownPre{"granite-docling", true, false, false},
    KnownPre{"bailingmoe", true, false, false},
    KnownPre{"bailingmoe2", true, false, false},
    KnownPre{"llada-moe", true, false, false},
    KnownPre{"seed-coder", true, false, false},
    KnownPre{"hunyuan", true, false, false},
    KnownPre{"hunyuan-dense", true, false, false},
    KnownPre{"kimi-k2", true, false, false},
    KnownPre{"grok-2", true, false, false},
    KnownPre{"afmoe", true, false, false},
    KnownPre{"minimax-m2", true, false, false},
    KnownPre{"solar-open", true, false, false},
    KnownPre{"qwen35", true, false, false},
    KnownPre{"glm4", true, false, false},
    KnownPre{"a.x-4.0", true, false, false},
    KnownPre{"mellum", true, false, false},
    KnownPre{"mellum2", true, false, false},
    KnownPre{"modern-bert", true, false, false},
    KnownPre{"exaone4", true, false, false},
    KnownPre{"exaone-moe", true, false, false},
    KnownPre{"jais-2", true, false, false},
    KnownPre{"youtu", true, true, false},
    KnownPre{"tiny_aya", true, false, false},
    KnownPre{"joyai-llm", true, false, false},
    KnownPre{"laguna", true, false, false},
    KnownPre{"gemma4", true, false, false},
    KnownPre{"kormo", true, false, false},
    KnownPre{"f2llmv2", true, false, false},
    KnownPre{"minicpm5", true, true, false},
    KnownPre{"sarvam-moe", true, false, false},
    KnownPre{"spark2_5", true, false, false},
    KnownPre{"whitespace", true, false, false},
    KnownPre{"jina-v5-nano", true, true, true},
    KnownPre{"granite-embed-multi-97m", true, true, false},
    KnownPre{"granite-embed-multi-311m", true, false, true},
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

template <std::size_t size>
bool holds_name(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

u32 digits_together(std::string_view pre) {
  return holds_name(single_digits, pre) ? 1 : holds_name(three_digits, pre) ? 3 : 0;
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
