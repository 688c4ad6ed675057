"""Tiny models of families that have none in the reference data: config.json, and the names and shapes of their tensors
as mlx-lm saves them (safetensors order). Sizes are as small as the families allow; other settings follow the published
models. made/ has the logits that mlx-lm's classes compute from the values of tests/zoo/make-reference-model (in F32,
with numpy in place of MLX)."""

E, V, F, FX = 64, 512, 128, 64


def attention(p, heads, key_heads, dim):
    return [(p + "q_proj.weight", (heads * dim, E)), (p + "k_proj.weight", (key_heads * dim, E)),
            (p + "v_proj.weight", (key_heads * dim, E)), (p + "o_proj.weight", (E, heads * dim))]


def gated(p, width, inputs=E):
    return [(p + "gate_proj.weight", (width, inputs)), (p + "up_proj.weight", (width, inputs)),
            (p + "down_proj.weight", (inputs, width))]


def stacked(p, experts, width):
    return [(p + "gate_proj.weight", (experts, width, E)), (p + "up_proj.weight", (experts, width, E)),
            (p + "down_proj.weight", (experts, E, width))]


def norms(p):
    return [(p + "input_layernorm.weight", (E,)), (p + "post_attention_layernorm.weight", (E,))]


def model(layers, layer, head=True):
    tensors = [("model.embed_tokens.weight", (V, E)), ("model.norm.weight", (E,))]
    if head:
        tensors.append(("lm_head.weight", (V, E)))
    for i in range(layers):
        tensors += layer(i, "model.layers.%d." % i)
    return tensors


def latent_attention(p, joined=False):
    a = p + "self_attn."
    tensors = [(a + "q_a_proj.weight", (64, E)), (a + "q_a_layernorm.weight", (64,)), (a + "q_b_proj.weight", (4 * 64, 64)),
               (a + "kv_a_proj_with_mqa.weight", (64 + 32, E)), (a + "kv_a_layernorm.weight", (64,)),
               (a + "o_proj.weight", (E, 4 * 32))]
    if joined:
        return tensors + [(a + "kv_b_proj.weight", (4 * 64, 64))]
    return tensors + [(a + "embed_q.weight", (4, 64, 32)), (a + "unembed_out.weight", (4, 32, 64))]


def mixture(p, experts):
    return ([(p + "mlp.gate.weight", (experts, E)), (p + "mlp.gate.e_score_correction_bias", (experts,))] +
            stacked(p + "mlp.switch_mlp.", experts, FX) + gated(p + "mlp.shared_experts.", FX))


LATENT = {
    "attention_bias": False, "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": E, "intermediate_size": F,
    "kv_lora_rank": 64, "moe_intermediate_size": FX, "moe_layer_freq": 1, "n_routed_experts": 8, "n_shared_experts": 1,
    "norm_topk_prob": True, "num_attention_heads": 4, "num_experts_per_tok": 2, "num_hidden_layers": 4,
    "num_key_value_heads": 4, "q_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "rms_norm_eps": 1e-6,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": False, "topk_method": "noaux_tc",
    "v_head_dim": 32, "vocab_size": V,
}


def with_indexer(i, p):
    a = p + "self_attn.indexer."
    tensors = latent_attention(p) + norms(p)
    tensors += [(a + "wq_b.weight", (2 * 64, 64)), (a + "wk.weight", (64, E)), (a + "k_norm.weight", (64,)),
                (a + "k_norm.bias", (64,)), (a + "weights_proj.weight", (2, E))]
    return tensors + (gated(p + "mlp.", F) if i == 0 else mixture(p, 8))


def deepseek_v32():
    config = dict(LATENT, architectures=["DeepseekV32ForCausalLM"], model_type="deepseek_v32", index_head_dim=64,
                  index_n_heads=2, index_topk=2048, max_position_embeddings=163840, n_group=2, topk_group=1, rope_theta=10000,
                  rope_scaling={"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32,
                                "beta_slow": 1, "original_max_position_embeddings": 4096})
    return config, model(4, with_indexer)


def glm_moe_dsa():
    config = dict(LATENT, architectures=["GlmMoeDsaForCausalLM"], model_type="glm_moe_dsa", index_head_dim=64,
                  index_n_heads=2, index_topk=2048, indexer_rope_interleave=True, rope_interleave=True,
                  max_position_embeddings=202752, n_group=1, topk_group=1, rms_norm_eps=1e-5, head_dim=32,
                  rope_parameters={"rope_theta": 1000000, "rope_type": "default"})
    return config, model(4, with_indexer)


def glm_5_2():
    """Layers share indexers. mlx-lm's class does not support this form yet."""
    config, _ = glm_moe_dsa()
    config.update(indexer_types=["full", "full", "shared", "full"], max_position_embeddings=1048576, index_topk=4)

    def layer(i, p):
        return [t for t in with_indexer(i, p) if i != 2 or ".indexer." not in t[0]]
    return config, model(4, layer)


