"""Adds adapters to matrices with numpy, as PEFT and mlx-lm define them (docs/adapters.md), for the tests of st-edit."""
import json, math, os, re

import numpy as np

from st_files import decode, read_file


def base_name(values, module):
    """The tensor of a module: its own name, or that of mlx-lm's directory."""
    for name in [module + ".weight", module, module.replace("transformer.h", "model.h") + ".weight"]:
        if name in values: return name
    return None


def expert_stack(values, module):
    found = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+)", module)
    if not found: return None, None
    which = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}.get(found[3], found[3])
    return f"{found[1]}.switch_mlp.{which}.weight", int(found[2])


def pattern_value(patterns, module, otherwise):
    for key, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({key})$", module): return value
    return otherwise


def merge(values, adapters):
    """Changes `values` ({name: array}) and returns the names of the changed tensors."""
    changed = set()
    for folder, weight in adapters:
        config = json.load(open(f"{folder}/adapter_config.json"))
        is_mlx = "fine_tune_type" in config
        _, stored = read_file(f"{folder}/{'adapters' if is_mlx else 'adapter_model'}.safetensors")
        tensors = {name: decode(dtype, data).reshape(shape) for name, (dtype, shape, data) in stored.items()}
        changed |= merge_mlx(values, tensors, config, weight) if is_mlx else merge_peft(values, tensors, config, weight)
    return changed


def merge_mlx(values, tensors, config, weight):
    changed = set()
    scale = config["lora_parameters"]["scale"] * weight
    for name, a in tensors.items():
        if not name.endswith(".lora_a"): continue
        module = name[:-len(".lora_a")]
        b = tensors[module + ".lora_b"]
        product = b @ a if a.ndim == 3 else (a @ b if "embed" in module else (a @ b).T)
        target = base_name(values, module)
        values[target] = values[target] + scale * product
        changed.add(target)
    return changed


def merge_peft(values, tensors, config, weight):
    changed = set()
    names = {re.sub(r"\.default(?=\.|$)", "", name).removeprefix("base_model.model."): value for name, value in tensors.items()}
    experts = {}
    for name, a in names.items():
        found = re.fullmatch(r"(.*)\.lora_(embedding_)?A(\.weight)?", name)
        if not found: continue
        module, embedding = found[1], bool(found[2])
        b = names[name.replace("_A", "_B")]
        rank = pattern_value(config.get("rank_pattern"), module, config["r"])
        alpha = pattern_value(config.get("alpha_pattern"), module, config["lora_alpha"])
        scale = alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank
        if re.search(r"\.experts(\.base_layer)*$", module):
            add_parameters(values, re.sub(r"(\.base_layer)+$", "", module), a, b, scale * weight, rank, changed)
            continue
        target, slice_ = base_name(values, module), None
        if target is None: target, slice_ = expert_stack(values, module)
        old = values[target] if slice_ is None else values[target][slice_]
        product = b @ a
        if embedding or product.shape != old.shape: product = product.T
        new = old + scale * weight * product
        magnitude = names.get(module + ".lora_magnitude_vector", names.get(module + ".lora_magnitude_vector.weight"))
        if magnitude is not None:
            whole = old + scale * product
            new = old + weight * (magnitude.reshape(-1, 1) / np.linalg.norm(whole, axis=1, keepdims=True) * whole - old)
        if slice_ is None: values[target] = new
        else: values[target][slice_] = new
        changed.add(target)
    for name, saved in names.items():
        plain = re.sub(r"\.modules_to_save", "", name)
        if "lora_" in name or plain not in values: continue
        values[plain] = values[plain] + weight * (saved - values[plain])
        changed.add(plain)
    return changed


def add_parameters(values, module, a, b, scale, rank, changed):
    """PEFT's target_parameters: A is expert-major, B expert-minor. gate_up_proj is two stacks in mlx-lm."""
    prefix = module.replace(".experts", ".switch_mlp")
    experts = a.shape[0] // rank
    products = np.stack([b[:, e::experts] @ a[e * rank:(e + 1) * rank] for e in range(experts)])
    down = values[f"{prefix}.down_proj.weight"].shape
    if products.shape[1:] == (2 * down[2], down[1]):
        parts = {"gate_proj": products[:, :down[2]], "up_proj": products[:, down[2]:]}
    else: parts = {"down_proj": products}
    for which, product in parts.items():
        name = f"{prefix}.{which}.weight"
        values[name] = values[name] + scale * product
        changed.add(name)
