#include "to_bump/config.h"

#include <fmt/core.h>

#include <cmath>

#include "arch/families.h"
#include "json/writer.h"

namespace modelutils {

namespace {

constexpr u64 longest_rope = 65536;  // rotated elements per head; published models have at most 256

void write_llama3(json::Writer& out, const Llama3Rope& rope) {
  const auto in_object = out.object();
  out.member("rope_type", "llama3");
  out.key("factor");
  out.decimal(static_cast<float>(rope.factor));
  out.key("low_freq_factor");
  out.decimal(static_cast<float>(rope.low_freq_factor));
  out.key("high_freq_factor");
  out.decimal(static_cast<float>(rope.high_freq_factor));
  out.key("original_max_position_embeddings");
  if (rope.original_context == std::floor(rope.original_context)) {
    out.number(static_cast<u64>(rope.original_context));
  } else {
    out.number(rope.original_context);
  }
}

void write_key_scaling(json::Writer& out, const arch::Facts& stated, const RopeScalingKeys& scaling) {
  const auto in_object = out.object();
  out.member("rope_type", scaling.type);
  out.member("type", scaling.type);  // the older name, which some readers require
  const auto number = [&](std::string_view name, const arch::Fact& fact) {
    if (const std::optional<double> value = fact.real()) {
      out.key(name);
      out.decimal(static_cast<float>(*value));
    }
  };
  out.key("factor");
  out.decimal(static_cast<float>(scaling.factor.value_or(1)));
  if (const auto original = stated.rope_context.number()) {
    out.member("original_max_position_embeddings", *original);
  }
  number("attention_factor", stated.yarn_attention_factor);
  number("extrapolation_factor", stated.yarn_extrapolation_factor);
  number("beta_fast", stated.yarn_beta_fast);
  number("beta_slow", stated.yarn_beta_slow);
}

// Returns the common float type of all matrices; nullopt if there is none.
std::optional<std::string_view> torch_dtype_of(const BumpMapping& mapping) {
  std::optional<bump::Dtype> common;
  for (const BumpEntry& entry : mapping.entries) {
    if (!bump::role_info(entry.entry.role).has_source_type) continue;
    if (common && *common != entry.entry.dtype) return std::nullopt;
    common = entry.entry.dtype;
  }
  if (common == bump::Dtype::fp32) return "float32";
  if (common == bump::Dtype::fp16) return "float16";
  if (common == bump::Dtype::bf16) return "bfloat16";
  return std::nullopt;
}

}  // namespace

std::optional<HfIdentity> hf_identity_of(std::string_view architecture, bool has_experts) {
  const arch::Family* family = arch::find_gguf_family(architecture, has_experts);
  if (family == nullptr) family = arch::find_family({}, architecture);  // for names like "mistral"
  if (family == nullptr) return std::nullopt;
  return HfIdentity{arch::first_name(family->classes), arch::first_name(family->model_types), family->activation};
}

Result<std::optional<Llama3Rope>> read_rope_freqs(const gguf::SplitSet& set, const BumpMapping& mapping) {
  if (!mapping.rope_freqs) return std::nullopt;
  const LocatedTensor& tensor = *mapping.rope_freqs;
  const u64 rotated = mapping.hyper.rope_dimensions;
  if (tensor.type != TensorType::F32 || rotated % 2 != 0 || rotated > longest_rope ||
      tensor.ne != std::vector<u64>{rotated / 2}) {
    return std::nullopt;
  }
  std::vector<float> freqs(static_cast<std::size_t>(rotated / 2));
  MU_TRY(set.files[tensor.file].source->read_exact(tensor.offset, std::as_writable_bytes(std::span(freqs))));
  return find_llama3_rope(static_cast<double>(mapping.hyper.rope_theta), freqs);
}

void check_bump_config(const BumpMapping& mapping, Refusals& refusals) {
  const BumpHyperParameters& hyper = mapping.hyper;
  if (!hf_identity_of(hyper.stated.architecture, mapping.has_experts)) {
    refusals.add("gguf2bump-architecture", "key", "general.architecture",
                 fmt::format("is '{}', which has no name in config.json; --no-config writes only the weights",
                             hyper.stated.architecture));
  }
  if (!hyper.rms_eps || !std::isfinite(*hyper.rms_eps)) {
    refusals.add("gguf2bump-key", "key", hyper.stated.norm_epsilon.name,
                 "is missing or not a finite number, but config.json needs it; --no-config writes only the weights");
  }
  if (!std::isfinite(hyper.rope_theta)) {
    refusals.add("gguf2bump-key", "key", hyper.stated.rope_base.name, "is not a finite number");
  }
  const RopeScalingKeys scaling = rope_scaling_keys(hyper.stated);
  const bool is_known = scaling.type.empty() || scaling.type == "linear" || scaling.type == "yarn";
  const bool has_factor = scaling.type.empty() || (scaling.factor && std::isfinite(*scaling.factor));
  if (!is_known || !has_factor || (!scaling.type.empty() && mapping.rope_freqs)) {
    refusals.add(
        "gguf2bump-rope-scaling", "key", hyper.stated.rope_scaling.name,
        fmt::format("is '{}' {}; --no-config writes only the weights", scaling.type,
                    !is_known    ? "instead of none, linear or yarn"
                    : has_factor ? "in addition to rope_freqs.weight, but config.json has room for only one of them"
                                 : "without a factor"));
  }
}

std::string bump_config_text(const gguf::Index& index, const BumpMapping& mapping,
                             const std::optional<Llama3Rope>& rope) {
  const BumpHyperParameters& hyper = mapping.hyper;
  const bump::Dimensions& d = hyper.dimensions;
  const HfIdentity identity = hf_identity_of(hyper.stated.architecture, mapping.has_experts).value_or(HfIdentity{});
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    {
      const auto in_architectures = out.array("architectures");
      out.string(identity.class_name);
    }
    out.member("model_type", identity.model_type);
    out.member("num_hidden_layers", d.layers);
    out.member("hidden_size", d.embed);
    out.member("intermediate_size", d.intermediate);
    out.member("num_attention_heads", d.heads);
    out.member("num_key_value_heads", d.kv_heads);
    out.member("vocab_size", d.vocab);
    out.member("max_position_embeddings", d.context);
    out.key("rms_norm_eps");
    out.decimal(hyper.rms_eps.value_or(0));
    out.key("rope_theta");
    out.decimal(hyper.rope_theta);

    out.member("head_dim", d.head_dim);
    out.member("tie_word_embeddings", !mapping.has_output || mapping.output.has_value());
    out.member("attention_bias", mapping.has_qkv_bias);
    if (mapping.has_mlp_bias) out.member("mlp_bias", true);
    if (hyper.rope_dimensions != d.head_dim) {
      out.key("partial_rotary_factor");
      out.decimal(static_cast<float>(hyper.rope_dimensions) / static_cast<float>(d.head_dim));
    }
    const RopeScalingKeys scaling = rope_scaling_keys(hyper.stated);
    if (rope) {
      out.key("rope_scaling");
      write_llama3(out, *rope);
    } else if (!scaling.type.empty()) {
      out.key("rope_scaling");
      write_key_scaling(out, hyper.stated, scaling);
    }
    out.member("hidden_act", identity.hidden_act);
    if (const auto window = hyper.stated.window.number(); window && *window != 0) {
      out.member("sliding_window", *window);
    }
    for (const std::string_view name : {"bos_token_id", "eos_token_id"}) {
      const auto id = index.unsigned_value("tokenizer.ggml." + std::string(name));
      if (id && *id < d.vocab) out.member(name, *id);
    }
    out.member("torch_dtype", torch_dtype_of(mapping));
  }
  return out.text() + "\n";
}

}  // namespace modelutils
