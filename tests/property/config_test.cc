// Compares a model's config.json with the config.json rebuilt from the keys of the GGUF that mlx2gguf makes: both must
// agree on everything that a runtime of the directory reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "convert/to_directory/config_from_keys.h"
#include "formats/hf/config.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

namespace fs = std::filesystem;

// Members that a GGUF cannot express, or expresses differently.
const std::set<std::string, std::less<>> passed_over = {
    // members about training, the writing program or the cache
    "attention_dropout", "attn_dropout_prob", "attn_implementation", "attn_pdrop", "aux_loss_alpha", "embd_pdrop",
    "embed_dropout", "embedding_dropout", "emb_dropout_prob", "emb_pdrop", "expert_dropout", "fp32", "fuse_norm",
    "fused_add_norm", "hidden_dropout", "initializer_range", "input_jitter_noise", "output_dropout",
    "output_router_logits", "pretraining_tp", "rescale_prenorm_residual", "resid_pdrop", "residual_dropout",
    "residual_in_fp32", "router_aux_loss_coef", "router_jitter_noise", "summary_activation", "tokenizer_class",
    "transformers_version", "use_cache", "use_grouped_mm", "use_mamba_kernels", "num_logits_to_keep",
    "cache_implementation", "for_llm_compressor", "ep_size", "mamba_ssm_dtype", "mamba_chunk_size", "chunk_size",
    "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "scale_attn_weights", "use_dynamic_ntk",
    "use_logn_attn", "seq_length", "block_mlp_init_scale", "block_out_init_scale",
    // written by the tool, or about image components
    "torch_dtype", "dtype", "quantization", "quantization_config", "architectures", "vision_feature_layer",
    "spatial_merge_size", "projector_hidden_act", "multimodal_projector_bias", "image_token_id", "image_token_index",
    "video_token_id", "vision_start_token_id", "vision_end_token_id", "boi_token_index", "eoi_token_index",
    // more end-of-turn tokens than config.json had; layers for multi-token prediction are dropped
    "eos_token_id", "num_nextn_predict_layers", "num_mtp_modules", "use_mtp", "mtp_transformer_layers",
    "mtp_num_hidden_layers",
    // synonyms of other members, and settings that no runtime reads
    "attention_head_dim", "attn_type_list", "bias_for_layer_norm", "block_norm_eps", "block_use_swiglu", "conv_dim",
    "d_inner", "expand", "experts_per_token", "hidden_ratio", "initial_context_length", "layer_switch",
    "max_window_layers", "mlp_expansion_factor", "moe_capacity", "moe_gate", "multi_gate", "n_layer",
    "norm_before_gate", "num_expert_groups", "num_heads", "num_limited_groups", "order_of_interleaved_layers",
    "qkv_multipliers", "rms_norm", "rope_max_length", "time_step_floor", "time_step_max", "time_step_min",
    "time_step_rank", "use_embedding_sharing", "use_gated_activation", "use_mrope", "use_parallel_block",
    "use_parallel_embedding", "use_pos_enc", "use_rmsnorm", "use_sliding_window", "moe_use_aux_free"};

// Expected differences of single cases, with the reason.
const std::map<std::string, std::set<std::string, std::less<>>, std::less<>> differs = {
    // The multipliers are applied to the tensors.
    {"falcon_h1",
     {"attention_in_multiplier", "attention_out_multiplier", "embedding_multiplier", "key_multiplier",
      "lm_head_multiplier", "mlp_multipliers", "ssm_in_multiplier", "ssm_multipliers", "ssm_out_multiplier"}},
    // Alpha is applied to the base.
    {"hunyuan", {"rope_scaling", "rope_theta", "mlp_bias", "moe_intermediate_size"}},
    // Dynamic scaling is lost; in a GGUF the architecture is llama, as for mistral.
    {"internlm3", {"rope_scaling", "model_type", "bias", "qkv_bias"}},
    {"mistral", {"model_type"}},
    {"mimo_4bit", {"model_type", "attention_bias"}},
    {"glm4_moe_lite", {"model_type", "partial_rotary_factor"}},
    // No context length is written for models without a limit.
    {"granitemoehybrid", {"max_position_embeddings"}},
    {"nemotron_h", {"max_position_embeddings", "rms_norm_eps"}},
    {"rwkv7", {"max_position_embeddings"}},
    // The width after adjustment.
    {"lfm2", {"block_auto_adjust_ff_dim", "block_ff_dim", "block_multiple_of"}},
    // Another name of the same function.
    {"gpt_bigcode", {"activation_function"}},
    // A window that is disabled, or that the runtime does not support.
    {"qwen2", {"sliding_window"}},
    {"starcoder2", {"sliding_window"}},
    {"plamo2", {"sliding_window"}},
    {"smollm3", {"layer_types"}},
    {"mimo_v2_flash", {"routed_scaling_factor"}},
    {"mamba_", {"d_model"}},  // mlx-lm's older name for hidden_size
    {"cohere2", {"position_embedding_type", "rotary_pct"}},
};

bool may_differ(std::string_view model, std::string_view name) {
  if (passed_over.contains(name)) return true;
  return std::any_of(differs.begin(), differs.end(),
                     [&](const auto& row) { return model.starts_with(row.first) && row.second.contains(name); });
}

