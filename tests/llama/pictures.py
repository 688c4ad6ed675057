"""See tests/llama/pictures."""
import json, math, pathlib, random, re, shutil, struct, subprocess, sys, tempfile, wave

bin_dir, corpus, client = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
demo = pathlib.Path(__file__).resolve().parent.parent / "data/demo-model"
# Cases whose text part is complete; the others' projectors run with a text of the same width.
own_text = ["dots_ocr", "gemma3", "internvl", "janus", "llava15", "paddleocr", "pixtral", "qwen2_5_vl", "qwen2_audio",
            "qwen2_vl", "qwen3_vl", "smolvlm"]
borrowed = {"glm4v": "qwen2_vl", "hunyuan_vl": "qwen2_vl", "kimi_vl": "qwen2_vl", "kimi_k25": "qwen2_vl",
            "llama4": "qwen2_vl", "lfm2_vl": "qwen2_vl"}
with_sound = ["qwen2_audio"]  # this llama.cpp expects 187 tokens of Ultravox's tower, which makes 188
tower_marks = ("visual.", "vision", "vit.", "audio_tower.")
rows, layers, positions = 640, 4, 1500
# Tokens that llama.cpp looks up by their text to put them around tiles.
looked_up = ["\n\n", "<fake_token_around_image>", "<global-img>", "<|img_thumbnail|>", "<|image_start|>", "<|image_end|>"]
looked_up += [form % (r, c) for form in ("<row_%d_col_%d>", "<|img_row_%d_col_%d|>") for r in range(1, 6) for c in range(1, 6)]


def tensors_of(path):
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    return json.loads(content[8:8 + size]), content[8 + size:]


