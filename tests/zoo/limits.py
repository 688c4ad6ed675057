"""See tests/zoo/limits."""
import json, pathlib, re, shutil, struct, subprocess, sys, tempfile

bin_dir, zoo, *wanted = sys.argv[1:]


def changed(config, members):
    """Changes members of the text model's config. Names are paths ("rope_parameters/rope_type"); null removes a
    member."""
    text = config.get("text_config", config)
    for path, value in members.items():
        *parents, name = path.split("/")
        inner = text
        for parent in parents:
            if not isinstance(inner.get(parent), dict):
                inner[parent] = {}
            inner = inner[parent]
        if value is None:
            inner.pop(name, None)
        else:
            inner[name] = value
    return config


def stretch(path, factors):
    """Resizes matching tensors axis by axis, or removes them (null). Their values do not matter. The metadata, which
    mark the file as MLX's, stay if tensors are only removed."""
    header = path.read_bytes()
    size, = struct.unpack("<Q", header[:8])
    tensors, at = {}, 0
    for name, one in json.loads(header[8:8 + size]).items():
        if name == "__metadata__":
            if not any(factors.values()):
                tensors[name] = one
            continue
        begin, end = one["data_offsets"]
        length, shape = end - begin, one["shape"]
        for pattern, change in factors.items():
            if re.search(pattern, name):
                shape = change and [int(dimension * factor) for dimension, factor in zip(shape, change)]
        if shape is None:
            continue
        for old, new in zip(one["shape"], shape):
            length = length // old * new
        tensors[name] = {"dtype": one["dtype"], "shape": shape, "data_offsets": [at, at + length]}
        at += length
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))


def answer(case, members, factors, converts, work):
    model = pathlib.Path(work) / "model"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(pathlib.Path(zoo) / case / "model", model, copy_function=shutil.copyfile)
    config = model / "config.json"
    config.write_text(json.dumps(changed(json.loads(config.read_text()), members)))
    if factors:
        (model / "model.safetensors.index.json").unlink(missing_ok=True)
        stretch(model / "model.safetensors", factors)
    out = pathlib.Path(work) / "out.gguf"
    done = subprocess.run([bin_dir + "/mlx2gguf", *([] if converts else ["--dry-run"]), str(model), "-o", str(out), "--force"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.replace(str(model), "MODEL")


def keys_of(gguf):
    dumped = subprocess.run([bin_dir + "/gguf-dump", "--json", str(gguf)], capture_output=True, text=True, check=True)
    return {name: key.get("value") for name, key in json.loads(dumped.stdout)["metadata"].items()}


rows = failed = 0
with tempfile.TemporaryDirectory() as work:
    for number, line in enumerate(open(pathlib.Path(__file__).parent / "limits.list"), 1):
        if not line.startswith("["):
            continue
        case, members, verdict, field, *factors = json.loads(line)
        if wanted and case not in wanted or not (pathlib.Path(zoo) / case).is_dir():
            continue
        rows += 1
        status, said = answer(case, members, factors[0] if factors else {}, verdict == "writes", work)
        if verdict == "writes":
            keys = keys_of(pathlib.Path(work) / "out.gguf") if status == 0 else {}
            right = status == 0 and all(name in keys and keys[name] == value for name, value in field.items())
        else:
            message = ("MODEL/config.json: %s: " if verdict == "refuses" else "warning: MODEL: %s: ") % field
            right = status == (3 if verdict == "refuses" else 0) and message in said
        if not right:
            failed += 1
            print("limits.list:%d: %s with %s: exit status %d instead of '%s %s'\n    %s" % (
                number, case, json.dumps(members), status, verdict, field, said.strip().replace("\n", "\n    ")))
print("%d rows, %d wrong" % (rows, failed))
sys.exit(1 if failed or not rows else 0)
