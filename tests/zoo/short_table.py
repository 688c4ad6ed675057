"""See tests/zoo/short_table."""
import json, pathlib, shutil, struct, subprocess, sys, tempfile

bin_dir, zoo = sys.argv[1:]
CASE, TABLE, ROWS = "gemma3n_4bit", "embed_tokens_per_layer", 300


def cut(path):
    """Keeps the first ROWS rows of the table, its scales and its biases."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    tensors, parts, at = {}, [], 0
    for name, one in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = one["data_offsets"]
        part = data[8 + size + begin:8 + size + end]
        if TABLE in name:
            part = part[:len(part) // one["shape"][0] * ROWS]
            one["shape"][0] = ROWS
        one["data_offsets"] = [at, at + len(part)]
        tensors[name] = one
        parts.append(part)
        at += len(part)
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def table_of(model, work):
    """Returns the rows of the converted table."""
    gguf = work / "out.gguf"
    subprocess.run([bin_dir + "/mlx2gguf", "-q", "--force", str(model), "-o", str(gguf)], check=True)
    subprocess.run([bin_dir + "/verify", "-q", "--data", "--against", str(model), str(gguf)], check=True)
    dumped = subprocess.run([bin_dir + "/gguf-dump", "--json", str(gguf)], capture_output=True, check=True)
    table = json.loads(dumped.stdout)["tensors"]["per_layer_token_embd.weight"]
    data = gguf.read_bytes()[table["data_offset"]:][:table["bytes"]]
    rows = table["shape"][1]
    step = len(data) // rows
    return [data[row * step:][:step] for row in range(rows)]


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    model = work / "model"
    shutil.copytree(pathlib.Path(zoo) / CASE / "model", model, copy_function=shutil.copyfile)
    whole = table_of(model, work)
    (model / "model.safetensors.index.json").unlink(missing_ok=True)
    cut(model / "model.safetensors")
    config = json.loads((model / "config.json").read_text())
    config.get("text_config", config)["vocab_size_per_layer_input"] = ROWS
    (model / "config.json").write_text(json.dumps(config))
    short = table_of(model, work)

assert len(short) == len(whole) > ROWS, (len(short), len(whole))
wrong = [row for row, data in enumerate(short) if data != whole[row if row < ROWS else 0]]
print("%d rows, %d of them beyond the table, %d wrong" % (len(short), len(short) - ROWS, len(wrong)))
sys.exit(bool(wrong))
