#!/usr/bin/env python3
"""Quantised directories with one mistake each: mlx2gguf must refuse them in one line that names the module and leave no
output; `verify --data` must report an error at that module.
usage: bad.py BIN_DIR MODEL [CASE…]"""
import copy, json, os, subprocess, sys, tempfile

import numpy as np

import forms

P = "model.layers.0.mlp.down_proj"


def drop(suffix): return lambda t: t.pop(f"{P}.{suffix}")


def put(suffix, dtype, values): return lambda t: t.__setitem__(f"{P}.{suffix}", (dtype, np.array(values)))


def change(suffix, function, dtype=None):
    """Replaces a tensor's values with the result of `function` on a copy."""
    def apply(t):
        old, values = t[f"{P}.{suffix}"]
        t[f"{P}.{suffix}"] = (dtype or old, function(values.copy()))
    return apply


def first(value):
    def apply(values):
        values.reshape(-1)[0] = value
        return values
    return apply


def longer(values): return np.concatenate([values, values[:1]])


def wider(values): return np.concatenate([values, values[:, :1]], 1)


def as_type(dtype): return lambda values: values.astype(dtype)


NAN16 = 0x7E00
half = lambda bits: np.array(bits, np.uint16).view(np.float16)

# Name: form, change to the tensors, changed settings; optionally the name expected in messages instead of the
# module's.
CASES = {
    "fp8 without a scale": ("fp8_block", drop("weight_scale_inv")),
    "fp8 with a scale too many": ("fp8_block", put("weight_scale", "F32", [[1.0]])),
    "fp8 with scales of other blocks": ("fp8_block", change("weight_scale_inv", longer)),
    "fp8 with whole numbers as scales": ("fp8_block", change("weight_scale_inv", as_type(np.int32), "I32")),
    "fp8 with a scale that is NaN": ("fp8_channel", change("weight_scale", first(np.nan))),
    "fp8 with a scale that is infinite": ("fp8_tensor", put("weight_scale", "F32", np.inf)),
    "fp8 with a product that overflows": ("fp8_channel", change("weight_scale", first(1e37))),
    "fp8 with NaN among the codes": ("fp8_block", change("weight", first(0x7F))),
    "plain weight with a scale": ("fp8_block", put("weight", "F32", np.ones((64, 128)))),
    "nvfp4 without scales of groups": ("nvfp4", drop("weight_scale")),
    "nvfp4 without a factor": ("nvfp4", drop("weight_scale_2")),
    "nvfp4 with two factors": ("nvfp4", put("weight_global_scale", "F32", [3.0])),
    "nvfp4 with a factor of 0": ("nvfp4", put("weight_scale_2", "F32", 0.0)),
    "nvfp4 with a factor below 0": ("nvfp4", put("weight_scale_2", "F32", -1.0)),
    "nvfp4 with a factor that is NaN": ("nvfp4", put("weight_scale_2", "F32", np.nan)),
    "nvfp4 with an infinite reciprocal": ("ct_nvfp4", put("weight_global_scale", "F32", [0.0])),
    "nvfp4 with a factor that overflows": ("nvfp4", put("weight_scale_2", "F32", 1e36)),
    "nvfp4 with two numbers as the factor": ("nvfp4", put("weight_scale_2", "F32", [1.0, 1.0])),
    "nvfp4 with a negative scale": ("nvfp4", change("weight_scale", first(0xB8))),
    "nvfp4 with a scale that is NaN": ("nvfp4", change("weight_scale", first(0x7F))),
    "nvfp4 with a scale too many": ("nvfp4", change("weight_scale", wider)),
    "mxfp4 with a scale too many": ("ct_mxfp4", change("weight_scale", wider)),
    "mxfp4 with a scale that is NaN": ("ct_mxfp4", change("weight_scale", first(255))),
    "packed without a scale": ("ct_int4", drop("weight_scale")),
    "packed with a scale too many": ("ct_int4", change("weight_scale", longer)),
    "packed with groups that do not fit": ("ct_int4", change("weight_scale", lambda values: values[:, :3])),
    "packed with a scale that is NaN": ("ct_int4", change("weight_scale", first(half(NAN16)))),
    "packed with a product that overflows": ("ct_int4", change("weight_scale", lambda values: first(3e38)(values.astype(np.float32)), "F32")),
    "packed with another shape": ("ct_int4", put("weight_shape", "I64", [64, 256])),
    "packed with a shape whose product overflows": ("ct_int4", put("weight_shape", "I64", [2**62, 2**62])),
    "packed with a shape below 0": ("ct_int4", put("weight_shape", "I64", [64, -128])),
    "packed with three sides": ("ct_int4", put("weight_shape", "I64", [64, 128, 1])),
    "packed with zero points of another shape": ("ct_int4_asym", change("weight_zero_point", longer)),
    "packed with an order that is too short": ("ct_int4", put("weight_g_idx", "I32", np.zeros(64))),
    "packed with an order beyond the groups": ("ct_int4", put("weight_g_idx", "I32", np.full(128, 4))),
    "int8 without a scale": ("w8a8", drop("weight_scale")),
    "int8 with a scale too many": ("w8a8", change("weight_scale", longer)),
    "int8 with zero points": ("w8a8", put("weight_zero_point", "I8", np.ones((64, 1)))),
    "awq without scales": ("awq", drop("scales")),
    "awq without zero points": ("awq", drop("qzeros")),
    "awq with a scale too many": ("awq", change("scales", wider)),
    "awq with a group too many": ("awq", change("scales", longer)),
    "awq with a scale that is infinite": ("awq", change("scales", first(np.inf))),
    "awq with a scaled input": ("awq", put("pre_quant_scale", "F16", np.ones(128))),
    "gptq without scales": ("gptq", drop("scales")),
    "gptq without zero points": ("gptq", drop("qzeros")),
    "gptq with zero points of another width": ("gptq", change("qzeros", wider)),
    "gptq with codes that fit no width": ("gptq", change("qweight", longer)),
    "gptq with an order that is too short": ("gptq", change("g_idx", lambda values: values[:-1])),
    "gptq with a group below 0": ("gptq", change("g_idx", first(-1))),
    "gptq with a group too many": ("gptq_act_order", change("g_idx", first(2))),
    "gptq with an order of floats": ("gptq", change("g_idx", as_type(np.float32), "F32")),
    "gptq without the order that it needs": ("gptq_act_order", drop("g_idx")),
    "gptq with a zero point above all codes": ("gptq", change("qzeros", first(-1))),
}
# Settings that contradict sound tensors: form, setting (below config_groups: the weights'), value.
CONTRADICTIONS = [
    ("ct_int4", "symmetric", False), ("w8a8", "symmetric", False), ("w8a8_tensor", "symmetric", False),
    ("ct_int4_asym", "symmetric", True), ("ct_int3_asym", "symmetric", True), ("gptq_v2", "sym", True),
    ("ct_int4", "num_bits", 8), ("ct_int4", "group_size", 64), ("ct_int4", "strategy", "channel"),
    ("gptq", "bits", 8), ("gptq", "bits", 3), ("gptq", "bits", 2), ("gptq_3bit", "bits", 4), ("gptq", "group_size", 32),
    ("gptq", "group_size", -1), ("gptq", "quant_method", "awq"), ("awq", "quant_method", "gptq"),
    ("awq", "bits", 8), ("awq", "w_bit", 3), ("awq", "group_size", 32), ("awq", "version", "gemv"), ("awq_gemv", "version", "gemm"),
    ("awq_gemv", "group_size", 32),
    ("fp8_block", "weight_block_size", [64, 64]), ("nvfp4", "group_size", 32), ("ct_nvfp4", "group_size", 32),
    ("ct_mxfp4", "group_size", 16),
]
# The same with an exception for some modules that corrects them.
EXCEPTIONS = [
    ("gptq", {"bits": 8, "dynamic": {"+:.*": {"bits": 4}}}), ("gptq", {"group_size": 32, "dynamic": {"+:.*": {"group_size": 64}}}),
    ("gptq", {"quant_method": "auto-round", "bits": 2, "extra_config": {"model.layers.0.mlp.up_proj": {"bits": 4}}}),
]
# Values that mlx2gguf copies unchanged; only verify checks them.
ONLY_VERIFIED = ["fp8 with NaN among the codes", "mxfp4 with a scale that is NaN"]
# Unknown versions and layouts, which the message must name.
UNKNOWN = {
    "awq": [("version", "gemx"), ("version", "marlin"), ("version", "gemv_fast")],
    "gptq": [("checkpoint_format", "gptq_v3"), ("checkpoint_format", "marlin")],
    "ct_int4": [("format", "marlin-24"), ("format", "sparse-24-bitmask"), ("format", "frobnicated")],
    "nvfp4": [("quant_algo", "W4A16_AWQ")],
}


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True)


