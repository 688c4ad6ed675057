#!/usr/bin/env python3
"""Writes the original Hugging Face form of a reference model by undoing mlx-lm's changes to names and shapes.
usage: hf_forms.py CASE_DIR OUT_DIR
  Exits with status 77 if the family's two forms are the same, or the case is quantised (Hugging Face has no such form).
The families follow mlx-lm's sanitize(); the published checkpoints have these names."""
import json, os, re, shutil, sys
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import f32, load, save

ALONE = ("F32", np.ones((4, 4), np.float32))  # a tensor of another part of the model, which converters leave out


def rename(t, pattern, new):
    for name in list(t):
        if re.search(pattern, name):
            t[re.sub(pattern, new, name)] = t.pop(name)


def change(t, pattern, function):
    for name in list(t):
        if re.search(pattern, name):
            t[name] = (t[name][0], function(t[name][1]))


def unstack(t, pattern, new):
    """Splits stacks into one matrix per expert. `new` has '#' in place of the expert number."""
    for name in [name for name in t if re.search(pattern, name)]:
        dtype, stack = t.pop(name)
        for number, matrix in enumerate(stack):
            t[re.sub(pattern, new.replace("#", str(number)), name)] = (dtype, matrix)


def join(t, pattern, others, new, axis=0):
    """Joins each tensor that matches `pattern` with those whose names have one of `others` in place of the last
    group."""
    for name in [name for name in t if re.search(pattern, name)]:
        found = re.search(pattern, name)
        names = [name] + [name[:found.start(1)] + other + name[found.end(1):] for other in others]
        dtype = t[name][0]
        values = np.concatenate([t.pop(part)[1] for part in names], axis)
        t[name[:found.start(1)] + new + name[found.end(1):]] = (dtype, values)


swap = lambda values: np.swapaxes(values, -1, -2)
conv = lambda values: np.moveaxis(values, 2, 1)


def experts(t, c, names=("gate_proj", "up_proj", "down_proj"), block="mlp"):
    for old, new in zip(("gate_proj", "up_proj", "down_proj"), names):
        unstack(t, rf"\.mlp\.switch_mlp\.{old}\.weight$", rf".{block}.experts.#.{new}.weight")
        unstack(t, rf"\.{block}\.switch_mlp\.{old}\.weight$", rf".{block}.experts.#.{new}.weight")
        unstack(t, rf"\.{block}\.experts\.{old}\.weight$", rf".{block}.experts.#.{new}.weight")


def prediction_layer(t, c):
    c["num_nextn_predict_layers"] = 1
    layer = c["num_hidden_layers"]
    for name in ("eh_proj", "enorm", "hnorm", "self_attn.q_proj", "mlp.gate_proj"):
        t[f"model.layers.{layer}.{name}.weight"] = ALONE


def experts_and_prediction(t, c):
    experts(t, c)
    prediction_layer(t, c)


def latent(t, c):
    """Joins embed_q and unembed_out into kv_b_proj; embed_q is transposed per head."""
    heads = c["num_attention_heads"]
    for name in [name for name in t if name.endswith("embed_q.weight")]:
        dtype, keys = t.pop(name)
        values = t.pop(name.replace("embed_q", "unembed_out"))[1]
        keys = swap(keys.reshape(heads, -1, keys.shape[-1]))
        both = np.concatenate([keys, values.reshape(heads, -1, values.shape[-1])], 1)
        t[name.replace("embed_q", "kv_b_proj")] = (dtype, both.reshape(-1, both.shape[-1]))


def deepseek(t, c):
    experts(t, c)
    latent(t, c)
    if c["model_type"] != "deepseek_v2":
        prediction_layer(t, c)


def wrapped(t, c):
    rename(t, r"^language_model\.model\.", "model.language_model.")
    rename(t, r"^language_model\.lm_head", "lm_head")
    t["model.visual.blocks.0.attn.qkv.weight"] = ALONE


def linear_attention(t, c):
    change(t, r"conv1d\.weight$", conv)
    for name in list(t):
        if re.search(r"(input_layernorm|post_attention_layernorm|model\.norm|[qk]_norm)\.weight$", name):
            t[name] = ("F32", f32(t[name]) - 1)
    t["mtp.fc.weight"] = ALONE


def qwen3_next(t, c):
    experts(t, c)
    linear_attention(t, c)


def qwen3_5(t, c):
    linear_attention(t, c)
    join(t, r"switch_mlp\.(gate_proj)\.weight$", ["up_proj"], "gate_up_proj", 1)
    rename(t, r"\.switch_mlp\.(gate_up_proj|down_proj)\.weight$", r".experts.\1")
    wrapped(t, c)


def kimi_linear(t, c):
    latent(t, c)
    rename(t, r"\.mlp\.e_score_correction_bias$", ".block_sparse_moe.gate.e_score_correction_bias")
    rename(t, r"\.mlp\.(gate|shared_experts\.\w+)\.weight$", r".block_sparse_moe.\1.weight")
    experts(t, c, ("w1", "w3", "w2"), "block_sparse_moe")
    change(t, r"_conv\.conv\.weight$", conv)
    rename(t, r"([qkv])_conv\.conv\.weight$", r"\1_conv1d.weight")


