#!/usr/bin/env python3
"""Writes a large model in one of the forms of tests/hf_quantized/forms.py; all of its layers have the same values. The
form bf16 is not quantised, and OUT-lora is an adapter of rank 16 for it.
usage: quantised_model.py DEMO_MODEL FORM OUT MEGABYTES"""
import json, os, shutil, sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../hf_quantized"), os.path.join(here, "../support")]
import forms
from safetensors_file import save

demo, form, out, megabytes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
WIDTH, WIDER, HEADS = 2048, 5632, 16
random = np.random.default_rng(1)
RANK = 16


def bf16(values):
    return ("BF16", (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))


function, settings = (lambda weight: ({"weight": bf16(weight)}, None), None) if form == "bf16" else forms.FORMS[form]
layer, adapter = {}, {}
for name, shape in (("self_attn.q_proj", (WIDTH, WIDTH)), ("self_attn.k_proj", (WIDTH, WIDTH)), ("self_attn.v_proj", (WIDTH, WIDTH)),
                    ("self_attn.o_proj", (WIDTH, WIDTH)), ("mlp.gate_proj", (WIDER, WIDTH)), ("mlp.up_proj", (WIDER, WIDTH)),
                    ("mlp.down_proj", (WIDTH, WIDER))):
    module, _ = function((random.standard_normal(shape) / 64).astype(np.float32))
    for suffix, part in module.items(): layer[f"{name}.{suffix}"] = part
    adapter[name + ".lora_A.weight"] = ("F32", (random.standard_normal((RANK, shape[1])) / 64).astype(np.float32))
    adapter[name + ".lora_B.weight"] = ("F32", (random.standard_normal((shape[0], RANK)) / 64).astype(np.float32))
for name in "input_layernorm", "post_attention_layernorm": layer[name + ".weight"] = bf16(np.ones(WIDTH))
layers = max(1, megabytes * 10**6 // sum(np.asarray(values).nbytes for _, values in layer.values()))

tensors = {"model.embed_tokens.weight": bf16(random.standard_normal((512, WIDTH))), "model.norm.weight": bf16(np.ones(WIDTH))}
for number in range(layers):
    for name, part in layer.items(): tensors[f"model.layers.{number}.{name}"] = part
shutil.copytree(demo, out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"))
config = json.load(open(f"{demo}/config.json"))
config.pop("quantization")
config.update(hidden_size=WIDTH, intermediate_size=WIDER, num_attention_heads=HEADS, num_key_value_heads=HEADS, head_dim=WIDTH // HEADS,
              num_hidden_layers=layers, torch_dtype="bfloat16")
if settings: config["quantization_config"] = settings
json.dump(config, open(f"{out}/config.json", "w"))
save({name: (dtype, np.asarray(values)) for name, (dtype, values) in tensors.items()}, f"{out}/model.safetensors")
if form == "bf16":
    os.mkdir(out + "-lora")
    json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "target_modules": sorted(name.split(".")[1] for name in
               {each.rsplit(".lora", 1)[0] for each in adapter})}, open(f"{out}-lora/adapter_config.json", "w"))
    save({f"base_model.model.model.layers.{number}.{name}": part for number in range(layers) for name, part in adapter.items()},
         f"{out}-lora/adapter_model.safetensors")
