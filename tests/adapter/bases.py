"""Tests adapters on bases with factors beside their weights (".scale": FP8, NVFP4, stacks of experts, Gemma 4's own),
and DoRA on kv_b_proj, one of whose tensors has the rows as columns. The expected sums are computed here with numpy.
usage: bases.py BIN_DIR CORPUS"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import gguf_values
from safetensors_file import load, save

tools, corpus = sys.argv[1:]
random = np.random.default_rng(11)
PEFT = dict(peft_type="LORA", r=2, lora_alpha=4)  # scale 2: the product counts twice


def run(tool, *arguments):
    return subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, text=True)


def made(tool, *arguments):
    done = run(tool, *arguments)
    assert done.returncode == 0, f"{tool} {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}"
    return done


def refused(pattern, *arguments):
    done = run(*arguments)
    assert done.returncode == 3 and re.search(pattern, done.stderr), f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}"


def tensors(path):
    return gguf_values.load(os.path.join(tools, "gguf-dump"), path)[1]


def adapter(folder, factors, config=PEFT):
    os.makedirs(folder)
    name = "adapter_model.safetensors" if "peft_type" in config else "adapters.safetensors"
    save({name: ("F32", a) for name, a in factors.items()}, os.path.join(folder, name))
    json.dump(config, open(os.path.join(folder, "adapter_config.json"), "w"))


def factor(*shape):
    return (random.standard_normal(shape) / 8).astype(np.float32)


def pair(module, inputs, outputs):
    a, b = factor(2, inputs), factor(outputs, 2)
    return {f"base_model.model.{module}.lora_A.weight": a, f"base_model.model.{module}.lora_B.weight": b}, 2 * b.astype(np.float64) @ a


def close(title, got, wanted, relative=1e-6):
    worst = np.abs(got - wanted).max() / np.abs(wanted).max()
    assert worst < relative, f"{title}: differs by {worst} of the largest value"


def effective(values, name):
    scale = values.get(name + ".scale", np.ones(1))
    return values[name + ".weight"] * (scale.reshape(-1, 1, 1) if scale.size > 1 else scale)


def f32(path, *more):
    made("gguf-quantize", path, *more, "--type", "f32", "-q", "--force", "-o", path + ".f32")
    return tensors(path + ".f32")


def check_merged(title, base, folder, products):
    """Checks that the file holds the sums, and that tensors without a pair and all factors are unchanged to the bit."""
    before, after = f32(base), f32(base, "--lora", folder)
    assert before.keys() == after.keys(), title
    for name in before:
        if name.removesuffix(".weight") in products: continue
        assert np.array_equal(before[name], after[name]), f"{title}: {name} differs"
    for name, product in products.items():
        close(f"{title}: {name}", effective(after, name), effective(before, name) + product)


def check_dense(work, form, crashes):
    """Tests one factor per matrix."""
    source, path = os.path.join(corpus, "hf_quantized", form), lambda name: os.path.join(work, name)
    made("mlx2gguf", source, "-q", "-o", path("base.gguf"))
    made("mlx2gguf", source, "--compat", "-q", "-o", path("plain.gguf"))
    shapes = {n: t["shape"] for n, t in json.loads(made("gguf-dump", "--json", path("base.gguf")).stdout)["tensors"].items()}
    assert "blk.0.ffn_down.scale" in shapes and "blk.0.attn_output.scale" in shapes
    modules = {"attn_output": "self_attn.o_proj", "attn_q": "self_attn.q_proj", "ffn_up": "mlp.up_proj", "ffn_gate": "mlp.gate_proj", "ffn_down": "mlp.down_proj"}
    all_factors, products = {}, {}
    for row, module in modules.items():
        factors, product = pair(f"model.layers.0.{module}", *shapes[f"blk.0.{row}.weight"])
        adapter(path(row), factors)
        all_factors |= factors
        if row == "attn_q": continue  # its rows are reordered, so its product is not compared here
        products[f"blk.0.{row}"] = product
    adapter(path("one"), {name: a for name, a in all_factors.items() if "q_proj" not in name})
    check_merged(form, path("base.gguf"), path("one"), products)
    why = "crashes llama.cpp" if crashes else "multiplies by the factor"
    for row in modules:
        ignored = row.startswith("ffn")
        for base in (path("base.gguf"), source):
            made("mlx2gguf", path(row), "--base", path("plain.gguf"), "-q", "--force", "-o", path("lora.gguf"))
            together = run("verify", "--together", base, path("lora.gguf")), run("verify", "--together", base, path(row))
            if ignored:
                refused(f"blk.0.{row}.weight.*{why}.*merge", "mlx2gguf", path(row), "--base", base, "-q", "-o", path("no.gguf"))
                for done in together: assert why in done.stdout and "[adapter-merge]" in done.stdout, done.stdout
                assert together[0].returncode == crashes, f"{base}: {row}: exit {together[0].returncode}"
            else:
                made("mlx2gguf", path(row), "--base", base, "-q", "--force", "-o", path("yes.gguf"))
                for done in together: assert done.returncode == 0 and "adapter-merge" not in done.stdout, done.stdout
        assert not os.path.exists(path("no.gguf"))


def check_experts(work):
    """Tests one factor per expert: an FP8 mixture with one scale each. llama.cpp applies pairs on such stacks
    correctly."""
    path = lambda name: os.path.join(work, name)
    shutil.copytree(os.path.join(corpus, "hf_quantized", "fp8_block_moe"), path("moe"))
    file, = (name for name in os.listdir(path("moe")) if name.endswith(".safetensors"))
    stored = {}
    for name, tensor in load(os.path.join(path("moe"), file)).items():
        if name.endswith("weight_scale_inv"):
            name, tensor = name.removesuffix("_inv"), ("F32", np.array(0.001 * (1 + random.integers(1, 100)), np.float32))
        stored[name] = tensor
    save(stored, os.path.join(path("moe"), file))
    config = json.load(open(os.path.join(path("moe"), "config.json")))
    config["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "FP8"}
    json.dump(config, open(os.path.join(path("moe"), "config.json"), "w"))
    made("mlx2gguf", path("moe"), "-q", "-o", path("moe.gguf"))
    values = f32(path("moe.gguf"))
    experts, outputs, inputs = values["blk.0.ffn_down_exps.weight"].shape
    scales = values["blk.0.ffn_down_exps.scale"]
    assert scales.size == experts and len(set(scales)) > 1
    products, factors = np.zeros((experts, outputs, inputs)), {}
    for expert in range(1, experts):  # the first expert has no pair
        more, products[expert] = pair(f"model.layers.0.mlp.experts.{expert}.down_proj", inputs, outputs)
        factors |= more
    adapter(path("lora"), factors)
    check_merged("experts", path("moe.gguf"), path("lora"), {"blk.0.ffn_down_exps": products})
    merged = tensors(path("moe.gguf") + ".f32")["blk.0.ffn_down_exps.weight"]
    assert np.array_equal(merged[0], values["blk.0.ffn_down_exps.weight"][0]), "an expert without a pair differs"
    made("mlx2gguf", path("lora"), "--base", path("moe.gguf"), "-q", "-o", path("lora.gguf"))


def check_own_scale(work):
    """Checks that Gemma 4's ffn_down_exps.scale is treated as a tensor of its own, not as a factor of the weights."""
    path = lambda name: os.path.join(work, name)
    made("mlx2gguf", os.path.join(corpus, "zoo", "gemma4_moe_bf16", "model"), "-q", "-o", path("gemma.gguf"))
    before = f32(path("gemma.gguf"))
    scale = "blk.0.ffn_down_exps.scale"
    assert not np.allclose(before[scale], 1)
    experts, outputs, inputs = before["blk.0.ffn_down_exps.weight"].shape
    a, b = factor(experts, 2, inputs), factor(experts, outputs, 2)
    module = "language_model.model.layers.0.experts.switch_glu.down_proj"
    adapter(path("lora"), {module + ".lora_a": a, module + ".lora_b": b}, dict(fine_tune_type="lora", lora_parameters=dict(rank=2, scale=2.0)))
    after = f32(path("gemma.gguf"), "--lora", path("lora"))
    assert np.array_equal(before[scale], after[scale])
    close("gemma4", after["blk.0.ffn_down_exps.weight"], before["blk.0.ffn_down_exps.weight"] + 2 * b.astype(np.float64) @ a)


