"""The comparison of tests/projectors/run."""
import fnmatch, hashlib, json, math, os, re, struct, subprocess, sys, tempfile

BIN, CORPUS, GLOBS = sys.argv[1], sys.argv[2], sys.argv[3:] or ["*"]
# Elements and bytes of a block, by the number of the type.
BLOCKS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 7: ("Q5_1", 32, 24),
          8: ("Q8_0", 32, 34), 30: ("BF16", 1, 2)}
KINDS = {0: ("u8", "B"), 1: ("i8", "b"), 2: ("u16", "H"), 3: ("i16", "h"), 4: ("u32", "I"), 5: ("i32", "i"),
         6: ("f32", "f"), 7: ("bool", "?"), 8: ("str", ""), 10: ("u64", "Q"), 11: ("i64", "q"), 12: ("f64", "d")}


def read_gguf(path):
    """Returns {key: [type, value]} and {tensor: (ne, type, data)}."""
    data, at = open(path, "rb").read(), 4

    def number(form):
        nonlocal at
        value, = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize(form)
        return value

    def value_of(kind):
        nonlocal at
        if kind != 8: return number(KINDS[kind][1])
        size = number("Q")
        at += size
        return data[at - size:at].decode()

    number("I")
    tensors, count, keys = number("Q"), number("Q"), {}
    for _ in range(count):
        name, kind = value_of(8), number("I")
        if kind == 9:
            kind, length = number("I"), number("Q")
            keys[name] = [f"arr[{KINDS[kind][0]}]", [value_of(kind) for _ in range(length)]]
        else:
            keys[name] = [KINDS[kind][0], value_of(kind)]
    infos = []
    for _ in range(tensors):
        name = value_of(8)
        ne = [number("Q") for _ in range(number("I"))]
        infos.append((name, ne, number("I"), number("Q")))
    start, found = (at + 31) // 32 * 32, {}
    for name, ne, kind, offset in infos:
        text, elements, size = BLOCKS[kind]
        found[name] = (ne, text, data[start + offset:start + offset + math.prod(ne) // elements * size])
    return keys, found


def read_safetensors(directory):
    """Returns {name: (shape, values as float32)}."""
    found = {}
    for file in sorted(os.listdir(directory)):
        if not file.endswith(".safetensors"): continue
        data = open(f"{directory}/{file}", "rb").read()
        size, = struct.unpack_from("<Q", data)
        for name, info in json.loads(data[8:8 + size]).items():
            if name == "__metadata__": continue
            begin, end = info["data_offsets"]
            if info["dtype"] in ("F32", "F16", "BF16"):
                found[name] = (info["shape"], as_f32(info["dtype"], data[8 + size + begin:8 + size + end]))
    return found


def as_f32(kind, data):
    if kind == "F32": return data
    if kind == "F16": return struct.pack(f"<{len(data) // 2}f", *struct.unpack(f"<{len(data) // 2}e", data))
    if kind == "BF16":
        out = bytearray(2 * len(data))
        out[2::4], out[3::4] = data[::2], data[1::2]
        return bytes(out)
    values = []
    if kind == "Q8_0":
        for at in range(0, len(data), 34):
            scale, *codes = struct.unpack_from("<e32b", data, at)
            values += [scale * code for code in codes]
    elif kind == "Q4_1":
        for at in range(0, len(data), 20):
            scale, least, *codes = struct.unpack_from("<ee16B", data, at)
            values += [scale * (c & 15) + least for c in codes] + [scale * (c >> 4) + least for c in codes]
    elif kind == "Q5_1":
        for at in range(0, len(data), 24):
            scale, least, high, *codes = struct.unpack_from("<eeI16B", data, at)
            five = [(c & 15) | (high >> i & 1) << 4 for i, c in enumerate(codes)]
            five += [(c >> 4) | (high >> i + 16 & 1) << 4 for i, c in enumerate(codes)]
            values += [scale * c + least for c in five]
    return struct.pack(f"<{len(values)}f", *values)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def tool(name, *arguments):
    done = subprocess.run([f"{BIN}/{name}", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, (done.stdout + done.stderr).strip()


def sinusoids(ne):
    half = ne[0] // 2
    step = math.log(10000) / (half - 1)
    for row in range(ne[1]):
        angles = [row * math.exp(-step * i) for i in range(half)]
        yield from (math.sin(angle) for angle in angles)
        yield from (math.cos(angle) for angle in angles)


def check_tensor(wanted, got, asked, quantised, complain, name):
    ne, kind, data = got
    if ne != wanted["ne"]: complain(f"{name} has shape {ne} instead of {wanted['ne']}")
    by_type = lambda key: wanted.get("all") or wanted.get(key) or [None, None]
    if wanted.get("generated"):
        values = struct.unpack(f"<{len(data) // 4}f", data)
        if max(abs(a - b) for a, b in zip(values, sinusoids(ne))) > 3e-4: complain(f"{name} is another table")
        return
    is_exact = digest(as_f32(kind, data)) == wanted.get("exact") or (bool(wanted.get("near")) and kind == "F32")
    if asked is None:
        kinds = {"F32"} | {key for key in ("F16", "BF16") if by_type(key)[0] == key}
        if not is_exact: complain(f"{name} is not exact")
        if kind not in kinds and not quantised: complain(f"{name} is {kind}")
        return
    expected = by_type(asked)
    if [kind, digest(data)] == list(expected) or (wanted.get("near") and kind == "F32"): return
    # What the other converter forces into F16 may stay exact.
    if expected[0] == "F16" and asked != "F16" and kind == "F32" and is_exact: return
    complain(f"{name} is {kind} instead of {expected[0]}, or has other values")


def tower_findings(model):
    """Returns the lines of verify about the towers of a directory."""
    _, said = tool("verify", "-v", model)
    return [line for line in said.splitlines() if "[convert-" in line]


def check_accepted(model, expected, work, complain):
    if tower_findings(model): complain(f"verify finds fault with the directory: {tower_findings(model)[0]}")
    for asked in (None, "F32", "F16", "BF16", "Q8_0"):
        say = lambda text, asked=asked: complain(f"{asked or 'default'}: {text}")
        path = f"{work}/{asked or 'default'}.gguf"
        status, said = tool("mlx2gguf", "-q", model, "--mmproj", "-o", path, *(["--type", asked.lower()] if asked else []))
        if status != 0: return say(f"is not converted ({status}): {said}")
        keys, tensors = read_gguf(path)
        for name, value in expected["keys"].items():
            if name in expected.get("keys_optional", []) and name not in keys: continue
            if keys.get(name) != value: say(f"key {name} is {keys.get(name)} instead of {value}")
        for name in keys:
            if name not in expected["keys"] and not name.startswith("general."): say(f"has the key {name}")
        if asked and keys["general.file_type"][1] != expected["file_type"][asked]: say("has another file type")
        for name in expected["tensors"].keys() ^ tensors.keys(): say(f"{name} is missing or unexpected")
        for name in expected["tensors"].keys() & tensors.keys():
            check_tensor(expected["tensors"][name], tensors[name], asked, expected.get("quantised"), say, name)
    for asked in ("default", "F32"):
        status, said = tool("verify", "-q", "--data", "--against", model, f"{work}/{asked}.gguf")
        if status != 0: complain(f"{asked}: verify finds fault with it: {said}")


def check_back(model, expected, work, complain):
    if "back_mlx" not in expected: return
    text = f"{work}/text.gguf"
    status, said = tool("mlx2gguf", "-q", model, "-o", text, "--no-vocab")
    if status != 0: return f"the language model: {said}"
    for form, options in (("back_mlx", []), ("back_published", ["--dequantize", "f32"])):
        say = lambda words, form=form: complain(f"{form}: {words}")
        out = f"{work}/{form}"
        status, said = tool("gguf2mlx", "-q", text, "--mmproj", f"{work}/default.gguf", "-o", out, "--no-tokenizer", *options)
        if status != 0:
            say(f"is not converted ({status}): {said}")
            continue
        found = read_safetensors(out)
        # The layers of LLaVA that nothing reads are not in the file.
        source = read_safetensors(model)
        dropped = len(expected["tensors"]) < len(expected[form]) and expected["keys"]["clip.projector_type"][1] == "mlp"
        for name, (shape, values) in expected[form].items():
            if name not in found: say(f"lacks {name}")
            elif found[name][0] != shape: say(f"{name} has shape {found[name][0]} instead of {shape}")
            elif digest(found[name][1]) != values:
                if not (dropped and re.search(r"layers\.3\.|post_layernorm", name)): say(f"{name} has other values")
        config = json.load(open(f"{out}/config.json"))["vision_config"]
        for name, value in expected.get("back_config", {}).items():
            if config.get(name) != value: say(f"vision_config.{name} is {config.get(name)} instead of {value}")
        preprocessor = json.load(open(f"{out}/preprocessor_config.json"))
        for name, value in expected.get("back_preprocessor", {}).items():
            if [round(x, 6) for x in preprocessor.get(name, [])] != [round(x, 6) for x in value]: say(f"{name} differs")


# Towers whose directories come back as they were: what mlx-vlm's sanitize() replaces in the published names, kernels
# that it stores with the channels last, and tensors that mlx-vlm's form lacks.
KERNEL = r"patch_embed(ding|\.proj|\.patchifier\.proj)\.weight$"
ROUND_TRIPS = {
    "dots_ocr": ([], KERNEL, None),
    "gemma4": ([(r"^model\.", "")], r"conv\.weight$", None),
    "glm4v": ([(r"^model\.visual", "vision_tower")], KERNEL + r"|downsample\.weight$", None),
    "glm_ocr": ([(r"^model\.visual", "vision_tower")], KERNEL + r"|downsample\.weight$", None),
    "hunyuan_vl": ([(r"^vit", "vision_tower")], KERNEL + r"|proj\.[02]\.weight$", None),
    "kimi_k25": ([(r"encoder\.", ""), (r"\.(wqkv|wo)\.", r".attn.\1.")], KERNEL, None),
    "kimi_vl": ([(r"encoder\.", ""), (r"\.(wqkv|wo)\.", r".attn.\1.")], KERNEL, None),
    "lfm2_vl": ([(r"^model\.", "")], None, None),
    "lfm2_vl_dropped_layers": ([(r"^model\.", "")], None, None),
    "llama4": ([], None, None),
    "minicpmv4_6": ([(r"^model\.", ""), (r"^vision_tower\.vit_merger", "vit_merger")], KERNEL, None),
    "paddleocr": ([(r"^visual\.vision_model\.(encoder\.)?", "visual."), (r"^mlp_AR", "visual.projector"),
                   (r"q_proj", "qkv")], KERNEL, r"packing_position|\.head\.|[kv]_proj"),
}
TOWER = r"^(model\.)?(vision|visual|vit\.|mm_projector|multi_modal_projector|mlp_AR|merger|embed_vision|audio_tower|embed_audio)"


def channels_last(shape, values):
    """Returns a kernel [o, c, …] as [o, …, c]."""
    out, channels, inner = shape[0], shape[1], math.prod(shape[2:])
    made = [values[4 * ((o * channels + c) * inner + i):][:4] for o in range(out) for i in range(inner) for c in range(channels)]
    return [out, *shape[2:], channels], b"".join(made)


def expected_of(case, source, is_mlx):
    """Returns the tower's tensors of a published directory, in mlx-vlm's form if wanted."""
    renames, kernels, dropped = ROUND_TRIPS[case]
    wanted = {}
    for name, (shape, values) in source.items():
        if not re.search(TOWER, name): continue
        if dropped and re.search(dropped if is_mlx else r"packing_position|\.head\.", name): continue
        if is_mlx and "q_proj" in name and dropped:
            parts = [source[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")]
            shape, values = [3 * shape[0], *shape[1:]], b"".join(part[1] for part in parts)
        if is_mlx:
            if kernels and re.search(kernels, name) and len(shape) > 2: shape, values = channels_last(shape, values)
            for pattern, text in renames: name = re.sub(pattern, text, name)
        wanted[name] = (shape, values)
    return wanted


def check_round_trip(case, model, work, complain):
    """Directory, projector file, directory: the same tensors, and no other settings. Where the directory has no whole
    language model, another's is used."""
    if case not in ROUND_TRIPS: return
    text = f"{work}/text.gguf"
    has_text = tool("mlx2gguf", "-q", model, "-o", text, "--no-vocab", "--force")[0] == 0
    if not has_text:
        status, said = tool("mlx2gguf", "-q", f"{CORPUS}/qwen2_vl/model", "-o", text, "--no-vocab")
        if status != 0: return complain(f"the language model: {said}")
    source = read_safetensors(model)
    stated = json.load(open(f"{model}/config.json"))["vision_config"]
    for form, options in (("mlx", []), ("published", ["--dequantize", "f32"])):
        say = lambda words, form=form: complain(f"back as {form}: {words}")
        out = f"{work}/{form}"
        status, said = tool("gguf2mlx", "-q", text, "--mmproj", f"{work}/default.gguf", "-o", out, "--no-tokenizer", *options)
        if status != 0:
            say(f"is not converted ({status}): {said}")
            continue
        is_text = lambda name: re.search(r"language_model|^model\.(layers|norm|embed_tokens)|lm_head", name) is not None
        written = read_safetensors(out)
        found = {name: tensor for name, tensor in written.items() if not is_text(name)}
        wanted = expected_of(case, source, form == "mlx")
        if has_text and form == "published":
            words = {name for name in written.keys() | source.keys() if is_text(name) and written.get(name) != source.get(name)}
            if words: say(f"{sorted(words)[:3]} are missing, unexpected or changed")
        for name in sorted(wanted.keys() ^ found.keys()): say(f"{name} is missing or unexpected")
        for name in wanted.keys() & found.keys():
            (shape, values), (got_shape, got_values) = wanted[name], found[name]
            if case == "hunyuan_vl" and "position_embedding" in name:  # the first row is not used
                values, got_values = values[4 * shape[1]:], got_values[4 * shape[1]:]
            if got_shape != shape: say(f"{name} has shape {got_shape} instead of {shape}")
            elif got_values != values: say(f"{name} has other values")
        config = json.load(open(f"{out}/config.json"))
        if has_text and form == "mlx":  # where mlx-vlm looks for a language model and its settings
            given = json.load(open(f"{model}/config.json"))
            if config.get("text_config", config).get("hidden_size") != given.get("text_config", given)["hidden_size"] or \
                    ("text_config" in config) != ("text_config" in given): say("has the language model's settings elsewhere")
            if "language_model.model.embed_tokens.weight" not in written: say("has the language model under other names")
            status, said = tool("mlx2gguf", "-q", out, "-o", f"{work}/text-again.gguf", "--no-vocab")
            if status != 0: say(f"the language model is not converted again: {said}")
            elif read_gguf(f"{work}/text-again.gguf")[1] != read_gguf(text)[1]: say("gives another language model")
        if config["architectures"] != json.load(open(f"{model}/config.json"))["architectures"]: say("has another class")
        for name, value in config["vision_config"].items():
            # The class of the settings, what the table of positions says better, and two names of one activation.
            if name not in stated or name == "model_type" or (case == "paddleocr" and name == "image_size"): continue
            if case == "lfm2_vl_dropped_layers" and name == "num_hidden_layers": continue  # only those that are used
            if "hidden_act" in name and "gelu" in value and "gelu" in stated[name]: continue
            same = abs(value - stated[name]) < 1e-9 if isinstance(value, float) else value == stated[name]
            if not same: say(f"vision_config.{name} is {value} instead of {stated[name]}")
        again = f"{work}/{form}.gguf"
        status, said = tool("mlx2gguf", "-q", out, "--mmproj", "-o", again)
        if status != 0: say(f"is not converted again: {said}")
        else:
            old, new = ({name: (ne, as_f32(kind, data)) for name, (ne, kind, data) in read_gguf(path)[1].items()}
                        for path in (f"{work}/default.gguf", again))
            if old != new: say("gives another projector file")


def check_type_of_tower(case, work, complain):
    """mlx-vlm refuses a tower of Qwen3-VL-MoE whose settings have the model_type of Qwen3-VL's."""
    model, text, out = f"{CORPUS}/../zoo/qwen3_vl_moe_4bit/model", f"{work}/moe.gguf", f"{work}/moe"
    if case != "qwen3_vl" or not os.path.isdir(model): return
    for done in (("mlx2gguf", "-q", model, "-o", text, "--no-vocab"),
                 ("gguf2mlx", "-q", text, "--mmproj", f"{work}/default.gguf", "-o", out, "--no-tokenizer")):
        status, said = tool(*done)
        if status != 0: return complain(f"beside experts: {said}")
    found = json.load(open(f"{out}/config.json"))
    types = found["model_type"], found["vision_config"]["model_type"], found["text_config"]["model_type"]
    if types != ("qwen3_vl_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"): complain(f"beside experts the types are {types}")


def check_rejected(model, expected, work, complain):
    status, said = tool("mlx2gguf", model, "--mmproj", "-o", f"{work}/out.gguf")
    if status != 3: complain(f"ends with {status} instead of 3: {said}")
    if os.listdir(work): complain("leaves a file behind")
    if not any(re.search(words, said) for words in expected["must_say"]): complain(f"says '{said}', not {expected['must_say']}")
    # A directory without a tower is a sound text model.
    text = ("model.embed_tokens.", "model.layers.", "model.norm.", "lm_head.", "language_model.")
    has_tower = not all(name.startswith(text) for name in read_safetensors(model))
    found = [line for line in tower_findings(model) if any(re.search(words, line) for words in expected["must_say"])]
    if bool(found) != has_tower: complain(f"verify of the directory says {tower_findings(model)}")


def check_overflow(model, expected, work, complain):
    path, name = f"{work}/out.gguf", expected["tensor"]
    status, said = tool("mlx2gguf", "-q", model, "--mmproj", "-o", path, "--type", "f16")
    if status == 3:
        if name not in said and expected.get("source_tensor", name) not in said: complain(f"does not name {name}: {said}")
    elif status != 0:
        complain(f"ends with {status}: {said}")
    else:
        _, kind, data = read_gguf(path)[1][name]
        if kind not in ("F32", "BF16") or digest(as_f32(kind, data)) != expected["exact"]: complain(f"{name} is {kind}")


passed = failed = 0
for case in sorted(os.listdir(CORPUS)):
    path = f"{CORPUS}/{case}/expected.json"
    if not os.path.exists(path) or not any(fnmatch.fnmatch(case, glob) for glob in GLOBS): continue
    expected, faults = json.load(open(path)), []
    with tempfile.TemporaryDirectory() as work:
        model, note = f"{CORPUS}/{case}/model", None
        if expected["kind"] == "accept":
            check_accepted(model, expected, work, faults.append)
            note = check_back(model, expected, work, faults.append)
            check_round_trip(case, model, work, faults.append)
            check_type_of_tower(case, work, faults.append)
        else:
            {"reject": check_rejected, "overflow": check_overflow}[expected["kind"]](model, expected, work, faults.append)
    passed, failed = passed + (not faults), failed + bool(faults)
    if note: print(f"{case}: the way back was not tested: {note}")
    for fault in faults[:10]: print(f"{case}: {fault}")
    if len(faults) > 10: print(f"{case}: and {len(faults) - 10} more")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