def gpt2(t, c):
    change(t, r"(c_attn|c_proj|c_fc)\.weight$", swap)
    rename(t, r"^model\.", "")
    for layer in range(c["n_layer"]):
        t[f"h.{layer}.attn.bias"] = ("F32", np.ones((1, 1, 8, 8), np.float32))


def gpt_neox(t, c):
    rename(t, r"^model\.h\.", "gpt_neox.layers.")
    rename(t, r"^model\.embed_out", "embed_out")
    rename(t, r"^model\.", "gpt_neox.")
    for layer in range(c["num_hidden_layers"]):
        t[f"gpt_neox.layers.{layer}.attention.masked_bias"] = ("F32", np.ones((), np.float32))
        t[f"gpt_neox.layers.{layer}.attention.rotary_emb.inv_freq"] = ("F32", np.ones(2, np.float32))


def granitemoe(t, c):
    change(t, r"conv1d\.weight$", conv)
    join(t, r"(switch_mlp\.gate_proj)\.weight$", ["switch_mlp.up_proj"], "input_linear", 1)
    rename(t, r"switch_mlp\.down_proj", "output_linear")


def mamba(t, c):
    change(t, r"conv1d\.weight$", conv)


def jamba(t, c):
    mamba(t, c)
    unstack(t, r"switch_mlp\.(\w+)\.weight$", r"experts.#.\1.weight")


def nemotron_h_moe(t, c):
    mamba(t, c)
    unstack(t, r"switch_mlp\.fc1\.weight$", "experts.#.up_proj.weight")
    unstack(t, r"switch_mlp\.fc2\.weight$", "experts.#.down_proj.weight")
    t["mtp.layers.0.norm.weight"] = ALONE


def lfm2(t, c):
    change(t, r"conv\.conv\.weight$", swap)


def lfm2_moe(t, c):
    lfm2(t, c)
    for old, new in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")):
        unstack(t, rf"switch_mlp\.{old}\.weight$", f"experts.#.{new}.weight")
        rename(t, rf"feed_forward\.{old}\.", f"feed_forward.{new}.")


def minimax(t, c):
    experts(t, c, ("w1", "w3", "w2"), "block_sparse_moe")


def bailing(t, c):
    experts(t, c)
    rename(t, r"mlp\.gate\.gate_proj", "mlp.gate")


def bailing_v2(t, c):
    bailing(t, c)
    prediction_layer(t, c)


def llama4(t, c):
    join(t, r"experts\.(gate_proj)\.weight$", ["up_proj"], "gate_up_proj", 1)
    change(t, r"experts\.(gate_up_proj|down_proj)\.weight$", swap)
    rename(t, r"experts\.(gate_up_proj|down_proj)\.weight$", r"experts.\1")
    t["vision_model.layers.0.x.weight"] = ALONE
    t["multi_modal_projector.linear_1.weight"] = ALONE


def gpt_oss(t, c):
    """Interleaves gate and up, and transposes all matrices that are not MXFP4 blocks."""
    for name in [name for name in t if name.endswith("experts.gate_proj.weight")]:
        stem = name.removesuffix(".gate_proj.weight")
        for old, new in (("weight", ""), ("bias", "_bias")):
            dtype, gate = t.pop(f"{stem}.gate_proj.{old}")
            up = t.pop(f"{stem}.up_proj.{old}")[1]
            both = np.stack([gate, up], 2).reshape(gate.shape[0], -1, *gate.shape[2:])
            t[f"{stem}.gate_up_proj{new}"] = (dtype, both if new else swap(both))
            down = t.pop(f"{stem}.down_proj.{old}")
            t[f"{stem}.down_proj{new}"] = down if new else (dtype, swap(down[1]))


def hunyuan(t, c):
    """Builds Hunyuan-Large's fused matrices: queries, keys and values by group, up before gate."""
    unstack(t, r"switch_mlp\.(\w+)\.weight$", r"experts.#.\1.weight")
    join(t, r"\.(up_proj)\.weight$", ["gate_proj"], "gate_and_up_proj")
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    for name in [name for name in t if name.endswith("self_attn.q_proj.weight")]:
        dtype, queries = t.pop(name)
        size, width = queries.shape[0] // heads, queries.shape[1]
        parts = [values.reshape(groups, -1, size, width) for values in (
            queries, t.pop(name.replace("q_proj", "k_proj"))[1], t.pop(name.replace("q_proj", "v_proj"))[1])]
        t[name.replace("q_proj", "qkv_proj")] = (dtype, np.concatenate(parts, 1).reshape(-1, width))


def dbrx(t, c):
    number = c["ffn_config"]["moe_num_experts"]
    for name in [name for name in t if ".experts.0." in name]:
        parts = [t.pop(name.replace(".experts.0.", f".experts.{i}.")) for i in range(number)]
        turn = swap if ".w2." in name else lambda values: values
        t[name.replace(".experts.0.", ".experts.mlp.").removesuffix(".weight")] = (
            parts[0][0], np.concatenate([turn(values) for _, values in parts]))


