#!/usr/bin/env python3
"""Reads the outputs of st-edit as PyTorch tensors, in the way in which safetensors' own reader makes them (a buffer over
the file, a view of the type, the shape), and compares copies with the source and casts with PyTorch's.
usage: torch_read.py BIN_DIR CORPUS"""
import json, os, struct, subprocess, sys, tempfile

import torch

BIN, CORPUS = sys.argv[1:3]
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
         "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
UNSIGNED = {"U32": torch.int32, "U16": torch.int16}  # PyTorch 1.13 lacks them: the same bits
failures, read = [], 0


def check(fine, what):
    if not fine:
        failures.append(what)
        print(f"wrong: {what}")


def load_file(path):
    """Returns {name: tensor}; checks what safetensors' reader checks."""
    size = os.path.getsize(path)
    whole = torch.from_file(path, size=size, dtype=torch.uint8)
    length, = struct.unpack("<Q", bytes(whole[:8].tolist()))
    entries = json.loads(bytes(whole[8:8 + length].tolist()))
    entries.pop("__metadata__", None)
    tensors, end = {}, 0
    for name, entry in sorted(entries.items(), key=lambda each: each[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        check(begin == end, f"{path}: {name} begins at {begin}, {end} wanted")
        end = stop
        kind = TYPES.get(entry["dtype"]) or UNSIGNED[entry["dtype"]]
        raw = whole[8 + length + begin:8 + length + stop].clone()
        tensors[name] = raw.view(kind).reshape(entry["shape"])
    check(8 + length + end == size, f"{path}: bytes behind the last tensor")
    return tensors


def load(path):
    global read
    if os.path.isfile(path): tensors = load_file(path)
    else:
        index = f"{path}/model.safetensors.index.json"
        files = sorted(set(json.load(open(index))["weight_map"].values())) if os.path.exists(index) else ["model.safetensors"]
        tensors = {name: tensor for file in files for name, tensor in load_file(f"{path}/{file}").items()}
    read += len(tensors)
    return tensors


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.view(torch.uint8) if a.dim() else a.reshape(1).view(torch.uint8),
                                                                     b.view(torch.uint8) if b.dim() else b.reshape(1).view(torch.uint8))


def edit(*arguments):
    run = subprocess.run([f"{BIN}/st-edit", "-q", "--force", *arguments], capture_output=True, text=True)
    check(run.returncode == 0, f"st-edit {' '.join(arguments)}: {run.stderr.strip()}")


def main():
    with tempfile.TemporaryDirectory() as work:
        for model in ["mixtral_bf16", "llama_bf16", "qwen3_4bit", "qwen3_moe_4bit"]:
            source = f"{CORPUS}/zoo/{model}/model"
            before = load(source)
            for flags, out in [((), "copy"), (("--single",), "one.safetensors"), (("--max-shard-size", "20000"), "shards"),
                               (("--reserve", "4K"), "room")]:
                edit(source, *flags, "-o", f"{work}/{out}")
                after = load(f"{work}/{out}")
                check(set(after) == set(before), f"{model} {flags}: other names")
                for name, tensor in before.items(): check(same(after.get(name), tensor), f"{model} {flags}: {name} differs")
            for target, kind in [("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)]:
                edit(source, "--dtype", target, "-o", f"{work}/cast")
                for name, tensor in load(f"{work}/cast").items():
                    old = before[name]
                    is_scale = name.endswith((".scales", ".biases"))  # they stay, as do integers
                    check(same(tensor, old.to(kind) if old.is_floating_point() and not is_scale else old), f"{model} --dtype {target}: {name} differs")
        # Every value of the 16-bit types through F32 and back, and F32 values between those of the small types.
        bits = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16)
        halves, brains = bits.view(torch.float16), bits.view(torch.bfloat16)
        torch.manual_seed(1)
        floats = torch.randn(20000) * torch.pow(torch.tensor(2.0), torch.randint(-30, 12, (20000,)).float())
        tensors = {"f16": ("F16", halves[torch.isfinite(halves)]), "bf16": ("BF16", brains[torch.isfinite(brains) & (brains.float().abs() < 60000)]),
                   "f32": ("F32", floats[floats.abs() < 60000])}
        header, data = {}, b""
        for name, (dtype, values) in tensors.items():
            raw = bytes(values.contiguous().view(torch.uint8).tolist())
            header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        open(f"{work}/values.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
        for target, kind in [("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)]:
            edit(f"{work}/values.safetensors", "--dtype", target, "-o", f"{work}/out.safetensors")
            for name, tensor in load(f"{work}/out.safetensors").items():
                check(same(tensor, tensors[name][1].to(kind)), f"values of {name} as {target} differ")
    check(read > 500, f"only {read} tensors were read")
    print(f"{read} tensors as PyTorch has them" if not failures else f"{len(failures)} wrong")
    sys.exit(1 if failures else 0)


main()