def write_tensors(path, tensors, metadata):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def directory(case, work, tower=1):
    """A case's directory in one shard, with the demo model's vocabulary. `tower` is a factor for the tower's first matrix."""
    model = work / ("%s-%g" % (case, tower))
    model.mkdir()
    source = corpus / case / "model"
    for file in source.glob("*.json"):
        if file.name != "model.safetensors.index.json":
            shutil.copyfile(file, model / file.name)
    config = json.loads((source / "config.json").read_text())
    old = None
    for part in [config] + [v for v in config.values() if isinstance(v, dict)]:
        if "vocab_size" in part:
            old, part["vocab_size"] = part["vocab_size"], rows
            part["num_hidden_layers"] = layers
    (model / "config.json").write_text(json.dumps(config))
    tensors, metadata, values = {}, {"format": "pt"}, random.Random(5)
    for shard in sorted(source.glob("*.safetensors")):
        header, data = tensors_of(shard)
        metadata = header.pop("__metadata__", metadata)
        for name, t in header.items():
            begin, end = t["data_offsets"]
            shape, content = t["shape"], data[begin:end]
            if len(shape) == 2 and shape[0] == old and ("embed_tokens" in name or "lm_head" in name):
                width, shape = shape[1], [rows, shape[1]]
                row = len(content) // old  # repeated, with other signs, so that rows differ
                content += b"".join(flipped(content[i % old * row:(i % old + 1) * row], t["dtype"], values) for i in range(rows - old))
            if name.endswith("embed_positions.weight"):  # the runtime pads a sound to 30 seconds
                content = content * (positions // shape[0] + 1)
                shape = [positions, shape[1]]
                content = content[:positions * shape[1] * {"F32": 4, "F16": 2, "BF16": 2}[t["dtype"]]]
            is_first = any(m in name for m in tower_marks) and name.endswith(".weight") and ("patch" in name or "conv1" in name)
            if tower != 1 and is_first:
                content = flipped(content, t["dtype"], values)
            tensors[name] = (t["dtype"], shape, content)
            if re.match(r"((language_)?model\.)*(text_model\.)?layers\.0\.", name):
                for layer in range(1, layers):
                    tensors[name.replace("layers.0.", "layers.%d." % layer)] = (t["dtype"], shape, content)
    write_tensors(model / "model.safetensors", tensors, metadata)
    tokenizer = json.loads((demo / "tokenizer.json").read_text())
    settings = json.loads((demo / "tokenizer_config.json").read_text())
    special = {len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"]) + i: text for i, text in enumerate(looked_up)}
    if (source / "tokenizer_config.json").exists():  # it has tokens that replace others
        given = json.loads((source / "tokenizer_config.json").read_text())["added_tokens_decoder"]
        settings["added_tokens_decoder"] = given
        special |= {int(number): token["content"] for number, token in given.items()}
    model_of_words = tokenizer["model"]
    model_of_words["vocab"] = {text: i for text, i in model_of_words["vocab"].items() if i not in special}
    parts = lambda merge: merge if isinstance(merge, list) else merge.split(" ")
    known = set(model_of_words["vocab"])
    model_of_words["merges"] = [m for m in model_of_words["merges"] if {*parts(m), "".join(parts(m))} <= known]
    tokenizer["added_tokens"] += [{"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                                   "normalized": False, "special": True} for number, text in special.items()]
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    return model


def flipped(content, dtype, values):
    """The values with other signs, at random."""
    size = {"F32": 4, "F16": 2, "BF16": 2}[dtype]
    changed = bytearray(content)
    for i in range(size - 1, len(changed), size):
        changed[i] ^= values.choice((0, 0x80))
    return bytes(changed)


def sound(work):
    """A second of two tones that rise."""
    path, rate = work / "sound.wav", 16000
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(b"".join(struct.pack("<h", int(8000 * (math.sin(0.1 * i + 2e-6 * i * i) + math.sin(0.37 * i)))) for i in range(rate)))
    return path


def convert(*arguments):
    done = subprocess.run([bin_dir / "mlx2gguf", "-q", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())


def run(text, projector, medium):
    done = subprocess.run(["node", "run_mmproj.mjs", str(text), str(projector), str(medium)], cwd=client, capture_output=True, text=True,
                          timeout=300)
    for line in done.stdout.splitlines():
        if line.startswith("probabilities "):
            return json.loads(line[len("probabilities "):])
    reasons = [l for l in (done.stdout + done.stderr).splitlines() if "ssert" in l or "rror" in l or "ASSERT" in l or "does not load" in l]
    raise RuntimeError("exit %d: %s" % (done.returncode, (reasons or ["no probabilities"])[-1]))


def largest_difference(a, b):
    """The client lists the 300 likeliest tokens; one that is not among them is at most as likely as the last of them."""
    one_way = lambda a, b: max(abs(a[t] - b[t]) if t in b else max(a[t] - min(b.values()), 0) for t in a)
    return max(one_way(a, b), one_way(b, a))


def check(case, work):
    """Returns a line about the case. Raises RuntimeError if it fails."""
    medium = sound(work) if case in with_sound else client / "picture.png"
    model, other = directory(case, work), directory(case, work, tower=-1)
    text = work / (case + ".gguf")
    if case in borrowed:
        convert(directory(borrowed[case], work, tower=2), "-o", text)
    else:
        convert(model, "-o", text)
    found = []
    for source, name, options in ((model, "mmproj", []), (model, "mmproj-f32", ["--type", "F32"]), (other, "mmproj-other", [])):
        projector = work / ("%s-%s.gguf" % (case, name))
        convert(source, "--mmproj", "-o", projector, *options)
        found.append(run(text, projector, medium))
    own, as_f32, changed = found
    if not all(math.isfinite(p) for p in own.values()) or not 0.5 < sum(own.values()) < 1.01:
        raise RuntimeError("the probabilities are no distribution: their sum is %g" % sum(own.values()))
    of_type, of_tower = largest_difference(own, as_f32), largest_difference(own, changed)
    if of_tower == 0:
        raise RuntimeError("another tower gives the same probabilities")
    if of_type > 0.1 * of_tower + 1e-4:
        raise RuntimeError("F32 moves the probabilities by %g, another tower by %g" % (of_type, of_tower))
    reference = ""
    if case == "qwen2_vl":
        convert(corpus / case / "model", "--mmproj", "-o", work / "reference.gguf")
        difference = largest_difference(run(client / "text.gguf", work / "reference.gguf", medium),
                                        json.loads((client / "probabilities.json").read_text()))
        if difference > 1e-4:
            raise RuntimeError("the reference's probabilities differ by %g" % difference)
        reference = ", the reference's by %g" % difference
    return "F32 moves the probabilities by %.1e, another tower by %.1e%s" % (of_type, of_tower, reference)


failed = 0
cases = sys.argv[4:] or own_text + list(borrowed)
for case in cases:
    with tempfile.TemporaryDirectory() as folder:
        try:
            print("%s: %s" % (case, check(case, pathlib.Path(folder))), flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print("%s: FAILED: %s" % (case, error), flush=True)
print("%d passed, %d failed" % (len(cases) - failed, failed))
sys.exit(failed != 0)
