#!/usr/bin/env python3
"""Runs tiny models in every form of forms.py (a dense model and mixtures of experts) in llama.cpp. With every tensor
widened to F32 their logits must equal those of their float32 twin except for noise, and nearly so as converted by
default.
usage: logits.py BIN_DIR ZOO COMMAND that prints logits…"""
import json, os, subprocess, sys, tempfile

import numpy as np

import forms

HERE = os.path.dirname(os.path.abspath(__file__))
# Llama, and Mixtral and Qwen 2 MoE in Hugging Face's form. For Qwen 2 MoE llama.cpp does not apply ".scale" tensors.
MODELS = ["llama_bf16", "mixtral_bf16", "qwen2_moe_bf16"]
NOISE = 1e-3     # largest difference of a log-probability, due to another order of summation
ROUNDED = 0.2    # as converted: RMS relative to the spread; llama.cpp rounds the inputs of quantised blocks to 8 bits

tools, zoo, client = sys.argv[1], sys.argv[2], sys.argv[3:]


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode: raise AssertionError(f"{os.path.basename(arguments[0])}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def convert(directory, out, *flags):
    run(f"{tools}/mlx2gguf", directory, *flags, "-q", "--force", "-o", out)
    return out


def widened(path):
    out = path.removesuffix(".gguf") + "-f32.gguf"
    run(f"{tools}/gguf-quantize", path, "--type", "f32", "-q", "--force", "-o", out)
    return out


def logits(path, tokens):
    rows = [line.split()[2:] for line in run(*client, path, *map(str, tokens)).splitlines() if line.startswith("logits ")]
    return np.array(rows, float)


def model_of(name, work):
    source = f"{zoo}/{name}"
    form = f"{work}/{name}"
    done = subprocess.run([sys.executable, "-B", f"{HERE}/../zoo/hf_forms.py", source, form])
    if done.returncode == 77: return f"{source}/model"  # both forms are the same
    if done.returncode: raise AssertionError(f"no Hugging Face form of {name}")
    return form


def check(model, form, tokens, work):
    """Returns the largest difference with widened tensors, and the difference as converted relative to the logits'
    spread."""
    tensors, twin = forms.quantise(model, form)
    forms.write(model, f"{work}/q", tensors, forms.FORMS[form][1])
    forms.write(model, f"{work}/t", twin)
    wanted = logits(widened(convert(f"{work}/t", f"{work}/t.gguf", "--fallback", "f32")), tokens)
    exact = logits(widened(convert(f"{work}/q", f"{work}/q.gguf", "--exact", "--fallback", "f32")), tokens)
    native = logits(convert(f"{work}/q", f"{work}/q.gguf"), tokens)
    if not len(wanted) or wanted.shape != exact.shape or wanted.shape != native.shape: raise AssertionError("no logits")
    return np.abs(exact - wanted).max(), np.sqrt(np.mean((native - wanted)**2)) / wanted.std()


def main():
    failed = passed = 0
    with tempfile.TemporaryDirectory() as work:
        for name in MODELS:
            model = model_of(name, work)
            tokens = json.load(open(f"{zoo}/{name}/expected.json"))["tokens"]
            for form in forms.FORMS:
                try:
                    exact, native = check(model, form, tokens, work)
                    wrong = "" if exact <= NOISE and native <= ROUNDED else f": {NOISE} and {ROUNDED:.0%} are allowed"
                    print(f"{name}, {form}: logits differ by {exact:.1e}, as converted by {native:.1%}{wrong}")
                except AssertionError as problem:
                    wrong = problem
                    print(f"{name}, {form}: {problem}")
                failed += 1 if wrong else 0
                passed += 0 if wrong else 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
