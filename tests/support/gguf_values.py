"""Reads the keys and tensors of a GGUF with gguf-dump: {key: value} and {name: array}. Arrays are float64 for F32, F16
and BF16, bytes for other types."""
import json
import subprocess

import numpy as np

from safetensors_file import DTYPES, f32


def load(gguf_dump, path):
    done = subprocess.run([gguf_dump, "--json", path], capture_output=True, text=True)
    assert done.returncode == 0, f"gguf-dump {path}: exit {done.returncode}: {done.stderr.strip()}"
    listing = json.loads(done.stdout)
    values = {}
    with open(path, "rb") as file:
        for name, tensor in listing["tensors"].items():
            file.seek(tensor["data_offset"])
            values[name] = raw = file.read(tensor["bytes"])
            if tensor["type"] in ("F32", "F16", "BF16"):
                array = np.frombuffer(raw, DTYPES[tensor["type"]]).reshape(tensor["shape"][::-1])
                values[name] = f32((tensor["type"], array)).astype(np.float64)
    return {name: key["value"] for name, key in listing["metadata"].items() if "value" in key}, values
