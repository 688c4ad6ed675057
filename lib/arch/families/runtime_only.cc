#include "arch/families/runtime_only.h"

#include <algorithm>

#include "arch/family.h"

namespace modelutils::arch {

namespace {

using Layers = Recurrence::Layers;
using State = Recurrence::State;
using Rule = Windows::Rule;

constexpr RuntimeArchitecture architectures[] = {
    // Attention with a cache in every layer.
    {"arctic|bitnet|chameleon|codeshell|gptj|grok|grovemoe|jais|jais2|"
     "maincoder|pangu-embedded|plm|refact|xverse|hrm_text|"
     "pockettts|qwen3tts|talkie"},
    // No cache: all tokens are computed at once.
    {"dream|llada|llada-moe|rnd1|wavtokenizer-dec|clip", {.has_cache = false}},
    // A router chooses between adapters; its own head caches all tokens.
    {"graniteswitch", {.has_router_layer = true}},
    // A draft model that reads its target's cache.
    {"gemma4-assistant", {.has_cache = false}, true},
    // The pattern decides which layers of a draft slide; without a window none does.
    {"dflash", {.windows = {.rule = Rule::list}}, true},
    {"eagle3", {}, true},
    // Sliding windows.
    {"granite_swa|maple|spark2_5", {.windows = {.rule = Rule::list, .always = true}}},
    {"muse-glimmer", {.windows = {.rule = Rule::number_or_list, .always = true}}},
    {"plamo3", {.windows = {.rule = Rule::period, .period = 8}}},
    {"smallthinker", {.windows = {.rule = Rule::period, .period = 4, .global_first = true, .fixed = 4096}}},
    // Latent attention, with or without indexers.
    {"mistral4", {.is_latent = true}},
    {"hy_v4", {.is_latent = true, .indexer = Indexer::listed}},
    {"dots3note",
     {.is_latent = true,
      .windows = {.rule = Rule::list, .always = true},
      .prediction = PredictionBlocks::uncached,
      .indexer = Indexer::listed}},
    // Recurrent states.
    {"rwkv6|rwkv6qwen2|arwkv7", {.recurrence = {Layers::all, State::token_shift}}},
    {"minimax-01", {.recurrence = {.layers = Layers::listed, .state = State::linear_attention, .interval = 8}}},
};

}  // namespace

std::span<const RuntimeArchitecture> runtime_architectures() {
  return architectures;
}

bool is_draft_architecture(std::string_view architecture) {
  return std::ranges::any_of(architectures, [&](const RuntimeArchitecture& each) {
    return each.is_draft && has_name(each.names, architecture);
  });
}

}  // namespace modelutils::arch
