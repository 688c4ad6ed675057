"""Writes small GGUF files with types of forks: element type ids and the bytes of each tensor are given, not computed."""
import struct

from tiny_gguf import key, text


def write(path, keys, tensors, end=b""):
    """tensors: (name, ne, type id, bytes[, offset]). `end` is appended to the file."""
    infos, data = b"", b""
    for name, ne, number, size, *offset in tensors:
        infos += text(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
        infos += struct.pack("<IQ", number, offset[0] if offset else len(data))
        data += bytes(size + -size % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key(k, v) for k, v in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data + end)


LLAMA = {"general.architecture": "llama", "llama.block_count": 1}
NORM = ("output_norm.weight", [256], 0, 1024)


def model(path, number, ne, size, **more):
    """A model with one tensor of a fork's type, between two others."""
    write(path, LLAMA, [NORM, ("blk.0.ffn_up.weight", ne, number, size), ("blk.0.ffn_norm.weight", [256], 0, 1024)], **more)
