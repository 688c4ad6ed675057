"""Reads a checkpoint's tensors with torch and with the tools: {name: (dtype, shape, bytes)}."""
import json
import os
import struct
import subprocess

import torch

NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64", torch.int8: "I8",
         torch.uint8: "U8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.bool: "BOOL", torch.complex64: "C64"}


def raw(value):
    """Returns the values in row-major order. Applies conjugation and negation, which torch may only mark."""
    value = value.detach().resolve_conj().resolve_neg().contiguous()
    if value.numel() == 0: return b""
    if value.dtype == torch.bfloat16: return value.view(torch.int16).numpy().tobytes()
    return value.numpy().tobytes()


def flat_names(value, path=(), above=()):
    """Yields (name, tensor) for each path of texts and numbers from the root."""
    if isinstance(value, torch.Tensor):
        yield ".".join(path), value
    elif id(value) not in above and isinstance(value, (dict, list, tuple)):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in entries:
            if isinstance(key, str) or type(key) is int:
                yield from flat_names(item, path + (str(key),), above + (id(value),))


def read_by_torch(named):
    return {name: (NAMES[value.dtype], list(value.shape), raw(value)) for name, value in named}


def difference(ours, wanted):
    """Returns the sorted names of differing tensors; empty if both are equal."""
    def is_same(a, b):
        return a is not None and b is not None and a[:2] == b[:2] and a[2] in (None, b[2])
    return sorted(name for name in ours.keys() | wanted.keys() if not is_same(ours.get(name), wanted.get(name)))


def run(tools, *arguments):
    return subprocess.run([os.path.join(tools, arguments[0]), *arguments[1:]], capture_output=True, text=True)


def safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]) for name, t in header.items()}


def accepted_by_tools(tools, path):
    """Returns the tensors that the tools read, or None if they refuse the file. Checks that pt2st writes every tensor
    that st-dump lists, or reports it as another name of one or as left out."""
    dump = run(tools, "st-dump", "--json", path)
    verify = run(tools, "verify", path)
    assert (dump.returncode, verify.returncode) in ((0, 0), (3, 1)), f"st-dump gives {dump.returncode}, verify {verify.returncode}: {dump.stderr} {verify.stdout}"
    if dump.returncode:
        return None
    listed = {name: (t["dtype"], t["shape"]) for name, t in json.loads(dump.stdout)["tensors"].items()}
    out = path + ".safetensors"
    done = run(tools, "pt2st", path, "-o", out, "--report", "json")
    if not listed:
        assert done.returncode == 3, f"pt2st gives {done.returncode} without tensors"
        return {}
    assert done.returncode == 0, f"pt2st gives {done.returncode}: {done.stderr}"
    report, written = json.loads(done.stdout), safetensors(out)
    for shared in report["shared"]:
        written[shared["name"]] = written[shared["kept"]]
    prefix = report["wrapper"] + "." if report["wrapper"] else ""
    found = {prefix + name: tensor for name, tensor in written.items()}
    if listed.keys() == {""}: found = {"": found.pop("tensor")}
    assert listed.keys() == found.keys() | set(report["left_out"]), f"st-dump lists {sorted(listed)}, pt2st has {sorted(found)} and leaves out {report['left_out']}"
    for name, (dtype, shape) in listed.items():
        assert name not in found or found[name][:2] == (dtype, shape), f"{name} is listed as {dtype} {shape}"
    missing = {name: listed[name] for name in report["left_out"]}
    if missing:
        found.update(one_by_one(tools, path, missing))
    return found


def one_by_one(tools, path, tensors):
    """Yields the values of tensors that pt2st leaves out, from st-dump."""
    codes = {"F32": "f", "F16": "e", "F64": "d", "I8": "b", "U8": "B", "I16": "h", "I32": "i", "I64": "q"}
    for name, (dtype, shape) in tensors.items():
        if dtype not in codes:
            yield name, (dtype, shape, None)  # st-dump shows these in another form
            continue
        values = json.loads(run(tools, "st-dump", "--json", "--values", name, path).stdout)["values"]
        yield name, (dtype, shape, struct.pack(f"<{len(values)}{codes[dtype]}", *(float(v) if dtype[0] == "F" else int(v) for v in values)))
