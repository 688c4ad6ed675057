// Facts about the keys of recurrent states, speech, drafts and parts after the layers, one row per key; key_facts.h
// explains the members.
#include "arch/key_facts.h"

namespace modelutils::arch {

namespace {

// clang-format off
constexpr KeyFacts rows_of_parts[] = {
    {.name = "*.ssm.conv_kernel", .types = "u32",
     .readers = "bailingmoe3|falcon-h1|granitehybrid|jamba|kimi-k3|kimi-linear|mamba|mamba2|nemotron_h|"
                "nemotron_h_moe|plamo2|qwen35|qwen35moe|qwen3next|qwen4exp",
     .needed_by = "bailingmoe3|falcon-h1|granitehybrid|jamba|kimi-k3|kimi-linear|mamba|mamba2|nemotron_h|"
                  "nemotron_h_moe|plamo2|qwen35|qwen35moe|qwen3next|qwen4exp", .absent = "no recurrent layers",
     .means = "width of the convolution before the state, in tokens", .least = 1},
    {.name = "*.ssm.inner_size", .types = "u32",
     .readers = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                "qwen3next|qwen4exp",
     .needed_by = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                  "qwen3next|qwen4exp", .absent = "no recurrent layers",
     .means = "inner width of the recurrent part", .least = 1},
    {.name = "*.ssm.state_size", .types = "u32",
     .readers = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                "qwen3next|qwen4exp",
     .needed_by = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                  "qwen3next|qwen4exp", .absent = "no recurrent layers", .means = "state size per channel",
     .least = 1},
    {.name = "*.ssm.time_step_rank", .types = "u32",
     .readers = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                "qwen3next|qwen4exp",
     .needed_by = "falcon-h1|granitehybrid|jamba|mamba|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|"
                  "qwen3next|qwen4exp", .absent = "no recurrent layers",
     .means = "rank of the time step, or number of heads of the recurrent part", .least = 1},
    {.name = "*.ssm.group_count", .types = "u32",
     .readers = "falcon-h1|granitehybrid|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|qwen3next|qwen4exp",
     .needed_by = "falcon-h1|granitehybrid|mamba2|nemotron_h|nemotron_h_moe|plamo2|qwen35|qwen35moe|qwen3next|"
                  "qwen4exp", .absent = "one group", .means = "number of head groups that share input matrices",
     .least = 0},
    {.name = "*.ssm.dt_b_c_rms", .types = "bool", .readers = "mamba", .absent = "false",
     .means = "time step and input matrices are normalised"},
    {.name = "*.kda.head_dim", .types = "u32", .readers = "bailingmoe3|kimi-k3|kimi-linear",
     .needed_by = "bailingmoe3|kimi-k3|kimi-linear", .absent = "no recurrent layers",
     .means = "head size of the delta net", .least = 1},
    {.name = "*.kda.safe_gate", .types = "bool", .readers = "bailingmoe3", .absent = "true",
     .means = "the delta net's gates have a lower bound"},
    {.name = "*.kda.gate_lower_bound", .types = "f32", .readers = "bailingmoe3|kimi-k3", .needed_by = "bailingmoe3",
     .absent = "not bounded", .means = "the lower bound"},
    {.name = "*.wkv.head_size", .types = "u32", .readers = "arwkv7|rwkv6|rwkv6qwen2|rwkv7",
     .needed_by = "arwkv7|rwkv6|rwkv6qwen2|rwkv7", .absent = "no recurrent layers",
     .means = "head size of the recurrent part", .least = 1},
    {.name = "*.posnet.embedding_length", .types = "u32", .readers = "wavtokenizer-dec",
     .needed_by = "wavtokenizer-dec", .absent = "no such part",
     .means = "width of the network between tokens and layers", .least = 1},
    {.name = "*.posnet.block_count", .types = "u32", .readers = "wavtokenizer-dec", .needed_by = "wavtokenizer-dec",
     .absent = "no such part", .means = "number of its layers", .least = 1, .most = 512},
    {.name = "*.convnext.embedding_length", .types = "u32", .readers = "wavtokenizer-dec",
     .needed_by = "wavtokenizer-dec", .absent = "no such part",
     .means = "width of the convolutional network that generates speech", .least = 1},
    {.name = "*.convnext.block_count", .types = "u32", .readers = "wavtokenizer-dec", .needed_by = "wavtokenizer-dec",
     .absent = "no such part", .means = "number of its layers", .least = 1, .most = 512},
    {.name = "*.classifier.output_labels", .types = "string[]", .length = "any", .readers = "*",
     .absent = "not a classifier", .means = "names of a classifier's classes"},
    {.name = "*.target_layers", .types = "u32[]|i32[]", .length = "any", .readers = "dflash|eagle3",
     .absent = "the runtime chooses layers near the start, the middle and the end",
     .means = "layers of the target model whose output the draft reads", .least = 0},
    {.name = "*.target_hidden_size", .types = "u32", .readers = "eagle3", .needed_by = "eagle3",
     .absent = "the draft's own width", .means = "width of the target model's residual stream", .least = 1},
    {.name = "*.norm_before_residual", .types = "bool", .readers = "eagle3", .absent = "false",
     .means = "the residual stream starts after the norm"},
    {.name = "*.norm_before_fc", .types = "bool", .readers = "eagle3", .absent = "false",
     .means = "the target's output is normalised before it is joined"},
    {.name = "*.block_size", .types = "u32", .readers = "dflash", .absent = "16",
     .means = "number of tokens proposed at once by a draft", .least = 1},
    {.name = "*.conv_kernel_size", .types = "u32", .readers = "dflash", .absent = "0: no convolution",
     .means = "width of the convolution over proposals, in tokens", .least = 0},
    {.name = "*.conv_group_size", .types = "u32", .readers = "dflash", .absent = "0: no convolution",
     .means = "channels per group of the convolution", .least = 0},
    {.name = "*.selector_rank", .types = "u32", .readers = "dflash", .absent = "0: no selector",
     .means = "rank of the selector between proposals", .least = 0},
    {.name = "*.selector_top_k", .types = "u32", .readers = "dflash", .absent = "0: no selector",
     .means = "number of proposals per position", .least = 0},
    {.name = "*.shortconv.l_cache", .types = "u32", .readers = "lfm2|lfm2moe", .needed_by = "lfm2|lfm2moe",
     .absent = "no convolution", .means = "width of the short convolution, in tokens", .least = 1},
    {.name = "*.dense_2_feat_in", .types = "u32", .readers = "gemma-embedding", .absent = "no such layer",
     .means = "inputs of the first dense layer after pooling", .least = 1},
    {.name = "*.dense_2_feat_out", .types = "u32", .readers = "gemma-embedding", .absent = "no such layer",
     .means = "its outputs", .least = 1},
    {.name = "*.dense_3_feat_in", .types = "u32", .readers = "gemma-embedding", .absent = "no such layer",
     .means = "inputs of the second dense layer", .least = 1},
    {.name = "*.dense_3_feat_out", .types = "u32", .readers = "gemma-embedding", .absent = "no such layer",
     .means = "its outputs", .least = 1},
    {.name = "xielu.alpha_n", .types = "f32|f32[]", .length = "layers", .readers = "apertus", .needed_by = "apertus",
     .absent = "another activation", .means = "xIELU: slope for negative numbers"},
    {.name = "xielu.alpha_p", .types = "f32|f32[]", .length = "layers", .readers = "apertus", .needed_by = "apertus",
     .absent = "another activation", .means = "xIELU: curvature for positive numbers"},
    {.name = "xielu.beta", .types = "f32|f32[]", .length = "layers", .readers = "apertus", .needed_by = "apertus",
     .absent = "another activation", .means = "xIELU: linear part"},
    {.name = "xielu.eps", .types = "f32|f32[]", .length = "layers", .readers = "apertus", .needed_by = "apertus",
     .absent = "another activation", .means = "xIELU: upper limit of the exponential's argument"},
    {.name = "*.activation_sparsity_scale", .types = "f32[]", .length = "layers",
     .absent = "unused: fixed by the architecture",
     .means = "threshold of sparse activations, in deviations above the mean (Gemma 3n)"},
    {.name = "*.altup.active_idx", .types = "u32", .absent = "unused: always the first stream",
     .means = "index of the computed stream (Gemma 3n)", .least = 0},
    {.name = "*.altup.num_inputs", .types = "u32", .absent = "unused: always four streams",
     .means = "number of parallel streams (Gemma 3n)", .least = 1},
    {.name = "*.vocab_size_per_layer_input", .types = "u32", .absent = "unused: given by the tensor's rows",
     .means = "rows of the per-layer embedding (Gemma 3n)", .least = 1},
    {.name = "*.has_confidence_head", .types = "bool", .absent = "unused: given by the tensor",
     .means = "the draft outputs its confidence"},
    {.name = "*.sample_from_anchor", .types = "bool", .absent = "unused",
     .means = "drafting starts at the last sampled token"},
};
// clang-format on

}  // namespace

std::span<const KeyFacts> parts_keys() {
  return rows_of_parts;
}

}  // namespace modelutils::arch
