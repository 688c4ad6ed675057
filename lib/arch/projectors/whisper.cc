// Audio towers of Whisper: Qwen2-Audio, Ultravox, Voxtral and Audio Flamingo 3; and those of the Omni models.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::whisper {

constexpr Key epsilon[] = {audio_epsilon("1e-5")};
constexpr Tensor linear_projector[] = {linear("mm.a.fc", "E,T", "linear")};
constexpr auto outside = joined(whisper_kernels, whisper_ends);
constexpr Fixed only_erf_gelu = {"audio_config.activation_function", gelu_names, Severity::error,
                                 "llama.cpp computes GELU in audio towers"};

// The settings of the towers' classes, and of the feature extractor that computes their input.
#define MU_EXTRACTOR                                                         \
  {"preprocessor_config.feature_extractor_type", "WhisperFeatureExtractor"}, \
      {"preprocessor_config.feature_size", "=Mb"}, {                         \
    "preprocessor_config.sampling_rate", "16000"                             \
  }
constexpr std::string_view whisper_fields =
    "audio_config.d_model|audio_config.encoder_layers|audio_config.encoder_attention_heads|audio_config.encoder_ffn_"
    "dim";
constexpr std::string_view usual_fields_of_audio =
    "audio_config.hidden_size|audio_config.num_hidden_layers|audio_config.num_attention_heads|"
    "audio_config.intermediate_size";
constexpr ConfigForm config_of(std::string_view fields, std::string_view model_type) {
  return {.fields = fields,
          .members = {MU_EXTRACTOR,
                      {"preprocessor_config.hop_length", "160"},
                      {"preprocessor_config.n_fft", "400"},
                      {"audio_config.max_source_positions", "=N"},
                      {"audio_config.scale_embedding", "false"}},
          .model_type = model_type,
          .hf_text_prefix = "language_model.model."};
}
static Status describe_qwen2a(ConfigWriter& out) {
  out.set("audio_config.model_type", "qwen2_audio_encoder");
  return {};
}
static Status describe_ultravox(ConfigWriter& out) {
  out.set("audio_config.model_type", "whisper");
  out.assume("projector_act", "swiglu");
  out.set("projector_ln_mid", true);
  return {};
}
static Status describe_voxtral(ConfigWriter& out) {
  out.set("audio_config.model_type", "voxtral_encoder");
  out.assume("projector_hidden_act", "gelu");
  return {};
}
static Status describe_flamingo(ConfigWriter& out) {
  out.set("audio_config.model_type", "audioflamingo3_encoder");
  out.assume("projector_hidden_act", "gelu");
  out.assume("projector_bias", true);
  return {};
}
constexpr ConfigForm with(ConfigForm form, Status (*describe)(ConfigWriter&)) {
  form.describe = describe;
  return form;
}

constexpr ProjectorFamily qwen2a = {
    .rows = {.name = "qwen2a",
             .gguf = "clip",
             .classes = "Qwen2AudioForConditionalGeneration",
             .model_types = {},
             .keys = {audio_keys, epsilon},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_erf_gelu},
             .relations = {whole_audio_heads},
             .config = with(config_of(whisper_fields, "qwen2_audio"), describe_qwen2a)},
    .encoder = "audio",
    .roots = {"audio_tower.|model.audio_tower.", "multi_modal_projector.|model.multi_modal_projector."},
    .groups = {whisper_layers(), {.rows = outside}, {.rows = linear_projector, .root = 1}},
    .token_members = "audio_token_index=<|AUDIO|>",
};
MU_PROJECTOR(qwen2a);

constexpr Key stacked_by_config[] = {
    size_key("audio.projector.stack_factor", "stack_factor", "S", "8"),
};
constexpr Tensor gated_projector[] = {
    norm("mm.a.norm_pre", "E*S", "ln_pre", Need::absent),
    linear("mm.a.mlp.1", "E*S,2*A", "linear_1", Need::absent),
    norm("mm.a.norm_mid", "A", "ln_mid", Need::absent),
    linear("mm.a.mlp.2", "A,T", "linear_2", Need::absent),
};
constexpr ProjectorFamily ultravox = [] {
  ProjectorFamily family = qwen2a;
  family.rows.name = "ultravox";
  family.rows.classes = "UltravoxModel";
  family.rows.keys = {audio_keys, epsilon, stacked_by_config};
  family.rows.config = with(config_of(whisper_fields, "ultravox"), describe_ultravox);
  family.token_members = {};
  family.groups = {whisper_layers(), {.rows = outside}, {.rows = gated_projector, .root = 1}};
  return family;
}();
MU_PROJECTOR(ultravox);

constexpr Key stacked_by_four[] = {
    {.name = "audio.projector.stack_factor", .symbol = "S", .fallback = "4", .missing = Missing::assume},
};
constexpr Tensor stacked_projector[] = {
    linear("mm.a.mlp.1", "E*S,A", "linear_1", Need::absent),
    linear("mm.a.mlp.2", "A,T", "linear_2", Need::absent),
};
constexpr ProjectorFamily voxtral = [] {
  ProjectorFamily family = qwen2a;
  family.rows.name = "voxtral";
  family.rows.classes = "VoxtralForConditionalGeneration";
  family.rows.keys = {audio_keys, epsilon, stacked_by_four};
  family.rows.config = with(config_of(usual_fields_of_audio, "voxtral"), describe_voxtral);
  family.token_members = "audio_token_id=[AUDIO]";
  family.groups = {whisper_layers(), {.rows = outside}, {.rows = stacked_projector, .root = 1}};
  return family;
}();
MU_PROJECTOR(voxtral);

