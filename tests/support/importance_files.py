"""Writes small importance matrices, as GGUF and in the older .dat format. entries: {name: (sums, counts)}."""
import struct

from tiny_gguf import key, text


def dat(path, entries, chunks=None, dataset="calibration.txt"):
    with open(path, "wb") as file:
        file.write(struct.pack("<i", len(entries)))
        for name, (sums, counts) in entries.items():
            file.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", counts[0], len(sums)))
            file.write(struct.pack("<%df" % len(sums), *sums))
        if chunks is not None:
            file.write(struct.pack("<ii", chunks, len(dataset)) + dataset.encode())


def gguf(path, entries, chunks=7, chunk_size=512, datasets=("calibration.txt",), plain=()):
    """plain: names of entries that also have sums of the unsquared values."""
    tensors = []
    for name, (sums, counts) in entries.items():
        matrices = len(counts)
        tensors.append((name + ".in_sum2", [len(sums) // matrices, matrices], sums))
        tensors.append((name + ".counts", [1, matrices], counts))
        if name in plain:
            tensors.append((name + ".in_sum", [len(sums) // matrices, matrices], [-s for s in sums]))
    keys = {"general.type": "imatrix", "imatrix.datasets": list(datasets), "imatrix.chunk_count": chunks, "imatrix.chunk_size": chunk_size}
    infos = data = b""
    for name, ne, values in tensors:
        infos += text(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne) + struct.pack("<IQ", 0, len(data))
        data += struct.pack("<%df" % len(values), *values)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key(k, v) for k, v in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)
