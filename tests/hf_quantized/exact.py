#!/usr/bin/env python3
"""Converts small models in every form of forms.py, and FP8 expert stacks, with --exact --fallback f32. The values must
be those computed with numpy, and verify must report no error. All-zero biases from GPTQ writers are left out, others
refused.
usage: exact.py BIN_DIR LLAMA QWEN2_MOE [CASE…]"""
import json, subprocess, sys, tempfile

import numpy as np

import corpus, forms
from safetensors_file import f32, load


def convert(bin_dir, folder, path):
    return subprocess.run([f"{bin_dir}/mlx2gguf", "--no-vocab", "--exact", "--fallback", "f32", folder, "-o", path], capture_output=True, text=True)


def values_of(tensors, name):
    kind, _, raw = tensors[name]
    values = corpus.decode(kind, raw, None).astype(np.float32)
    scale = tensors.get(name.replace(".weight", ".scale"))
    if scale is None: return values
    factors = np.frombuffer(scale[2], np.float32)
    return (values.reshape(len(factors), -1) * factors[:, None]).astype(np.float32).reshape(-1)


def differences(bin_dir, folder, work, expected, in_order=lambda name, values: values):
    """Converts `folder` and returns the differences. `expected` has values by GGUF name; `in_order` undoes the order
    that llama.cpp expects."""
    path = f"{work}/out.gguf"
    done = convert(bin_dir, folder, path)
    if done.returncode: return [f"is refused: {done.stderr.strip()}"]
    wrong = corpus.errors_of_verify(bin_dir, "--data", folder) + corpus.errors_of_verify(bin_dir, "--data", "--against", folder, path)
    tensors = corpus.tensors_of(bin_dir, path)
    for name, values in expected.items():
        if not np.array_equal(in_order(name, values_of(tensors, name)), values.reshape(-1)): wrong.append(f"{name} has other values")
    return wrong


def form_case(bin_dir, model, work, form):
    tensors, twin = forms.quantise(model, form)
    forms.write(model, f"{work}/m", tensors, forms.FORMS[form][1])
    config = json.load(open(f"{model}/config.json"))
    names = {corpus.gguf_name(name, None)[0]: name for name in twin}
    expected = {gguf: f32(twin[name]) for gguf, name in names.items()}
    in_order = lambda gguf, values: corpus.permuted(names[gguf], values, expected[gguf].shape, config)
    return differences(bin_dir, f"{work}/m", work, expected, in_order)


# Name: suffix of the scales, rows and columns that share one (0: the whole expert's), settings.
STACKS = {
    "stack, blocks, scale_inv": ("_scale_inv", 32, 32, {"quant_method": "fp8", "weight_block_size": [32, 32]}),
    "stack, blocks, scales_inv": ("_scales_inv", 32, 32, {"quant_method": "fp8", "weight_block_size": [32, 32]}),
    "stack, blocks above an expert": ("_scale_inv", 128, 32, {"quant_method": "fp8", "weight_block_size": [128, 32]}),
    "stack, one scale an expert": ("_scale", 0, 0, {"quant_method": "fp8"}),
    "stack, one scale a row": ("_scale", 1, 0, {"quant_method": "fp8"}),
}


def stack_case(bin_dir, model, work, suffix, rows, columns, settings):
    tensors, expected = {}, {}

    def quantised(prefix, name, w):
        height, width = rows or w.shape[1], columns or w.shape[2]
        height = min(height, w.shape[1])
        scale = np.abs(w.reshape(len(w), w.shape[1] // height, height, w.shape[2] // width, width)).max((2, 4)) / np.float32(448)
        stored = [forms.fp8(one, scales, height, width) for one, scales in zip(w, scale.astype(np.float32))]
        tensors[prefix + name] = ("F8_E4M3", np.stack([codes for codes, _ in stored]))
        tensors[prefix + name + suffix] = ("F32", scale)
        return np.stack([values for _, values in stored])

    source = load(f"{model}/model.safetensors")
    for name, tensor in source.items():
        if ".switch_mlp." not in name: tensors[name] = tensor
        if not name.endswith(".switch_mlp.gate_proj.weight"): continue
        layer = name.split(".")[2]
        prefix = f"model.layers.{layer}.mlp.experts."
        gate, up, down = (f32(source[name.replace("gate_proj", f"{part}_proj")]) for part in ("gate", "up", "down"))
        both = quantised(prefix, "gate_up_proj", np.concatenate([gate, up], 1))
        expected[f"blk.{layer}.ffn_gate_exps.weight"] = both[:, :gate.shape[1]]
        expected[f"blk.{layer}.ffn_up_exps.weight"] = both[:, gate.shape[1]:]
        expected[f"blk.{layer}.ffn_down_exps.weight"] = quantised(prefix, "down_proj", down)
    forms.write(model, f"{work}/m", tensors, settings)
    return differences(bin_dir, f"{work}/m", work, expected)


def bias_case(bin_dir, model, work, value):
    tensors, _ = forms.quantise(model, "gptq")
    module = "model.layers.1.mlp.shared_expert.down_proj"
    bias = np.zeros(64, np.float32)
    bias[63] = value
    tensors[f"{module}.bias"] = ("F16", bias)
    forms.write(model, f"{work}/m", tensors, forms.FORMS["gptq"][1])
    done = convert(bin_dir, f"{work}/m", f"{work}/out.gguf")
    if value: return [] if "[convert-unmapped]" in done.stderr and f"{module}.bias" in done.stderr else [f"is not refused: {done.stderr.strip()}"]
    if done.returncode: return [f"is refused: {done.stderr.strip()}"]
    wrong = [] if f"left out: {module}.bias (all zero" in done.stdout + done.stderr else ["does not say what is left out"]
    return wrong + corpus.errors_of_verify(bin_dir, f"{work}/m")


def main():
    bin_dir, llama, qwen2_moe, *wanted = sys.argv[1:]
    cases = {form: (form_case, llama, form) for form in forms.FORMS}
    cases |= {name: (stack_case, qwen2_moe, *settings) for name, settings in STACKS.items()}
    cases |= {"bias of zeros": (bias_case, qwen2_moe, 0), "bias that adds something": (bias_case, qwen2_moe, 0.5)}
    passed = failed = 0
    for name, (function, model, *rest) in cases.items():
        if wanted and name not in wanted: continue
        with tempfile.TemporaryDirectory() as work: wrong = function(bin_dir, model, work, *rest)
        for one in wrong[:6]: print(f"{name}: {one}")
        failed += 1 if wrong else 0
        passed += 0 if wrong else 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
