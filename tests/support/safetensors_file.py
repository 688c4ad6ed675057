"""Reads and writes safetensors files as {name: (dtype, array)}; types that numpy lacks are represented by their
bits."""
import json, struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "I32": np.int32, "I8": np.int8, "U8": np.uint8,
          "F8_E4M3": np.uint8}


def load(path):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, info in json.loads(data[8:8 + size]).items():
        if name == "__metadata__": continue
        begin, end = info["data_offsets"]
        tensors[name] = (info["dtype"], np.frombuffer(data[8 + size + begin:8 + size + end], DTYPES[info["dtype"]]).reshape(info["shape"]))
    return tensors


def load_metadata(path):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]).get("__metadata__", {})


def save(tensors, path, metadata={"format": "pt"}):
    header, parts, at = {"__metadata__": metadata}, [], 0
    for name, (dtype, values) in tensors.items():
        data = np.ascontiguousarray(values.astype(DTYPES[dtype], copy=False)).tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def f32(tensor):
    dtype, values = tensor
    return (values.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else values.astype(np.float32)
