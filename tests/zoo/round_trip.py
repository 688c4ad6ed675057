#!/usr/bin/env python3
"""Compares a directory with itself after conversion to GGUF and back. Prints differences and then exits with status
1.
usage: round_trip.py BEFORE AFTER
Names must be equal, including those below language_model, unless the text part became a model of its own. Some kinds
of
data cannot come back: 6-bit and 8-bit modules (other codes, values within 2 %), quantised routers and other tensors
that
GGUFs have as F32 (plain, equal values), mxfp8 (plain, equal values), copies of a tied embedding, and settings of
config.json that no GGUF key holds."""
import json, os, re, struct, sys
import numpy as np


# Other parts of the model, and tensors that no loader needs.
LEFT_OUT = re.compile(r"visual|vision|multi_modal|mtp\.|inv_freq|masked_bias|(?<!_)attn\.bias$")


def load(folder, is_text_alone):
    tensors = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".safetensors"):
            continue
        data = open(os.path.join(folder, file), "rb").read()
        size, = struct.unpack("<Q", data[:8])
        for name, info in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = info["data_offsets"]
                if is_text_alone:
                    name = name.replace("language_model.", "")
                tensors[name] = (info["dtype"], info["shape"], data[8 + size + begin:8 + size + end])
    return tensors


def floats(tensor):
    dtype, shape, data = tensor
    if dtype == "BF16":
        values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(data, {"F16": np.float16, "F32": np.float32}[dtype]).astype(np.float32)
    return values.reshape(shape)


def params_of(config, module):
    section = config.get("quantization") or {}
    own = section.get(module, section.get("language_model." + module, section))
    if own is True:
        own = section
    mode = own.get("mode", "affine")
    bits, group = {"affine": (4, 64), "mxfp4": (4, 32), "mxfp8": (8, 32), "nvfp4": (4, 16)}[mode]
    return mode, own.get("bits", bits), own.get("group_size", group)


# Routers, halves of kv_b_proj, matrices with reordered columns, and other tensors that mlx2gguf writes as F32.
PLAIN_IN_GGUF = re.compile(r"(gate|router|router\.layer|gate\.wg|embed_q|unembed_out|kv_b_proj|out_proj|o_proj|bcdt_proj|dt_proj)$|altup_")
FP4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def values(tensors, config, module):
    """Returns a module's weight as float32."""
    weight = tensors[module + ".weight"]
    if module + ".scales" not in tensors:
        return floats(weight)
    mode, bits, group = params_of(config, module)
    dtype, shape, data = weight
    stream = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, bits)
    codes = (stream << np.arange(bits, dtype=np.uint8)).sum(1, dtype=np.uint32).reshape(-1, group)
    scale = tensors[module + ".scales"]
    if mode == "affine":
        result = floats(scale).reshape(-1, 1) * codes.astype(np.float32) + floats(tensors[module + ".biases"]).reshape(-1, 1)
    else:
        exponents = np.frombuffer(scale[2], np.uint8).astype(np.int32).reshape(-1, 1)
        if mode == "mxfp4":
            result = FP4[codes] * np.ldexp(np.float32(1), exponents - 127)
        else:
            return None
    return result.astype(np.float32).reshape(*shape[:-1], -1)


def main(before, after):
    old_config, new_config = (json.load(open(os.path.join(f, "config.json"))) for f in (before, after))
    old, new = (load(f, "text_config" not in new_config) for f in (before, after))
    layers = new_config.get("num_hidden_layers")
    wrong = []
    modules = lambda t: {n[:-7] for n in t if n.endswith(".weight") and n[:-7] + ".scales" in t}
    for name in sorted(set(old) | set(new)):
        module, _, part = name.rpartition(".")
        if part in ("scales", "biases") and module + ".scales" in old:
            continue
        if name not in new:
            if name == "lm_head.weight" and new_config.get("tie_word_embeddings", new_config.get("text_config", {}).get("tie_word_embeddings")):
                continue
            if LEFT_OUT.search(name) or f"layers.{layers}." in name:
                continue
            wrong.append(f"{name} is gone")
            continue
        if name not in old:
            if part in ("scales", "biases") and module + ".scales" not in old:
                wrong.append(f"{name} is new: {module} was plain")
            elif part not in ("scales", "biases"):
                wrong.append(f"{name} is new")
            continue
        if module in modules(old) and part == "weight":
            mode, bits, group = params_of(old_config, module)
            if module in modules(new):
                now = params_of(new_config, module)
                if mode in ("mxfp4", "nvfp4") or (mode == "affine" and bits <= 5):
                    if now != (mode, bits, group):
                        wrong.append(f"{module} is {now}, was {(mode, bits, group)}")
                        continue
                    for suffix in (".weight", ".scales", ".biases"):
                        if old.get(module + suffix) != new.get(module + suffix):
                            a, b = old[module + suffix], new[module + suffix]
                            wrong.append(f"{module}{suffix} differs: {a[0]} {a[1]} and {b[0]} {b[1]}")
                    continue
                a, b = values(old, old_config, module), values(new, new_config, module)
                if a is not None and (a.shape != b.shape or np.sqrt(((a - b) ** 2).sum() / (a ** 2).sum()) > 0.02):
                    wrong.append(f"{module} is far from what it was")
                continue
            a, b = values(old, old_config, module), floats(new[name])
            if a is not None and not (a.shape == b.shape and (a == b).all()):
                wrong.append(f"{module} is plain now, with other values")
            if bits <= 5 and not PLAIN_IN_GGUF.search(module):
                wrong.append(f"{module} is plain now, was {mode} {bits} bits")
            continue
        a, b = old[name], new[name]
        if a[1] != b[1]:
            wrong.append(f"{name} has shape {b[1]}, had {a[1]}")
        elif name.endswith("A_log") and np.allclose(floats(a), floats(b), rtol=2e-7, atol=1e-7):
            continue  # taking a logarithm again may change the last bit
        elif name == "model.final_layernorm.weight" and "lm_head_multiplier" in new_config:
            continue  # the norm now includes the multiplier
        elif not np.array_equal(floats(a), floats(b), equal_nan=True):
            distance = np.abs(floats(a) - floats(b)).max()
            wrong.append(f"{name} has other values, up to {distance:.2g} away")
    for line in wrong[:20]:
        print(line)
    if len(wrong) > 20:
        print(f"and {len(wrong) - 20} more")
    return bool(wrong)


sys.exit(main(*sys.argv[1:]))
