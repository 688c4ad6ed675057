"""Writes small directories of models with towers, as published: `write(DIR, FAMILY)`. Width of the text model 8, of a
tower 8 (SAM 4), two layers, two heads. The n-th value of a tensor is (n * 7 + sum of its name's letters) % 13 - 6, so that rows
and tensors differ and every type holds it. `text(DIR)` writes a Llama."""
import json, math, os, struct

PICTURES = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]}
TEXT = {"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 16, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False}
SIGLIP = {"model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
          "num_attention_heads": 2, "image_size": 4, "patch_size": 2, "num_channels": 3, "layer_norm_eps": 1e-6,
          "hidden_act": "gelu_pytorch_tanh"}


def language(root):
    """The tensors of a language model."""
    tensors = {root + "embed_tokens.weight": [16, 8], root + "norm.weight": [8], "lm_head.weight": [16, 8]}
    for layer in range(4):
        start = f"{root}layers.{layer}."
        tensors |= {f"{start}{name}.weight": shape for name, shape in (
            ("input_layernorm", [8]), ("post_attention_layernorm", [8]), ("self_attn.q_proj", [8, 8]),
            ("self_attn.k_proj", [4, 8]), ("self_attn.v_proj", [4, 8]), ("self_attn.o_proj", [8, 8]),
            ("mlp.gate_proj", [16, 8]), ("mlp.up_proj", [16, 8]), ("mlp.down_proj", [8, 16]))}
    return tensors


def both(name, shape):
    """A module's weight and bias."""
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def siglip(root, layers=2, out="out_proj", linear_patch=False):
    found = both(root + "embeddings.patch_embedding", [8, 12] if linear_patch else [8, 3, 2, 2])
    found[root + "embeddings.position_embedding.weight"] = [4, 8]
    for layer in range(layers):
        start = f"{root}encoder.layers.{layer}."
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn." + out):
            found |= both(start + name, [8, 8])
        found |= both(start + "mlp.fc1", [16, 8]) | both(start + "mlp.fc2", [8, 16])
        found |= both(start + "layer_norm1", [8]) | both(start + "layer_norm2", [8])
    return found


def qwen(root, kv=2, merger="merger.mlp."):
    found = {root + "patch_embed.proj.weight": [8, 3, 2, 2, 2], root + "merger.ln_q.weight": [8]}
    for layer in range(2):
        start = f"{root}blocks.{layer}."
        found |= both(start + "attn.qkv", [8 + 2 * kv * 4, 8]) | both(start + "attn.proj", [8, 8])
        found |= {start + "norm1.weight": [8], start + "norm2.weight": [8]}
        for name, shape in (("gate_proj", [16, 8]), ("up_proj", [16, 8]), ("down_proj", [8, 16])):
            found |= both(start + "mlp." + name, shape)
    return found | both(root + merger + "0", [32, 32]) | both(root + merger + "2", [8, 32])


def whisper(root, convolutions=True, end="layer_norm", positions=True):
    found = both(root + "conv1", [8, 16, 3]) | both(root + "conv2", [8, 8, 3]) if convolutions else {}
    for layer in range(2):
        start = f"{root}layers.{layer}."
        for name in ("self_attn.q_proj", "self_attn.v_proj", "self_attn.out_proj"):
            found |= both(start + name, [8, 8])
        found[start + "self_attn.k_proj.weight"] = [8, 8]
        found |= both(start + "fc1", [16, 8]) | both(start + "fc2", [8, 16])
        found |= both(start + "self_attn_layer_norm", [8]) | both(start + "final_layer_norm", [8])
    if positions:
        found[root + "embed_positions.weight"] = [32, 8]
    return found | both(root + end, [8])


def pixtral(root):
    found = {root + "patch_conv.weight": [8, 3, 2, 2], root + "ln_pre.weight": [8]}
    for layer in range(2):
        start = f"{root}transformer.layers.{layer}."
        found |= {f"{start}attention.{name}_proj.weight": [8, 8] for name in "qkvo"}
        found |= {start + "attention_norm.weight": [8], start + "ffn_norm.weight": [8]}
        found |= {f"{start}feed_forward.{name}_proj.weight": shape
                  for name, shape in (("gate", [16, 8]), ("up", [16, 8]), ("down", [8, 16]))}
    return found


def sam(root):
    found = both(root + "patch_embed.proj", [4, 3, 2, 2])
    found[root + "pos_embed"] = [1, 2, 2, 4]
    for layer in range(4):
        start = f"{root}blocks.{layer}."
        found |= both(start + "norm1", [4]) | both(start + "norm2", [4])
        found |= both(start + "attn.qkv", [12, 4]) | both(start + "attn.proj", [4, 4])
        found |= {start + "attn.rel_pos_h": [3, 2], start + "attn.rel_pos_w": [3, 2]}
        found |= both(start + "mlp.lin1", [8, 4]) | both(start + "mlp.lin2", [4, 8])
    found |= {root + "neck.0.weight": [4, 4, 1, 1], root + "neck.2.weight": [4, 4, 3, 3], root + "net_2.weight": [6, 4, 3, 3],
              root + "net_3.weight": [8, 6, 3, 3]}
    return found | both(root + "neck.1", [4]) | both(root + "neck.3", [4])


def clip_of_ocr(root):
    found = {root + "embeddings.class_embedding": [8], root + "embeddings.position_embedding.weight": [5, 8],
             root + "embeddings.patch_embedding.weight": [8, 3, 2, 2]}
    for layer in range(2):
        start = f"{root}transformer.layers.{layer}."
        found |= both(start + "layer_norm1", [8]) | both(start + "layer_norm2", [8])
        found |= both(start + "self_attn.qkv_proj", [24, 8]) | both(start + "self_attn.out_proj", [8, 8])
        found |= both(start + "mlp.fc1", [16, 8]) | both(start + "mlp.fc2", [8, 16])
    return found | both(root + "pre_layrnorm", [8])


def eva(root):
    found = both(root + "patch_embedding.proj", [8, 3, 2, 2])
    found |= {root + "patch_embedding.cls_embedding": [1, 8], root + "patch_embedding.position_embedding.weight": [5, 8],
              root + "boi": [1, 1, 8], root + "eoi": [1, 1, 8]}
    for layer in range(2):
        start = f"{root}transformer.layers.{layer}."
        found |= both(start + "input_layernorm", [8]) | both(start + "post_attention_layernorm", [8])
        found |= both(start + "attention.query_key_value", [24, 8]) | both(start + "attention.dense", [8, 8])
        found |= both(start + "mlp.fc1", [16, 8]) | both(start + "mlp.fc2", [8, 16])
    found |= {f"{root}linear_proj.{name}.weight": shape for name, shape in
              (("linear_proj", [8, 8]), ("dense_h_to_4h", [16, 8]), ("gate_proj", [16, 8]), ("dense_4h_to_h", [8, 16]))}
    return found | both(root + "linear_proj.norm1", [8])


def window_projector(root):
    found = {root + "image_positions": [1, 4, 8], root + "query": [1, 1, 8]}
    layer = root + "qformer.encoder.layer.0."
    for kind in ("attention", "crossattention"):
        for name in ("query", "key", "value"):
            found |= both(f"{layer}{kind}.attention.{name}", [8, 8])
        found |= both(f"{layer}{kind}.output.dense", [8, 8]) | both(f"{layer}{kind}.output.LayerNorm", [8])
    found |= both(layer + "intermediate_query.dense", [16, 8]) | both(layer + "output_query.dense", [8, 16])
    found |= both(layer + "output_query.LayerNorm", [8]) | both(root + "norm", [8]) | both(root + "qformer.layernorm", [8])
    return found | both(root + "out_linear", [8, 8])


QWEN_VISION = {"depth": 2, "num_heads": 2, "hidden_size": 8, "intermediate_size": 16, "patch_size": 2, "image_size": 8,
               "spatial_merge_size": 2, "hidden_act": "silu", "out_hidden_size": 8, "temporal_patch_size": 2,
               "fullatt_block_indexes": [1]}
WHISPER = {"d_model": 8, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 16, "num_mel_bins": 16,
           "max_source_positions": 32, "activation_function": "gelu"}
SPOKEN = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "num_mel_bins": 16,
          "max_source_positions": 32, "activation_function": "gelu"}