constexpr auto f32_outside = joined(all_f32(whisper_kernels), whisper_ends);
constexpr Tensor two_linear[] = {linear("mm.a.mlp.1", "E,A", "linear_1"), linear("mm.a.mlp.2", "A,T", "linear_2")};
constexpr ProjectorFamily musicflamingo = [] {
  ProjectorFamily family = qwen2a;
  family.rows.name = "musicflamingo";
  family.rows.classes = "AudioFlamingo3ForConditionalGeneration|MusicFlamingoForConditionalGeneration";
  family.rows.config = with(config_of(usual_fields_of_audio, "audioflamingo3"), describe_flamingo);
  family.token_members = "audio_token_id=<sound>";
  family.groups = {whisper_layers(), {.rows = f32_outside}, {.rows = two_linear, .root = 1}};
  return family;
}();
MU_PROJECTOR(musicflamingo);

constexpr std::array<Tensor, 3> omni_ends = {{
    table("a.position_embd", "E,1500", "=sinusoids"),
    norm("a.post_ln", "E", "ln_post"),
    linear("mm.a.fc", "E,T", "proj"),
}};
constexpr auto omni_outside = joined(whisper_kernels, omni_ends);
constexpr ProjectorFamily qwen2_5omni = [] {
  ProjectorFamily family = qwen2a;
  family.rows.classes =
      "Qwen2_5OmniModel|Qwen2_5OmniForConditionalGeneration|Qwen2_5OmniThinkerForConditionalGeneration";
  family.roots = {"thinker.audio_tower.|audio_tower."};
  family.groups = {whisper_layers(), {.rows = omni_outside}};
  family.rows.config = {.fields = whisper_fields,
                        .members = {MU_EXTRACTOR,
                                    {"audio_config.model_type", "qwen2_5_omni_audio_encoder"},
                                    {"audio_config.max_source_positions", "1500"},
                                    {"audio_config.n_window", "100"},
                                    {"audio_config.output_dim", "=T"}}};
  family.token_members = {};
  family.left_out = "audio_bos_eos_token.";
  family.joint_type = "qwen2.5o";
  return family;
}();
MU_PROJECTOR(qwen2_5omni);

constexpr Tensor omni3_outside[] = {
    kernel("a.conv2d.1", "3,3,1,Ca", "conv2d1", "[mlx] Ca,3,3,1 | Ca,1,3,3"),
    table("@a.conv2d.1.bias", "1,1,Ca", "conv2d1.bias"),
    kernel("a.conv2d.2", "3,3,Ca,Ca", "[mlx] conv2d2{{o:Ca y:3 x:3 c:Ca -> o c y x}} | conv2d2",
           "[mlx] Ca,3,3,Ca | Ca,Ca,3,3"),
    table("@a.conv2d.2.bias", "1,1,Ca", "conv2d2.bias"),
    kernel("a.conv2d.3", "3,3,Ca,Ca", "[mlx] conv2d3{{o:Ca y:3 x:3 c:Ca -> o c y x}} | conv2d3",
           "[mlx] Ca,3,3,Ca | Ca,Ca,3,3"),
    table("@a.conv2d.3.bias", "1,1,Ca", "conv2d3.bias"),
    {.name = "a.conv_out", .ne = "Co,E", .source = "conv_out", .bias = Need::optional, .plain = plain_kernel},
    table("a.position_embd", "E,1500", "=sinusoids"),
    norm("a.post_ln", "E", "ln_post"),
    linear("mm.a.mlp.1", "E,A", "proj1"),
    linear("mm.a.mlp.2", "A,T", "proj2"),
};
constexpr ProjectorFamily qwen3a = [] {
  ProjectorFamily family = qwen2a;
  family.rows.name = "qwen3a";
  family.rows.classes = "Qwen3OmniMoeForConditionalGeneration|Qwen3OmniMoeThinkerForConditionalGeneration";
  family.roots = {"thinker.audio_tower.|audio_tower."};
  family.groups = {whisper_layers(), {.rows = omni3_outside}};
  family.rows.config = {.fields = whisper_fields,
                        .members = {MU_EXTRACTOR,
                                    {"audio_config.model_type", "qwen3_omni_moe_audio_encoder"},
                                    {"audio_config.max_source_positions", "1500"},
                                    {"audio_config.n_window", "50"},
                                    {"audio_config.n_window_infer", "800"},
                                    {"audio_config.downsample_hidden_size", "=Ca"},
                                    {"audio_config.output_dim", "=T"}}};
  family.token_members = {};
  return family;
}();
MU_PROJECTOR(qwen3a);
#undef MU_EXTRACTOR

}  // namespace modelutils::arch::towers::whisper
