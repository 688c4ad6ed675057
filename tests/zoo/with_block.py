#!/usr/bin/env python3
"""Writes a reference model in its published form, plus a block that predicts further tokens: a copy of the last layer's
tensors, and the tensors that connect it to the model.
usage: with_block.py CASE_DIR OUT_DIR       exit status 77 if the family's blocks do not have a layer's form"""
import json, os, shutil, sys
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from hf_forms import FORMS
from safetensors_file import load, save

# Names of the connecting tensors if they are not DeepSeek's; number of blocks per model.
JOINTS = {"bailing_moe_v2": {"shared_head.norm": "final_layernorm"},
          "step3p5": {"shared_head.norm": "transformer.shared_head.norm", "shared_head.head": "transformer.shared_head.output"}}
BLOCKS = {"step3p5": 2}
FAMILIES = ("bailing_moe_v2", "deepseek_v3", "deepseek_v32", "glm4_moe", "glm4_moe_lite", "glm4v_moe", "glm_5_2", "glm_moe_dsa", "glm_ocr", "step3p5")


def family_of(case):
    return os.path.basename(os.path.normpath(case)).rpartition("_")[0]


def add_block(tensors, config, family, number):
    layers = config["num_hidden_layers"]
    prefix = "model.language_model.layers." if "model.language_model.norm.weight" in tensors else "model.layers."
    last, new = f"{prefix}{layers - 1}.", f"{prefix}{layers + number}."
    for name in [name for name in tensors if name.startswith(last)]:
        tensors[new + name[len(last):]] = tensors[name]
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    shapes = {"eh_proj": (width, 2 * width), "enorm": (width,), "hnorm": (width,), "shared_head.norm": (width,),
              "shared_head.head": (vocabulary, width)}
    draw = np.random.default_rng(number)
    for module, shape in shapes.items():
        name = JOINTS.get(family, {}).get(module, module)
        values = draw.normal(0, 0.1, shape).astype(np.float32) + (1 if len(shape) == 1 else 0)
        tensors[f"{new}{name}.weight"] = ("F32", values)


def main(case, out):
    family = family_of(case)
    path = case + "/model/model.safetensors"
    if family not in FAMILIES or not os.path.exists(path):
        sys.exit(77)
    tensors, config = load(path), json.load(open(case + "/model/config.json"))
    whole, config = config, config.get("text_config", config)
    FORMS[family](tensors, config)
    layers = config["num_hidden_layers"]
    for name in [name for name in tensors if name.startswith(f"model.layers.{layers}.")]:
        del tensors[name]  # those that hf_forms.py adds, which converters leave out
    config["num_nextn_predict_layers"] = BLOCKS.get(family, 1)
    for number in range(config["num_nextn_predict_layers"]):
        add_block(tensors, config, family, number)
        for lists in ("layer_types", "partial_rotary_factors", "rope_theta"):
            if family == "step3p5":  # its lists include the blocks
                config[lists] = config[lists][:layers + number] + config[lists][layers - 1:layers]
    shutil.copytree(case + "/model", out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"))
    save(tensors, out + "/model.safetensors")
    json.dump(whole, open(out + "/config.json", "w"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
