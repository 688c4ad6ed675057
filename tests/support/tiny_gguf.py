"""Writes small GGUF files with F32 tensors of zeros. Key types follow from the Python values: str, bool, int (u32),
float (f32) and lists of str, int, bool or float."""
import struct


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
    """tensors: (name, ne), with ne in GGUF order, the row length first."""
    infos = data = b""
    for name, ne in tensors:
        infos += text(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
        infos += struct.pack("<IQ", 0, len(data))
        size = 4
        for n in ne:
            size *= n
        data += bytes(size + -size % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key(k, v) for k, v in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)