bool equal(json::Element a, json::Element b);

bool equal_lists(const json::Array& a, const json::Array& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](json::Element x, json::Element y) { return equal(x, y); });
}

// Compares the members that `a` has; a config may lack others ("model_type": "").
bool equal_objects(const json::Object& a, const json::Object& b) {
  return std::all_of(a.begin(), a.end(), [&](const json::Member& member) {
    const auto other = b.find(member.key);
    std::string_view text;
    const bool is_loss = member.key.starts_with("moe_") && !other;
    return is_loss || (member.value.get(text) && !other) || (other && equal(member.value, *other));
  });
}

bool equal(json::Element a, json::Element b) {
  double x = 0, y = 0;
  if (a.get(x) && b.get(y)) return x == y || std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
  json::Array list, other_list;
  if (a.get(list) && b.get(other_list)) return equal_lists(list, other_list);
  json::Object object, other;
  if (a.get(object) && b.get(other)) return equal_objects(object, other);
  return a.text() == b.text();
}

bool is_rope(std::string_view name) {
  return name == "rope_scaling" || name == "rope_parameters" || name == "rope_theta" ||
         name == "rope_local_base_freq" || name == "partial_rotary_factor" || name == "swa_rope_theta" ||
         name == "rope_traditional";
}

bool near(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || std::abs(*a - *b) <= 1e-6 * std::max(std::abs(*a), std::abs(*b)));
}

// Compares normalised settings of the rotary embedding, from both generations of config.json.
std::string rope_difference(const hf::Config& a, const hf::Config& b) {
  if (a.rope.theta && !near(a.rope.theta, b.rope.theta)) return "rope_theta";
  if (a.rope.theta_local && !near(a.rope.theta_local, b.rope.theta_local)) return "rope_local_base_freq";
  if (a.partial_rotary_factor && !near(a.partial_rotary_factor, b.partial_rotary_factor))
    return "partial_rotary_factor";
  if (a.rope.scaling.has_value() != b.rope.scaling.has_value()) return "rope_scaling";
  if (!a.rope.scaling) return {};
  const hf::RopeScaling &x = *a.rope.scaling, &y = *b.rope.scaling;
  const auto kept = [](const std::optional<double>& before, const std::optional<double>& now) {
    return !before || near(before, now);
  };
  const bool is_equal = x.type == y.type && kept(x.factor, y.factor) && kept(x.low_freq_factor, y.low_freq_factor) &&
                        kept(x.high_freq_factor, y.high_freq_factor) &&
                        kept(x.original_max_position_embeddings, y.original_max_position_embeddings) &&
                        kept(x.beta_fast, y.beta_fast) && kept(x.beta_slow, y.beta_slow) && kept(x.mscale, y.mscale) &&
                        kept(x.mscale_all_dim, y.mscale_all_dim) && x.long_factor.size() == y.long_factor.size();
  return is_equal ? std::string() : "rope_scaling";
}

void compare(const std::string& model, const hf::Config& original, const hf::Config& found) {
  if (const std::string name = rope_difference(original, found); !name.empty() && !may_differ(model, name)) {
    ADD_FAILURE() << model << ": " << name;
  }
  const auto members = [&](json::Element object) {
    json::Object list;
    if (!object.get(list)) return;
    for (const json::Member& member : list) {
      if (is_rope(member.key) || member.value.is_null() || member.key == "text_config") continue;
      if (may_differ(model, member.key)) continue;
      if (member.key == "model_type") continue;
      const auto other = found.field(member.key);
      if (!other) {
        ADD_FAILURE() << model << ": " << member.key << " is missing";
      } else if (!equal(member.value, *other)) {
        ADD_FAILURE() << model << ": " << member.key << " is " << other->text() << " instead of "
                      << member.value.text();
      }
    }
  };
  members(original.document->root);
  if (original.overlay) members(*original.overlay);
  if (!may_differ(model, "model_type")) {
    EXPECT_EQ(original.model_type, found.model_type) << model;
  }
}

TEST(ConfigProperty, TheWayToAGgufAndBack) {
  const fs::path zoo = fs::path(test::shared_dir()) / "corpus" / "zoo";
  if (!fs::exists(zoo)) GTEST_SKIP() << test::skip_reason();
  const test::TempDir folder;
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(zoo)) {
    const std::string directory = (entry.path() / "model").string();
    if (!fs::exists(directory + "/config.json")) continue;
    const std::string name = entry.path().filename().string();
    const std::string file = folder.file("m.gguf");
    const auto made = test::run("mlx2gguf --quiet --force \"" + directory + "\" -o \"" + file + "\"");
    ASSERT_EQ(made.status, 0) << name << made.err;
    const auto set = gguf::open_set(file);
    ASSERT_TRUE(set) << name;
    const auto config = hf_config_from_keys(*set, {});
    ASSERT_TRUE(config) << name << ": " << config.error().where << ": " << config.error().message;
    const auto found = hf::parse_config(hf::config_text(config->config), "config.json");
    const auto original = hf::parse_config(test::read_file(directory + "/config.json"), "config.json");
    ASSERT_TRUE(found && original) << name;
    EXPECT_TRUE(found->findings.empty()) << name;
    compare(name, *original, *found);
    ++compared;
  }
  EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace modelutils
