"""State dicts with random views, transposes, shared storages, half types, scalars and empty tensors, saved by torch in both of its
forms: what st-dump reads, and what pt2st writes, are the values that torch loads. Usage: torch_compare.py BIN_DIR [SEED [COUNT]]"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections import OrderedDict

import torch

tools = sys.argv[1]
first, count = int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 200
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32,
          torch.int64, torch.bool, torch.complex64]
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64", torch.int8: "I8",
         torch.uint8: "U8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.bool: "BOOL", torch.complex64: "C64"}


def some(random, shape):
    dtype = random.choice(DTYPES)
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype == torch.complex64:
        return torch.complex(torch.randn(shape), torch.randn(shape))
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -100, 100, shape).to(dtype)


def tensor(random, known):
    kind = random.choice(["plain", "plain", "slice", "transpose", "permute", "expand", "shared", "view", "scalar", "empty", "parameter", "step"])
    size = lambda: random.randrange(1, 9)
    if kind == "scalar": return some(random, ())
    if kind == "empty": return some(random, random.choice([(0,), (3, 0), (0, 4, 2)]))
    if kind == "shared" and known: return random.choice(known)
    if kind == "view" and known:
        whole = random.choice(known)
        return whole[random.randrange(len(whole)):] if whole.dim() and len(whole) else whole
    if kind == "slice": return some(random, (size() + 4, size() + 4))[2:, 1:-1]
    if kind == "transpose": return some(random, (size(), size())).t()
    if kind == "permute": return some(random, (size(), size(), size())).permute(2, 0, 1)
    if kind == "expand": return some(random, (size(), 1)).expand(-1, size())
    if kind == "step": return some(random, (12, size()))[::3]
    made = some(random, tuple(size() for _ in range(random.randrange(1, 4))))
    return torch.nn.Parameter(made, requires_grad=made.is_floating_point()) if kind == "parameter" else made


def state_dict(random):
    known, state = [], OrderedDict()
    for number in range(random.randrange(1, 12)):
        made = tensor(random, known)
        known.append(made.detach())
        state[random.choice([f"layers.{number}.weight", f"b{number}", f"модель.{number}"])] = made
    return random.choice([state, dict(state), {"state_dict": state, "epoch": 3}, {"model": state}, {"module": state}])


def raw(value):
    value = value.detach().contiguous()
    if value.numel() == 0: return b""
    if value.dtype == torch.bfloat16: return value.view(torch.int16).numpy().tobytes()
    return value.numpy().tobytes()


def flat(state, prefix=""):
    for name, value in state.items():
        if isinstance(value, torch.Tensor): yield prefix + name, value
        elif isinstance(value, dict): yield from flat(value, prefix + name + ".")


def safetensors(path):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]) for name, t in header.items()}


def run(*arguments):
    done = subprocess.run([os.path.join(tools, arguments[0]), *arguments[1:]], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments[0]}: exit {done.returncode}: {done.stderr} {done.stdout[-300:]}"
    return done.stdout


def check(seed, folder):
    generator = random.Random(seed)
    torch.manual_seed(seed)
    path = os.path.join(folder, f"{seed}.pt")
    torch.save(state_dict(generator), path, _use_new_zipfile_serialization=generator.random() < 0.7,
               pickle_protocol=generator.choice([2, 2, 3, 4]))
    wanted = {name: (NAMES[value.dtype], list(value.shape), raw(value)) for name, value in flat(torch.load(path))}
    listed = json.loads(run("st-dump", "--json", path))["tensors"]
    assert {name: (t["dtype"], t["shape"]) for name, t in listed.items()} == {name: t[:2] for name, t in wanted.items()}, "other tensors"
    run("verify", path)
    for name in generator.sample(sorted(wanted), min(2, len(wanted))):
        dtype, shape, data = wanted[name]
        if dtype not in ("F32", "F16", "BF16") or not data: continue
        values = json.loads(run("st-dump", "--json", "--values", name, path))["values"]
        exact = dict(flat(torch.load(path)))[name].detach().float().flatten().tolist()
        values = [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]  # decimals that read back to float32
        assert values == exact, f"values of {name}"
    out = path + ".safetensors"
    report = json.loads(run("pt2st", path, "-o", out, "--report", "json"))
    written = safetensors(out)
    for shared in report["shared"]: written[shared["name"]] = written[shared["kept"]]
    prefix = report["wrapper"] + "." if report["wrapper"] else ""
    assert {prefix + name: t for name, t in written.items()} == wanted, "pt2st writes other values"


failed = 0
with tempfile.TemporaryDirectory() as folder:
    for seed in range(first, first + count):
        try:
            check(seed, folder)
        except AssertionError as problem:
            print(f"seed {seed}: {problem}")
            failed += 1
print(f"{count - failed} of {count} state dicts are read as torch reads them; the first seed was {first}")
sys.exit(failed > 0)
