#include "arch/families/runtime_only.h"

namespace modelutils::arch {

namespace {

using Layers = Recurrence::Layers;
using State = Recurrence::State;
using Rule = Windows::Rule;

constexpr RuntimeArchitecture architectures[] = {
    // Attention in every layer and nothing else.
    {"arcee|arctic|baichuan|bitnet|bloom|chameleon|codeshell|falcon|gptj|grok|grovemoe|hunyuan_vl|jais|jais2|"
     "llama-embed|maincoder|mpt|orion|pangu-embedded|plm|refact|xverse"},
    // No cache: all tokens at once.
    {"bert|dream|eurobert|gemma-embedding|jina-bert-v2|jina-bert-v3|llada|llada-moe|modern-bert|neo-bert|nomic-bert|"
     "nomic-bert-moe|rnd1|wavtokenizer-dec",
     {.has_cache = false}},
    {"t5", {.has_encoder = true}},
    // Sliding windows.
    {"cohere2moe",
     {.windows = {.rule = Rule::number_or_list, .global_first = true, .always = true},
      .prediction = PredictionBlocks::cached}},
    {"muse-glimmer", {.windows = {.rule = Rule::number_or_list, .always = true}}},
    {"plamo3", {.windows = {.rule = Rule::period, .period = 8}}},
    {"smallthinker", {.windows = {.rule = Rule::period, .period = 4, .global_first = true, .fixed = 4096}}},
    // Latent attention, with indexers or without.
    {"mistral4", {.is_latent = true}},
    {"deepseek4",
     {.windows = {.rule = Rule::all, .always = true},
      .recurrence = {.keeps_history = true},
      .prediction = PredictionBlocks::uncached,
      .indexer = Indexer::compressed}},
    {"minimax-m3", {.indexer = Indexer::behind_dense}},
    {"hy_v3", {.prediction = PredictionBlocks::uncached}},
    // States.
    {"rwkv6|rwkv6qwen2|arwkv7", {.recurrence = {Layers::all, State::token_shift}}},
    {"minimax-01", {.recurrence = {.layers = Layers::listed, .state = State::linear_attention, .interval = 8}}},
    {"kimi-k3", {.is_latent = true, .recurrence = {Layers::without_kv_heads, State::delta}}},
    {"bailingmoe3",
     {.is_latent = true,
      .recurrence = {Layers::without_kv_heads, State::delta},
      .prediction = PredictionBlocks::cached}},
};

}  // namespace

std::span<const RuntimeArchitecture> runtime_architectures() {
  return architectures;
}

}  // namespace modelutils::arch
