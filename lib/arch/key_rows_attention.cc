// Facts about the keys of attention and rotation, one row per key; key_facts.h explains the members.
#include "arch/key_facts.h"

namespace modelutils::arch {

namespace {

// clang-format off
constexpr KeyFacts rows_of_attention[] = {
    {.name = "*.attention.head_count", .types = "u32|u32[]|i32[]", .length = "layers", .readers = "*",
     .absent = "0: no attention", .means = "query heads", .least = 0},
    {.name = "*.attention.head_count_kv", .types = "u32|u32[]|i32[]", .length = "layers", .readers = "*",
     .absent = "as many as query heads", .means = "key and value heads; 0 in layers without attention", .least = 0},
    {.name = "*.attention.max_alibi_bias", .types = "f32", .readers = "jais|mpt",
     .absent = "0: no bias, or 8 if fixed by the architecture", .means = "ALiBi: largest slope of the distance bias",
     .least = 0},
    {.name = "*.attention.clamp_kqv", .types = "f32", .readers = "dbrx|mpt|olmo", .needed_by = "dbrx",
     .absent = "0: not clamped", .means = "clamp limit for queries, keys and values", .least = 0},
    {.name = "*.attention.key_length", .types = "u32", .readers = "*", .absent = "embedding_length / head_count",
     .means = "size of a query or key head", .least = 1},
    {.name = "*.attention.value_length", .types = "u32", .readers = "*", .absent = "embedding_length / head_count",
     .means = "size of a value head", .least = 1},
    {.name = "*.attention.layer_norm_epsilon", .types = "f32",
     .readers = "arwkv7|bert|bloom|codeshell|cohere2|cohere2moe|command-r|dbrx|falcon|gpt2|gptneox|jais|jais2|"
                "jina-bert-v2|jina-bert-v3|modern-bert|mpt|nemotron|nemotron_h|nemotron_h_moe|nomic-bert|"
                "nomic-bert-moe|olmo|orion|phi2|pockettts|rwkv6|rwkv6qwen2|rwkv7|stablelm|starcoder|starcoder2|"
                "wavtokenizer-dec",
     .needed_by = "bert|bloom|codeshell|cohere2|command-r|dbrx|falcon|gpt2|gptneox|jais|jais2|jina-bert-v2|"
                  "jina-bert-v3|modern-bert|mpt|nemotron|nemotron_h|nemotron_h_moe|nomic-bert|nomic-bert-moe|olmo|"
                  "orion|phi2|pockettts|stablelm|starcoder|starcoder2|wavtokenizer-dec",
     .absent = "0, or the other epsilon", .means = "epsilon of LayerNorm", .least = 0},
    {.name = "*.attention.layer_norm_rms_epsilon", .types = "f32",
     .readers = "afmoe|apertus|arcee|arctic|arwkv7|baichuan|bailingmoe|bailingmoe2|bailingmoe3|bitnet|chameleon|"
                "chatglm|cogvlm|cohere2moe|deci|deepseek|deepseek2|deepseek2-ocr|deepseek32|deepseek4|dflash|dots1|"
                "dots3note|dream|eagle3|ernie4_5|ernie4_5-moe|eurobert|exaone|exaone-moe|exaone4|falcon-h1|gemma|"
                "gemma-embedding|gemma2|gemma3|gemma3n|gemma4|gemma4-assistant|glm-dsa|glm4|glm4moe|gpt-oss|granite|"
                "granite_swa|granitehybrid|granitemoe|graniteswitch|grok|grovemoe|hrm_text|hunyuan-dense|"
                "hunyuan-moe|hunyuan_vl|hy_v3|hy_v4|internlm2|jamba|kimi-k3|kimi-linear|laguna|lfm2|lfm2moe|llada|"
                "llada-moe|llama|llama-embed|llama4|maincoder|mamba|mamba2|maple|mellum|mimo2|minicpm|minicpm3|"
                "minimax-01|minimax-m2|minimax-m3|mistral3|mistral4|muse-glimmer|nanbeige|nemotron_h|nemotron_h_moe|"
                "neo-bert|olmo2|olmoe|openelm|paddleocr|pangu-embedded|phi3|phimoe|plamo|plamo2|plamo3|plm|qwen|"
                "qwen2|qwen2moe|qwen3|qwen35|qwen35moe|qwen3moe|qwen3next|qwen3tts|qwen3vl|qwen3vlmoe|qwen4exp|"
                "refact|rnd1|rwkv6|rwkv6qwen2|rwkv7|seed_oss|smallthinker|smollm3|spark2_5|step35|t5|t5encoder|"
                "talkie|xverse",
     .needed_by = "afmoe|apertus|arcee|arctic|baichuan|bailingmoe|bailingmoe2|bailingmoe3|bitnet|chameleon|chatglm|"
                  "cogvlm|deci|deepseek|deepseek2|deepseek2-ocr|deepseek32|deepseek4|dflash|dots1|dots3note|dream|"
                  "eagle3|ernie4_5|ernie4_5-moe|eurobert|exaone|exaone-moe|exaone4|falcon-h1|gemma|gemma-embedding|"
                  "gemma2|gemma3|gemma3n|gemma4|gemma4-assistant|glm-dsa|glm4|glm4moe|gpt-oss|granite|granite_swa|"
                  "granitehybrid|granitemoe|graniteswitch|grok|grovemoe|hrm_text|hunyuan-dense|hunyuan-moe|"
                  "hunyuan_vl|hy_v3|hy_v4|internlm2|jamba|kimi-k3|kimi-linear|laguna|lfm2|lfm2moe|llada|llada-moe|"
                  "llama|llama-embed|llama4|maincoder|mamba|mamba2|maple|mellum|mimo2|minicpm|minicpm3|minimax-01|"
                  "minimax-m2|minimax-m3|mistral3|mistral4|muse-glimmer|nanbeige|neo-bert|olmo2|olmoe|openelm|"
                  "paddleocr|pangu-embedded|phi3|phimoe|plamo|plamo2|plamo3|plm|qwen|qwen2|qwen2moe|qwen3|qwen35|"
                  "qwen35moe|qwen3moe|qwen3next|qwen3tts|qwen3vl|qwen3vlmoe|qwen4exp|refact|rnd1|seed_oss|"
                  "smallthinker|smollm3|spark2_5|step35|t5|t5encoder|talkie|xverse",
     .absent = "0, or the other epsilon", .means = "epsilon of RMSNorm", .least = 0},
    {.name = "*.attention.group_norm_epsilon", .types = "f32", .readers = "wavtokenizer-dec",
     .needed_by = "wavtokenizer-dec", .absent = "no such norm", .means = "epsilon of GroupNorm",
     .least = 0},
    {.name = "*.attention.group_norm_groups", .types = "u32", .readers = "wavtokenizer-dec",
     .needed_by = "wavtokenizer-dec", .absent = "no such norm", .means = "groups of GroupNorm", .least = 1},
    {.name = "*.attention.causal", .types = "bool", .readers = "*",
     .absent = "true, unless fixed by the architecture",
     .means = "causal attention: a token sees only what precedes it"},
    {.name = "*.attention.q_lora_rank", .types = "u32",
     .readers = "bailingmoe3|deepseek2|deepseek32|deepseek4|dflash|dots3note|glm-dsa|hy_v4|kimi-k3|minicpm3|mistral4",
     .needed_by = "deepseek2|deepseek32|deepseek4|dflash|dots3note|glm-dsa|hy_v4|minicpm3|mistral4",
     .absent = "0: queries are not factored", .means = "rank of the low-rank query projection", .least = 0},
    {.name = "*.attention.kv_lora_rank", .types = "u32",
     .readers = "bailingmoe3|deepseek2|deepseek32|dots3note|glm-dsa|hy_v4|kimi-k3|kimi-linear|minicpm3|mistral4|plm",
     .needed_by = "bailingmoe3|deepseek2|deepseek32|dots3note|glm-dsa|hy_v4|kimi-k3|kimi-linear|minicpm3|mistral4|"
                  "plm", .absent = "no latent attention",
     .means = "width of the latent vector for keys and values", .least = 1},
    {.name = "*.attention.kv_lora_rank_swa", .types = "u32", .readers = "dots3note", .needed_by = "dots3note",
     .absent = "no latent attention", .means = "the same in sliding-window layers", .least = 1},
    {.name = "*.attention.decay_lora_rank", .types = "u32", .readers = "arwkv7|rwkv7", .needed_by = "arwkv7|rwkv7",
     .absent = "no such rank", .means = "rank of the projections of decay rates", .least = 0},
    {.name = "*.attention.iclr_lora_rank", .types = "u32", .readers = "arwkv7|rwkv7", .needed_by = "arwkv7|rwkv7",
     .absent = "no such rank", .means = "rank of the projections of the in-context learning rate", .least = 0},
    {.name = "*.attention.value_residual_mix_lora_rank", .types = "u32", .readers = "arwkv7|rwkv7",
     .needed_by = "arwkv7|rwkv7", .absent = "no such rank",
     .means = "rank of the projections that mix in the first layer's values",
     .least = 0},
    {.name = "*.attention.gate_lora_rank", .types = "u32", .readers = "arwkv7|rwkv7", .absent = "0: no gate",
     .means = "rank of the projections of the gate", .least = 0},
    {.name = "*.attention.relative_buckets_count", .types = "u32", .readers = "t5|t5encoder",
     .needed_by = "t5|t5encoder", .absent = "no bias by distance", .means = "buckets of distances that have a bias",
     .least = 1},
    {.name = "*.attention.sliding_window", .types = "u32",
     .readers = "afmoe|cohere2|cohere2moe|deepseek4|dflash|dots3note|exaone-moe|exaone4|gemma-embedding|gemma2|"
                "gemma3|gemma3n|gemma4|gemma4-assistant|gpt-oss|granite_swa|laguna|lfm2|llama4|maple|mellum|mimo2|"
                "modern-bert|muse-glimmer|olmo2|phi3|plamo3|smallthinker|spark2_5|step35",
     .needed_by = "cohere2|cohere2moe|deepseek4|dflash|dots3note|exaone-moe|gemma-embedding|gemma3n|gemma4|"
                  "gemma4-assistant|gpt-oss|granite_swa|maple|mimo2|muse-glimmer|spark2_5|step35",
     .absent = "no sliding window, or the architecture's fixed one",
     .means = "size of the sliding window in tokens", .least = 0},
    {.name = "*.attention.sliding_window_pattern", .types = "u32|bool[]|u32[]|i32[]", .length = "layers",
     .readers = "afmoe|cohere2|cohere2moe|dflash|dots3note|exaone-moe|exaone4|gemma-embedding|gemma2|gemma3|gemma3n|"
                "gemma4|gemma4-assistant|gpt-oss|granite_swa|laguna|llama4|maple|mellum|mimo2|modern-bert|"
                "muse-glimmer|olmo2|plamo3|smallthinker|spark2_5|step35",
     .needed_by = "dflash|dots3note|gemma4|gemma4-assistant|granite_swa|maple|mimo2|spark2_5|step35",
     .absent = "the architecture's fixed period",
     .means = "which layers have a sliding window: a period, or a flag per layer", .least = 0},
    {.name = "*.attention.rope_pattern", .types = "bool[]|u32[]|i32[]", .length = "layers", .readers = "granite_swa",
     .absent = "all layers use RoPE", .means = "which layers use RoPE", .least = 0},
    {.name = "*.attention.scale", .types = "f32",
     .readers = "dflash|granite|granite_swa|granitehybrid|granitemoe|graniteswitch", .needed_by = "granitehybrid",
     .absent = "1 / sqrt(head size)", .means = "factor of the attention scores"},
    {.name = "*.attention.output_scale", .types = "f32", .readers = "grok", .absent = "1: not scaled",
     .means = "factor of the attention output"},
    {.name = "*.attention.value_scale", .types = "f32", .readers = "mimo2", .absent = "1: not scaled",
     .means = "factor of values"},
    {.name = "*.attention.temperature_length", .types = "u32", .readers = "deepseek2|grok|mistral4",
     .absent = "0: not scaled by position", .means = "position after which queries are scaled", .least = 0},
    {.name = "*.attention.temperature_scale", .types = "f32", .readers = "deepseek2|mistral3|mistral4",
     .absent = "0: not scaled by position", .means = "strength of the scaling of queries by position"},
    {.name = "*.attention.key_length_mla", .types = "u32",
     .readers = "bailingmoe3|deepseek2|deepseek32|dots3note|glm-dsa|hy_v4|kimi-k3|kimi-linear|mistral4",
     .needed_by = "bailingmoe3|dots3note|hy_v4|kimi-k3|kimi-linear", .absent = "0: keys are not latent",
     .means = "size of a key head rebuilt from the latent vector", .least = 0},
    {.name = "*.attention.value_length_mla", .types = "u32",
     .readers = "bailingmoe3|deepseek2|deepseek32|dots3note|glm-dsa|hy_v4|kimi-k3|kimi-linear|mistral4",
     .needed_by = "bailingmoe3|dots3note|hy_v4|kimi-k3|kimi-linear", .absent = "0: values are not latent",
     .means = "size of a value head rebuilt from the latent vector", .least = 0},
    {.name = "*.attention.key_length_swa", .types = "u32", .readers = "*", .needed_by = "gemma4|gemma4-assistant",
     .absent = "key_length", .means = "size of a key head in sliding-window layers", .least = 1},
    {.name = "*.attention.value_length_swa", .types = "u32", .readers = "*", .needed_by = "gemma4|gemma4-assistant",
     .absent = "value_length", .means = "size of a value head in sliding-window layers", .least = 1},
    {.name = "*.attention.key_length_mla_swa", .types = "u32", .readers = "dots3note", .needed_by = "dots3note",
     .absent = "as in the other layers", .means = "size of a rebuilt key head in sliding-window layers",
     .least = 1},
    {.name = "*.attention.value_length_mla_swa", .types = "u32", .readers = "dots3note", .needed_by = "dots3note",
     .absent = "as in the other layers", .means = "size of a rebuilt value head in sliding-window layers",
     .least = 1},
    {.name = "*.attention.indexer.head_count", .types = "u32",
     .readers = "deepseek32|deepseek4|dots3note|glm-dsa|hy_v4|minimax-m3|qwen4exp",
     .needed_by = "deepseek32|deepseek4|dots3note|glm-dsa|minimax-m3|qwen4exp", .absent = "0: no indexer",
     .means = "heads of the indexer, which selects the tokens to attend to", .least = 0},
    {.name = "*.attention.indexer.key_length", .types = "u32",
     .readers = "deepseek32|deepseek4|dots3note|glm-dsa|hy_v4|minimax-m3|qwen4exp",
     .needed_by = "deepseek32|deepseek4|dots3note|glm-dsa|minimax-m3|qwen4exp", .absent = "0: no indexer",
     .means = "head size of the indexer", .least = 0},
    {.name = "*.attention.indexer.top_k", .types = "u32",
     .readers = "deepseek32|deepseek4|dots3note|glm-dsa|hy_v4|minimax-m3|qwen4exp",
     .needed_by = "deepseek32|deepseek4|dots3note|glm-dsa|minimax-m3|qwen4exp", .absent = "0: no indexer",
     .means = "tokens that the indexer selects", .least = 0},
    {.name = "*.attention.indexer.block_size", .types = "u32", .readers = "minimax-m3", .needed_by = "minimax-m3",
     .absent = "tokens are selected one by one", .means = "block size in which the indexer selects tokens", .least = 1},
    {.name = "*.attention.indexer.local_blocks", .types = "u32", .readers = "minimax-m3", .needed_by = "minimax-m3",
     .absent = "no block is always selected", .means = "number of last blocks that are always selected", .least = 0},
    {.name = "*.attention.indexer.types", .types = "bool[]|u32[]|i32[]", .length = "layers",
     .readers = "dots3note|glm-dsa|hy_v4", .needed_by = "dots3note",
     .absent = "every layer has its own indexer, or as fixed by the architecture",
     .means = "which layers have their own indexer", .least = 0},
    {.name = "*.attention.output_group_count", .types = "u32", .readers = "deepseek4|dflash",
     .needed_by = "deepseek4|dflash", .absent = "a single matrix",
     .means = "groups of heads in the output projection", .least = 1},
    {.name = "*.attention.output_lora_rank", .types = "u32", .readers = "deepseek4|dflash",
     .needed_by = "deepseek4|dflash", .absent = "a single matrix", .means = "rank of the low-rank output projection",
     .least = 1},
    {.name = "*.attention.compress_rope_freq_base", .types = "f32", .readers = "deepseek4", .needed_by = "deepseek4",
     .absent = "the other base", .means = "RoPE base for compressed tokens", .least = 0},
    {.name = "*.attention.compress_ratios", .types = "u32[]|i32[]", .length = "layers",
     .readers = "deepseek4|dflash|qwen4exp", .needed_by = "deepseek4", .absent = "no compression",
     .means = "per layer: number of tokens compressed into one in the cache", .least = 0},
    {.name = "*.attention.shared_kv_layers", .types = "u32", .readers = "gemma4|gemma4-assistant",
     .absent = "0: every layer has its own",
     .means = "number of last layers that reuse keys and values of earlier layers",
     .least = 0, .most = 512},
    {.name = "*.attention.recurrent_layers", .types = "u32[]|bool[]|i32[]", .length = "layers",
     .readers = "minimax-01|qwen35|qwen35moe|qwen3next|qwen4exp", .absent = "all but one of full_attention_interval",
     .means = "which layers are recurrent", .least = 0},
    {.name = "*.rope.dimension_count", .types = "u32", .readers = "*", .absent = "the whole head",
     .means = "rotated elements per head", .least = 0},
    {.name = "*.rope.dimension_count_swa", .types = "u32", .readers = "*", .absent = "dimension_count",
     .means = "the same in sliding-window layers", .least = 0},
    {.name = "*.rope.dimension_sections", .types = "u32[]|i32[]", .length = "4",
     .readers = "deepseek32|dflash|ernie4_5|ernie4_5-moe|glm-dsa|glm4|glm4moe|hunyuan-dense|hunyuan_vl|paddleocr|"
                "qwen2vl|qwen35|qwen35moe|qwen3tts|qwen3vl|qwen3vlmoe|qwen4exp",
     .needed_by = "qwen2vl|qwen35|qwen35moe|qwen3tts|qwen3vl|qwen3vlmoe|qwen4exp",
     .absent = "a single position in the text",
     .means = "M-RoPE: number of pairs rotated by time, height, width and a fourth position", .least = 0},
    {.name = "*.rope.freq_base", .types = "f32", .readers = "*", .absent = "10000",
     .means = "RoPE base", .least = 0},
    {.name = "*.rope.freq_base_swa", .types = "f32",
     .readers = "afmoe|cohere2|cohere2moe|dots3note|exaone-moe|exaone4|gemma-embedding|gemma2|gemma3|gemma3n|gemma4|"
                "gemma4-assistant|gpt-oss|laguna|llama4|maple|mellum|mimo2|modern-bert|muse-glimmer|olmo2|plamo3|"
                "smallthinker|spark2_5|step35", .needed_by = "dots3note",
     .absent = "freq_base, or 10000 if fixed by the architecture",
     .means = "the same in sliding-window layers", .least = 0},
    {.name = "*.rope.scale_linear", .types = "f32", .readers = "*", .absent = "1: not extended",
     .means = "factor of the context extension; an old name of scaling.factor", .least = 0},
    {.name = "*.rope.scaling.type", .types = "string", .readers = "*", .absent = "linear",
     .means = "method of the context extension: none, linear, yarn, longrope"},
    {.name = "*.rope.scaling.factor", .types = "f32", .readers = "*", .absent = "1: not extended",
     .means = "factor of the context extension", .least = 0},
    {.name = "*.rope.scaling.alpha", .types = "f32", .readers = "*", .absent = "0: the stated base is used",
     .means = "alpha from which the base is recomputed (NTK)", .least = 0},
    {.name = "*.rope.scaling.attn_factor", .types = "f32", .readers = "*", .absent = "1, or by the type of scaling",
     .means = "attention factor of the context extension"},
    {.name = "*.rope.scaling.original_context_length", .types = "u32", .readers = "*", .absent = "context_length",
     .means = "context length before the extension", .least = 1},
    {.name = "*.rope.scaling.finetuned", .types = "bool", .readers = "*", .absent = "false",
     .means = "true if the model was trained further after the extension"},
    {.name = "*.rope.scaling.yarn_log_multiplier", .types = "f32",
     .readers = "deepseek2|deepseek32|mistral3|mistral4", .needed_by = "deepseek32", .absent = "0: not scaled",
     .means = "YaRN: multiplier of log(factor) in the attention factor"},
    {.name = "*.rope.scaling.yarn_ext_factor", .types = "f32", .readers = "grok", .absent = "1 with YaRN, else 0",
     .means = "YaRN: weight of the extrapolated frequencies"},
    {.name = "*.rope.scaling.yarn_attn_factor", .types = "f32", .readers = "grok", .absent = "1",
     .means = "YaRN: attention factor"},
    {.name = "*.rope.scaling.yarn_beta_fast", .types = "f32", .readers = "grok|mistral3", .absent = "32",
     .means = "YaRN: number of rotations above which a frequency is unchanged"},
    {.name = "*.rope.scaling.yarn_beta_slow", .types = "f32", .readers = "grok|mistral3", .absent = "1",
     .means = "YaRN: number of rotations below which a frequency is scaled fully"},
};
// clang-format on

}  // namespace

std::span<const KeyFacts> attention_keys() {
  return rows_of_attention;
}

}  // namespace modelutils::arch