PROJECTOR = "multi_modal_projector."
GRANITE = {"deepstack_layer_map": [[-2, 2], [-1, 0]], "spatial_target_layers": [1, 3], "spatial_vision_layer": -1,
           "use_spatial_sampling": True, "downsample_rate": "1/2", "image_grid_pinpoints": [[4, 8], [8, 4]],
           "use_image_newline_parameter": True}

# Class, members of config.json, tensors of the towers, preprocessor_config.json.
FAMILIES = {
    "lightonocr": ("LightOnOCRForConditionalGeneration",
        {"vision_config": {"model_type": "pixtral", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
                           "num_attention_heads": 2, "image_size": 8, "patch_size": 2, "hidden_act": "silu"},
         "spatial_merge_size": 2},
        pixtral("model.vision_encoder.") | {"model.vision_projection.norm.weight": [8],
            "model.vision_projection.patch_merger.merging_layer.weight": [8, 32]}
        | both("model.vision_projection.linear_1", [8, 8]) | both("model.vision_projection.linear_2", [8, 8]), PICTURES),
    "exaone4_5": ("Exaone4_5_ForConditionalGeneration", {"vision_config": QWEN_VISION | {"num_key_value_heads": 1,
            "window_size": 16}}, qwen("model.visual.", kv=1), PICTURES | {"min_pixels": 64, "max_pixels": 4096}),
    "cogvlm": ("CogVLMForCausalLM", {"vision_config": SIGLIP | {"hidden_act": "gelu"}}, eva("model.vision."), PICTURES),
    "janus_pro": ("JanusForConditionalGeneration", {"vision_config": {key: value for key, value in SIGLIP.items()
            if key != "intermediate_size"} | {"mlp_ratio": 2.0, "hidden_act": "gelu"}},
        siglip("model.vision_model.", out="projection_layer") | both("model.vision_model.post_layernorm", [8])
        | both("model.aligner.fc1", [8, 8]) | both("model.aligner.hidden_layers.0", [8, 8]), PICTURES),
    "phi4": ("Phi4ForCausalLMV", {"vision_config": SIGLIP | {"num_hidden_layers": 3}},
        siglip("model.vision_tower.vision_tower.vision_model.", 3, linear_patch=True)
        | both("model.vision_tower.vision_tower.vision_model.post_layernorm", [8])
        | both("model.mm_projector.0", [8, 8]) | both("model.mm_projector.2", [8, 8]),
        PICTURES | {"patch_size": 2, "min_num_patches": 4, "max_num_patches": 16}),
    "granite4_vision": ("Granite4VisionForConditionalGeneration", {"vision_config": SIGLIP, "text_config": TEXT | {
            "model_type": "granite", "embedding_multiplier": 12.0, "attention_multiplier": 0.5, "residual_multiplier": 0.25,
            "logits_scaling": 8.0}} | GRANITE,
        language("model.language_model.") | siglip("model.vision_tower.vision_model.") | both("model.vision_tower.vision_model.post_layernorm", [8])
        | {"model.image_newline": [8]}
        | window_projector("model.layerwise_projectors.0.") | window_projector("model.layerwise_projectors.1.")
        | window_projector("model.spatial_projectors.0.") | window_projector("model.spatial_projectors.1."), PICTURES),
    "deepseekocr": ("DeepseekOCRForCausalLM", {"vision_config": {"width": {
            "clip-l-14-224": {"heads": 2, "image_size": 4, "layers": 2, "patch_size": 2, "width": 8},
            "sam_vit_b": {"heads": 2, "layers": 4, "width": 4, "downsample_channels": [6, 8],
                          "global_attn_indexes": [0, 1, 2, 3]}}}},
        clip_of_ocr("model.vision_model.") | sam("model.sam_model.") | both("model.projector.layers", [8, 16])
        | {"model.image_newline": [8], "model.view_seperator": [8]}, PICTURES),
    "qwen2.5o": ("Qwen2_5OmniModel", {"thinker_config": {"vision_config": QWEN_VISION, "audio_config": WHISPER | {"max_source_positions": 1500}}},
        qwen("thinker.visual.") | whisper("thinker.audio_tower.", end="ln_post", positions=False)
        | both("thinker.audio_tower.proj", [8, 8]), PICTURES),
    "qwen3_omni": ("Qwen3OmniMoeForConditionalGeneration", {"thinker_config": {
            "vision_config": {key: value for key, value in QWEN_VISION.items() if "fullatt" not in key} | {
                "hidden_act": "gelu", "num_position_embeddings": 16, "deepstack_visual_indexes": [1]},
            "audio_config": WHISPER | {"max_source_positions": 1500}}},
        {name: shape for name, shape in qwen("thinker.visual.").items() if ".mlp." not in name or "merger" in name}
        | {name: [8] for layer in range(2) for name in (f"thinker.visual.blocks.{layer}.norm1.bias",
                                                        f"thinker.visual.blocks.{layer}.norm2.bias")}
        | both("thinker.visual.blocks.0.mlp.linear_fc1", [16, 8]) | both("thinker.visual.blocks.0.mlp.linear_fc2", [8, 16])
        | both("thinker.visual.blocks.1.mlp.linear_fc1", [16, 8]) | both("thinker.visual.blocks.1.mlp.linear_fc2", [8, 16])
        | {"thinker.visual.patch_embed.proj.bias": [8], "thinker.visual.pos_embed.weight": [16, 8],
           "thinker.visual.merger.ln_q.bias": [8]}
        | both("thinker.visual.merger_list.0.ln_q", [32]) | both("thinker.visual.merger_list.0.mlp.0", [32, 32])
        | both("thinker.visual.merger_list.0.mlp.2", [8, 32])
        | whisper("thinker.audio_tower.", convolutions=False, end="ln_post", positions=False)
        | both("thinker.audio_tower.conv2d1", [4, 1, 3, 3]) | both("thinker.audio_tower.conv2d2", [4, 4, 3, 3])
        | both("thinker.audio_tower.conv2d3", [4, 4, 3, 3]) | {"thinker.audio_tower.conv_out.weight": [8, 8]}
        | both("thinker.audio_tower.proj1", [8, 8]) | both("thinker.audio_tower.proj2", [8, 8]), PICTURES),
    "qwen2a": ("Qwen2AudioForConditionalGeneration", {"audio_config": WHISPER},
        whisper("audio_tower.") | both(PROJECTOR + "linear", [8, 8]), None),
    "ultravox": ("UltravoxModel", {"audio_config": WHISPER, "stack_factor": 2, "projector_ln_mid": True},
        whisper("audio_tower.") | {PROJECTOR + "ln_pre.weight": [16], PROJECTOR + "linear_1.weight": [16, 16],
            PROJECTOR + "ln_mid.weight": [8], PROJECTOR + "linear_2.weight": [8, 8]}, None),
    "voxtral": ("VoxtralForConditionalGeneration", {"audio_config": SPOKEN},
        whisper("audio_tower.") | {PROJECTOR + "linear_1.weight": [8, 32], PROJECTOR + "linear_2.weight": [8, 8]}, None),
    "musicflamingo": ("AudioFlamingo3ForConditionalGeneration", {"audio_config": SPOKEN},
        whisper("audio_tower.") | both(PROJECTOR + "linear_1", [8, 8]) | both(PROJECTOR + "linear_2", [8, 8]), None),
}


def save(directory, config, preprocessor, tensors):
    os.makedirs(directory)
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, shape in tensors.items():
        count = math.prod(shape)
        values = struct.pack(f"<{count}f", *(float((n * 7 + sum(map(ord, name))) % 13 - 6) for n in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    encoded = json.dumps(header).encode()
    with open(directory + "/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded + data)
    for name, members in (("config", config), ("preprocessor_config", preprocessor)):
        if members is not None:
            with open(f"{directory}/{name}.json", "w") as file:
                json.dump(members, file)


def text(directory):
    save(directory, {"architectures": ["LlamaForCausalLM"]} | TEXT, None, language("model."))


def write(directory, family):
    architecture, members, tensors, preprocessor = FAMILIES[family]
    config = {"architectures": [architecture]}
    if "thinker_config" in members:
        config["thinker_config"] = {"text_config": TEXT} | members["thinker_config"]
    else:
        config |= {"text_config": TEXT} | members
    save(directory, config, preprocessor, tensors)