def step3p5():
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]
    config = {
        "architectures": ["Step3p5ForCausalLM"], "model_type": "step3p5", "hidden_size": E, "intermediate_size": F,
        "num_hidden_layers": 4, "vocab_size": V, "num_attention_heads": 4, "num_attention_groups": 2, "head_dim": 32,
        "rms_norm_eps": 1e-5, "rope_theta": [5000000.0, 10000.0, 10000.0, 10000.0, 10000.0],
        "rope_scaling": {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 64,
                         "low_freq_factor": 1.0, "high_freq_factor": 32.0},
        "yarn_only_types": ["full_attention"], "max_position_embeddings": 262144, "sliding_window": 8,
        "layer_types": kinds + ["sliding_attention"], "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0, 1.0],
        "attention_other_setting": {"attention_type": "sliding_attention", "num_attention_heads": 6,
                                    "num_attention_groups": 3, "head_dim": 32},
        "use_head_wise_attn_gate": True, "moe_num_experts": 8, "moe_top_k": 2, "moe_intermediate_size": FX,
        "share_expert_dim": FX, "moe_layers_enum": "1,2,3", "moe_router_scaling_factor": 3.0, "norm_expert_weight": True,
        "swiglu_limits": [0.0, 0.0, None, 0.5], "swiglu_limits_shared": [0.0, 0.0, 0.75, 0.25],
        "tie_word_embeddings": False,
    }

    def layer(i, p):
        heads, groups = (6, 3) if kinds[i] == "sliding_attention" else (4, 2)
        a = p + "self_attn."
        tensors = norms(p) + attention(a, heads, groups, 32)
        tensors += [(a + "q_norm.weight", (32,)), (a + "k_norm.weight", (32,)), (a + "g_proj.weight", (heads, E))]
        if i == 0:
            return tensors + gated(p + "mlp.", F)
        tensors += [(p + "mlp.gate.gate.weight", (8, E)), (p + "mlp.gate.router_bias", (8,))]
        return tensors + stacked(p + "mlp.switch_mlp.", 8, FX) + gated(p + "mlp.share_expert.", FX)
    return config, model(4, layer)


def nemotron_nas():
    """A plain layer, a matrix in place of attention, no attention, an empty layer, and a plain layer with other
    widths."""
    def block(group=None, mult=None, linear=False):
        return {"attention": {"no_op": group is None and not linear, "replace_with_linear": linear, "n_heads_in_group": group},
                "ffn": {"no_op": mult is None, "replace_with_linear": False, "ffn_mult": mult}}
    blocks = [block(2, 6.0), block(None, 3.0, True), block(None, 6.0), block(), block(1, 12.0)]
    config = {
        "architectures": ["DeciLMForCausalLM"], "model_type": "nemotron-nas", "hidden_size": E, "num_hidden_layers": 5,
        "num_attention_heads": 4, "num_key_value_heads": None, "intermediate_size": None, "rms_norm_eps": 1e-5,
        "vocab_size": V, "block_configs": blocks, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "rope_theta": 500000.0, "max_position_embeddings": 131072, "tie_word_embeddings": False,
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 64},
    }
    widths = [256, 256, 256, 0, 512]

    def layer(i, p):
        tensors = []
        if i in (0, 4):
            tensors += attention(p + "self_attn.", 4, 2 if i == 0 else 4, 16)
        if i == 1:
            tensors.append((p + "self_attn.linear.weight", (E, E)))
        if i in (0, 1, 4):
            tensors.append((p + "input_layernorm.weight", (E,)))
        if widths[i]:
            tensors += gated(p + "mlp.", widths[i]) + [(p + "post_attention_layernorm.weight", (E,))]
        return tensors
    return config, model(5, layer)