def internlm2(t, c):
    for layer in range(c["num_hidden_layers"]):
        t[f"model.layers.{layer}.attention.rope.inv_freq"] = ("F32", np.zeros(8, np.float32))


def ministral3(t, c):
    rename(t, r"^language_model\.model\.", "model.language_model.")
    t["model.vision_tower.patch_conv.weight"] = ("F32", np.ones((4, 3, 2, 2), np.float32))
    t["model.multi_modal_projector.norm.weight"] = ("F32", np.ones(4, np.float32))


def qwen2_vl(t, c):
    rename(t, r"^language_model\.", "")
    t["visual.blocks.0.attn.qkv.weight"] = ALONE


def rwkv7(t, c):
    change(t, r"\.(k_k|k_a|g_norm\.weight|g_norm\.bias)$", lambda values: values.reshape(-1))


def exaone_moe(t, c):
    rename(t, r"mlp\.gate\.e_score", "mlp.e_score")
    experts_and_prediction(t, c)


def mixtral(t, c):
    experts(t, c, ("w1", "w3", "w2"), "block_sparse_moe")


def step3p5(t, c):
    for name in list(t):
        if name.endswith("norm.weight"):
            t[name] = ("F32", f32(t[name]) - 1)
    rename(t, r"mlp\.switch_mlp\.", "moe.")
    rename(t, r"mlp\.gate\.gate", "moe.gate")
    rename(t, r"mlp\.gate\.router_bias", "moe.router_bias")
    rename(t, r"mlp\.share_expert", "share_expert")
    prediction_layer(t, c)


def laguna(t, c):
    experts(t, c)
    rename(t, r"mlp\.gate\.e_score", "mlp.experts.e_score")


def deepseek_ocr(t, c):
    qwen2_vl(t, c)
    experts(t, c)


def glm4v_moe(t, c):
    experts(t, c)
    wrapped(t, c)


FORMS = {
    "afmoe": experts,
    "apertus": lambda t, c: change(t, "alpha", lambda values: values.reshape(1)),
    "bailing_moe": bailing, "bailing_moe_v2": bailing_v2, "dbrx": dbrx, "deepseek": experts, "deepseek_v2": deepseek,
    "deepseek_v3": deepseek, "dots1": experts, "ernie4_5_moe": experts, "exaone_moe": exaone_moe, "glm4_moe": experts_and_prediction,
    "glm4_moe_lite": deepseek, "gpt2": gpt2, "gpt_neox": gpt_neox, "granitemoe": granitemoe, "granitemoehybrid": granitemoe,
    "gpt_oss": gpt_oss, "hunyuan": hunyuan, "internlm2": internlm2, "jamba": jamba, "kimi_linear": kimi_linear, "lfm2": lfm2, "lfm2_moe": lfm2_moe, "llama4": llama4,
    "mamba": mamba, "mamba2": mamba, "minicpm3": latent, "minimax": minimax, "ministral3": ministral3, "mixtral": mixtral,
    "nemotron_h": mamba, "nemotron_h_moe": nemotron_h_moe, "olmoe": experts, "phimoe": lambda t, c: experts(t, c, ("w1", "w3", "w2"), "block_sparse_moe"),
    "deepseek_v32": deepseek, "glm_moe_dsa": deepseek, "glm_5_2": deepseek, "laguna": laguna,
    "nemotron_nas": lambda t, c: rename(t, r"self_attn\.linear\.", "self_attn.linear_attn."), "solar_open": experts_and_prediction,
    "step3p5": step3p5,
    "plamo2": mamba, "qwen2_moe": experts, "qwen2_vl": qwen2_vl, "qwen3_5": qwen3_5, "qwen3_5_moe": qwen3_5, "qwen3_next": qwen3_next,
    "qwen3_vl": wrapped, "rwkv7": rwkv7, "glm4v": wrapped, "glm_ocr": wrapped, "glm4v_moe": glm4v_moe,
    "hunyuan_vl": qwen2_vl, "deepseek_ocr": deepseek_ocr,
}


def main(case, out, mismarked=None):
    """`mismarked` is "mlx" or "published": writes that layout with the other layout's metadata."""
    family, _, variant = os.path.basename(os.path.normpath(case)).rpartition("_")
    if (family not in FORMS and mismarked != "mlx") or variant not in ("bf16", "f16", "f32"):
        sys.exit(77)
    tensors, config = load(case + "/model/model.safetensors"), json.load(open(case + "/model/config.json"))
    if mismarked != "mlx":
        FORMS[family](tensors, config)
    shutil.copytree(case + "/model", out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"))
    save(tensors, out + "/model.safetensors", {"format": "mlx" if mismarked == "published" else "pt"})
    json.dump(config, open(out + "/config.json", "w"))


if __name__ == "__main__":
    main(*sys.argv[1:])
