"""Writes small GGUF and safetensors files with tensors of zeros, F32 unless they give a type. Key types follow from the Python values:
str, bool, int (u32), float (f32), lists of str, int, bool or float, and tuples of int (arrays of i32)."""
import json
import struct

# Elements and bytes of a block.
BLOCKS = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "BF16": (30, 1, 2)}


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def key(name, value):
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, bool):
        return text(name) + struct.pack("<IB", 7, value)
    if isinstance(value, float):
        return text(name) + struct.pack("<If", 6, value)
    if isinstance(value, tuple):
        return text(name) + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack("<%di" % len(value), *value)
    if isinstance(value, list) and isinstance(value[0], float):
        return text(name) + struct.pack("<IIQ", 9, 6, len(value)) + struct.pack("<%df" % len(value), *value)
    if isinstance(value, list) and isinstance(value[0], bool):
        return text(name) + struct.pack("<IIQ", 9, 7, len(value)) + bytes(value)
    if isinstance(value, list) and isinstance(value[0], int):
        return text(name) + struct.pack("<IIQ", 9, 4, len(value)) + struct.pack("<%dI" % len(value), *value)
    if isinstance(value, list):
        return text(name) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return text(name) + struct.pack("<II", 4, value)


def gguf(path, keys, tensors):
    """tensors: (name, ne) or (name, ne, type), with ne in GGUF order, the row length first."""
    infos = data = b""
    for name, ne, *rest in tensors:
        number, elements, size = BLOCKS[rest[0] if rest else "F32"]
        infos += text(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
        infos += struct.pack("<IQ", number, len(data))
        for n in ne:
            size *= n
        size //= elements
        data += bytes(size + -size % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key(k, v) for k, v in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


def safetensors(path, tensors, metadata=None):
    """tensors: (name, shape) of BF16 values, with the shape in PyTorch's order."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, shape in tensors:
        size = 2
        for n in shape:
            size *= n
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + bytes(at))
