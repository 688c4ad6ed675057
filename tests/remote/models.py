"""The models that the Hub's stand-in serves to tests."""
import os
import shutil
import struct


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(path, tokens=0, rows=4, arch="llama"):
    """Writes a GGUF with `tokens` tokens and one Q8_0 tensor of `rows` rows of 4096, whose data is a hole."""
    keys = [text("general.architecture") + struct.pack("<I", 8) + text(arch)]
    if tokens:
        words = b"".join(text("token-%08d" % number) for number in range(tokens))
        keys.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, tokens) + words)
    shape = struct.pack("<IQQ", 2, 4096, rows)
    header = (b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(keys) +
              text("blk.0.ffn_down.weight") + shape + struct.pack("<IQ", 8, 0))
    size = (len(header) + 31) // 32 * 32
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(size + rows * 4096 // 32 * 34)
    return len(header)


def safetensors(path, tensors):
    """Writes a safetensors file of F32 vectors with 4 values each."""
    rows = ['"%s":{"dtype":"F32","shape":[4],"data_offsets":[%d,%d]}' % (name, 16 * i, 16 * i + 16)
            for i, name in enumerate(tensors)]
    header = ("{" + ",".join(rows) + "}").encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + bytes(16 * len(tensors)))


def sharded(folder, shards, tensors):
    """Writes a model with this many shards and tensors per shard, and its index."""
    os.makedirs(folder)
    index = []
    for shard in range(1, shards + 1):
        name = "model-%05d-of-%05d.safetensors" % (shard, shards)
        names = ["model.layers.%d.weight_%d" % (shard, number) for number in range(tensors)]
        safetensors(os.path.join(folder, name), names)
        index += ['"%s":"%s"' % (tensor, name) for tensor in names]
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        file.write('{"metadata":{"total_size":%d},"weight_map":{%s}}' % (16 * shards * tensors, ",".join(index)))


def hub(root, data, big_rows=1_470_000, big_tokens=470_000):
    """Writes org/tiny, big, gated, private, mlx, sharded and two below `root`. `data`: tests/data."""
    for name in ("tiny", "big", "gated", "private", "two"):
        os.makedirs(os.path.join(root, "org", name))
    tiny = os.path.join(root, "org/tiny/tiny.gguf")
    gguf(tiny, tokens=60, rows=240)
    for name in ("gated", "private"):
        shutil.copy(tiny, os.path.join(root, "org", name))
        with open(os.path.join(root, "org", name, ".hub.json"), "w") as file:
            file.write('{"%s": true}' % name)
    for name in ("two-Q4_K_M.gguf", "two-Q8_0.gguf"):
        shutil.copy(tiny, os.path.join(root, "org/two", name))
    length = gguf(os.path.join(root, "org/big/big-Q8_0.gguf"), big_tokens, big_rows)
    shutil.copytree(os.path.join(data, "mlx/h96_bf16_4b_g32"), os.path.join(root, "org/mlx"))
    sharded(os.path.join(root, "org/sharded"), 30, 300)
    return {"TINY": tiny, "big_header": length}