def laguna():
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
    heads = [4, 6, 6, 6, 4]
    config = {
        "architectures": ["LagunaForCausalLM"], "model_type": "laguna", "vocab_size": V, "hidden_size": E,
        "intermediate_size": F, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "max_position_embeddings": 262144, "rms_norm_eps": 1e-6, "attention_bias": False, "qkv_bias": False,
        "gating": True, "tie_word_embeddings": False, "sliding_window": 8, "layer_types": kinds,
        "num_attention_heads_per_layer": heads, "mlp_layer_types": ["dense"] + ["sparse"] * 4, "num_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": FX, "shared_expert_intermediate_size": FX,
        "moe_routed_scaling_factor": 2.5, "moe_router_logit_softcapping": 0.0,
        "rope_parameters": {
            "full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "partial_rotary_factor": 0.5, "factor": 32.0,
                               "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}},
    }

    def layer(i, p):
        a = p + "self_attn."
        tensors = norms(p) + attention(a, heads[i], 2, 32)
        tensors += [(a + "q_norm.weight", (32,)), (a + "k_norm.weight", (32,)), (a + "g_proj.weight", (heads[i], E))]
        if i == 0:
            return tensors + gated(p + "mlp.", F)
        tensors += [(p + "mlp.gate.weight", (8, E)), (p + "mlp.gate.e_score_correction_bias", (8,))]
        return tensors + stacked(p + "mlp.switch_mlp.", 8, FX) + gated(p + "mlp.shared_expert.", FX)
    return config, model(5, layer)


def solar_open():
    config = {
        "architectures": ["SolarOpenForCausalLM"], "model_type": "solar_open", "vocab_size": V, "hidden_size": E,
        "intermediate_size": F, "moe_intermediate_size": FX, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "n_shared_experts": 1, "n_routed_experts": 8,
        "routed_scaling_factor": 1.0, "num_experts_per_tok": 2, "first_k_dense_replace": 0, "norm_topk_prob": True,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 1000000, "tie_word_embeddings": False,
        "partial_rotary_factor": 1.0, "attention_bias": False, "use_qk_norm": False, "n_group": 1, "topk_group": 1,
        "hidden_act": "silu",
    }

    def layer(_, p):
        return norms(p) + attention(p + "self_attn.", 4, 2, 32) + mixture(p, 8)
    return config, model(3, layer)


def youtu_llm():
    config = {
        "architectures": ["YoutuForCausalLM"], "model_type": "youtu_llm", "vocab_size": V, "hidden_size": E,
        "intermediate_size": F, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4,
        "kv_lora_rank": 64, "q_lora_rank": 64, "qk_rope_head_dim": 32, "v_head_dim": 32, "qk_nope_head_dim": 32,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "rope_theta": 1600000, "attention_bias": False,
        "mlp_bias": False, "tie_word_embeddings": True, "hidden_act": "silu",
    }

    def layer(_, p):
        return norms(p) + latent_attention(p, joined=True) + gated(p + "mlp.", F)
    return config, model(3, layer, head=False)


# The token ids whose logits are stored: more than fit in a window, and more than glm_5_2's indexers choose.
TOKENS = [5, 283, 466, 121, 235, 165, 153, 13, 360, 85, 110, 240]
TEXT_IDS = [414, 367]  # the ids of "the time"
# Text parts of multimodal classes that compute what a text-only class does: a model of the reference data under the
# names of mlx-vlm, with another config.json. For text all rope sections have the same position, so that the logits are
# those of the model itself.
def of_multimodal(hf_class, model_type, sections, members=None):
    def wrap(config):
        config = dict(config, model_type=model_type + "_text", **(members or {}))
        for name in ("architectures", "eos_token_id", "bos_token_id"):
            config.pop(name, None)
        config["rope_scaling"] = {"rope_type": "default", "type": "default", "mrope_section": sections}
        return {"architectures": [hf_class], "model_type": model_type, "text_config": config, "vision_config": {"hidden_size": 8}}
    return wrap


def flat(hf_class, model_type, scaling):
    def wrap(config):
        return dict(config, architectures=[hf_class], model_type=model_type, vision_config={"hidden_size": 8},
                    rope_scaling={**(config.get("rope_scaling") or {}), **scaling})
    return wrap


WRAPPED = {
    "glm4v_bf16": ("glm4_bf16", of_multimodal("Glm4vForConditionalGeneration", "glm4v", [2, 3, 3])),
    "glm4v_4bit": ("glm4_4bit", of_multimodal("Glm4vForConditionalGeneration", "glm4v", [2, 3, 3])),
    "glm_ocr_bf16": ("glm4_bf16", of_multimodal("GlmOcrForConditionalGeneration", "glm_ocr", [2, 3, 3])),
    "glm4v_moe_bf16": ("glm4_moe_bf16", of_multimodal("Glm4vMoeForConditionalGeneration", "glm4v_moe", [2, 3, 3])),
    "deepseek_ocr_bf16": ("deepseek_bf16", lambda config: {
        "architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2", "vision_config": {"hidden_size": 8},
        "language_config": {**config, "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "use_mla": False,
                            "kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0,
                            "topk_method": "greedy"}}),
    "hunyuan_vl_bf16": ("hunyuan_v1_dense_bf16", flat("HunYuanVLForConditionalGeneration", "hunyuan_vl",
                                                      {"type": "xdrope", "xdrope_section": [4, 4, 4, 4]})),
    "paddleocr_vl_4bit": ("mistral_4bit", flat("PaddleOCRVLForConditionalGeneration", "paddleocr_vl",
                                               {"rope_type": "default", "type": "default", "mrope_section": [4, 6, 6]})),
}

CASES = {f.__name__ + "_bf16": f
         for f in (deepseek_v32, glm_moe_dsa, glm_5_2, step3p5, nemotron_nas, laguna, solar_open, youtu_llm)}