def check_dora(work, case):
    """Tests DoRA magnitudes, which belong to rows of kv_b_proj: these are columns of attn_k_b and rows of attn_v_b."""
    source, path = os.path.join(corpus, "zoo", case, "model"), lambda name: os.path.join(work, name)
    made("mlx2gguf", source, "--fallback", "f32", "-q", "-o", path("base.gguf"))
    before = f32(path("base.gguf"))
    layer = min(int(name.split(".")[1]) for name in before if name.endswith(".attn_k_b.weight"))
    k, v = (before[f"blk.{layer}.attn_{name}_b.weight"] for name in "kv")
    whole = np.concatenate([k.transpose(0, 2, 1), v], 1)  # heads, rows of a head, inputs
    heads, rows, inputs = whole.shape
    module = f"model.layers.{layer}.self_attn.kv_b_proj"
    factors, product = pair(module, inputs, heads * rows)
    lengths = (0.5 + random.random(heads * rows)).astype(np.float32)
    adapter(path("dora"), factors | {f"base_model.model.{module}.lora_magnitude_vector": lengths}, dict(PEFT, use_dora=True))
    more, second = pair(module, inputs, heads * rows)
    adapter(path("plain"), more)
    flat = whole.reshape(heads * rows, inputs)

    def trained(weight, scale):
        full = weight + product
        full *= (lengths / np.linalg.norm(full, axis=1))[:, None]
        return weight + scale * (full - weight)

    cases = {"": ([path("dora")], trained(flat, 1)), " by half": ([path("dora") + "=0.5"], trained(flat, 0.5)), " after another": ([path("plain"), path("dora")], trained(flat + second, 1))}
    for title, (wanted, values) in cases.items():
        lora = [argument for one in wanted for argument in ("--lora", one)]
        values = values.reshape(whole.shape)
        made("mlx2gguf", source, *lora, "--fallback", "f32", "-q", "--force", "-o", path("merged.gguf"))
        for origin, got in {"directory": f32(path("merged.gguf")), "GGUF": f32(path("base.gguf"), *lora)}.items():
            own = k.shape[2]
            close(f"{case}{title}, {origin}: attn_k_b", got[f"blk.{layer}.attn_k_b.weight"], values[:, :own].transpose(0, 2, 1))
            close(f"{case}{title}, {origin}: attn_v_b", got[f"blk.{layer}.attn_v_b.weight"], values[:, own:])


checks = [(check_dense, "fp8_modelopt", 0), (check_dense, "nvfp4_modelopt", 1), (check_dense, "nvfp4_ct", 1), (check_experts,), (check_own_scale,)]
checks += [(check_dora, case) for case in ("deepseek_v2_bf16", "deepseek_v2_lite_4bit", "deepseek_v3_bf16", "glm4_moe_lite_bf16", "kimi_linear_bf16")]
failed = 0
for check, *arguments in checks:
    with tempfile.TemporaryDirectory() as work:
        try:
            check(work, *arguments)
        except AssertionError as problem:
            print(f"{check.__name__} {arguments}: {problem}")
            failed += 1
print(f"{len(checks) - failed} passed, {failed} failed")
sys.exit(failed > 0)