def problems(bin_dir, directory, work, wanted, converts, verifies):
    wrong = []
    done = run(f"{bin_dir}/mlx2gguf", "--no-vocab", directory, "-o", f"{work}/out.gguf")
    if converts: os.remove(f"{work}/out.gguf")
    elif done.returncode != 3: wrong.append(f"mlx2gguf: exit {done.returncode}, not 3: {done.stderr.strip()}")
    elif len(done.stderr.splitlines()) != 1: wrong.append(f"mlx2gguf: more than one line: {done.stderr.strip()}")
    elif wanted not in done.stderr: wrong.append(f"mlx2gguf: does not name {wanted}: {done.stderr.strip()}")
    if os.listdir(work) != ["m"]: wrong.append(f"mlx2gguf: leaves {os.listdir(work)}")
    if not verifies: return wrong
    done = run(f"{bin_dir}/verify", "--data", "--json", directory)
    errors = [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]
    if done.returncode != 1 or not any(wanted in each["where"] for each in errors):
        wrong.append(f"verify: exit {done.returncode}, {[each['where'] + ': ' + each['message'] for each in errors]}")
    return wrong


def main():
    bin_dir, model, *names = sys.argv[1:]
    failed = passed = 0
    made = {}

    def check(title, form, apply, settings, wanted, verifies):
        nonlocal failed, passed
        if form not in made: made[form] = forms.quantise(model, form)[0]
        tensors = dict(made[form])
        apply(tensors)
        with tempfile.TemporaryDirectory() as work:
            forms.write(model, f"{work}/m", tensors, settings)
            wrong = problems(bin_dir, f"{work}/m", work, wanted, title in ONLY_VERIFIED, verifies)
        for one in wrong: print(f"{title}: {one}")
        failed += 1 if wrong else 0
        passed += 0 if wrong else 1

    for form in forms.FORMS:  # unchanged forms have no errors
        if names: break
        with tempfile.TemporaryDirectory() as work:
            forms.write(model, f"{work}/m", forms.quantise(model, form)[0], forms.FORMS[form][1])
            done = run(f"{bin_dir}/verify", "--data", f"{work}/m")
            if done.returncode: print(f"{form}: verify: {done.stdout.strip()}")
            failed += 1 if done.returncode else 0
    for title, (form, apply) in CASES.items():
        if not names or title in names: check(title, form, apply, forms.FORMS[form][1], P, True)
    for form, key, value in CONTRADICTIONS:
        changed = copy.deepcopy(forms.FORMS[form][1])
        place = changed["config_groups"]["group_0"]["weights"] if "config_groups" in changed else changed
        if key == "w_bit": del place["bits"]
        place[key] = value
        title = f"{form}, {key} {value}"
        if not names or title in names: check(title, form, lambda tensors: None, changed, "model.layers.", True)
    # Two FP8 modules with one scale each, although the settings state blocks.
    title = "fp8_tensor, weight_block_size [32, 32]"
    settings = {"quant_method": "fp8", "weight_block_size": [32, 32]}
    if not names or title in names: check(title, "fp8_tensor", lambda tensors: None, settings, "model.layers.", True)
    for form, settings in EXCEPTIONS:
        if names: break
        with tempfile.TemporaryDirectory() as work:
            forms.write(model, f"{work}/m", forms.quantise(model, form)[0], forms.FORMS[form][1] | settings)
            done = run(f"{bin_dir}/verify", "--data", f"{work}/m")
            if done.returncode: print(f"{form} {settings}: verify: {done.stdout.strip()}")
            failed += 1 if done.returncode else 0
    for form, settings in UNKNOWN.items():
        for key, value in settings:
            changed = copy.deepcopy(forms.FORMS[form][1])
            changed[key] = value
            title = f"{form}, {key} {value}"
            if not names or title in names: check(title, form, lambda tensors: None, changed, value, False)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
