"""The comparison of tests/encoders/decoders."""
import fnmatch, hashlib, json, math, os, random, shutil, struct, subprocess, sys, tempfile

BIN, CORPUS, GLOBS = sys.argv[1], sys.argv[2], sys.argv[3:] or ["*"]

from decoder_names import DECODERS

KINDS = {0: ("UINT8", "B"), 1: ("INT8", "b"), 2: ("UINT16", "H"), 3: ("INT16", "h"), 4: ("UINT32", "I"),
         5: ("INT32", "i"), 6: ("FLOAT32", "f"), 7: ("BOOL", "?"), 8: ("STRING", ""), 10: ("UINT64", "Q"),
         11: ("INT64", "q"), 12: ("FLOAT64", "d")}
# Elements and bytes of a block, by the number of the type.
BLOCKS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 26: ("I32", 1, 4), 30: ("BF16", 1, 2), 39: ("MXFP4", 32, 17)}
E2M1 = [0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6]
WIDTHS = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "F8_E8M0": 1}


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
            keys[name] = ["ARRAY/" + KINDS[kind][0], [value_of(kind) for _ in range(length)]]
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


def as_f32(kind, data):
    if kind == "F32": return data
    if kind == "F16": return struct.pack(f"<{len(data) // 2}f", *struct.unpack(f"<{len(data) // 2}e", data))
    if kind == "BF16":
        out = bytearray(2 * len(data))
        out[2::4], out[3::4] = data[::2], data[1::2]
        return bytes(out)
    if kind == "I32": values = struct.unpack(f"<{len(data) // 4}i", data)
    elif kind == "I64": values = struct.unpack(f"<{len(data) // 8}q", data)
    else:
        values = []
        for at in range(0, len(data), 17):
            scale, codes = 2.0 ** (data[at] - 127), data[at + 1:at + 17]
            values += [scale * E2M1[c & 15] for c in codes] + [scale * E2M1[c >> 4] for c in codes]
    return struct.pack(f"<{len(values)}f", *values)


def digest(data):
    return hashlib.sha256(without_minus_zero(data)).hexdigest()


def without_minus_zero(data):
    if b"\0\0\0\x80" not in data: return data
    values = struct.unpack(f"<{len(data) // 4}I", data)
    return struct.pack(f"<{len(values)}I", *(0 if value == 0x80000000 else value for value in values))


def read_safetensors(directory):
    """Returns {name: (shape, type, data)}."""
    found = {}
    for file in sorted(os.listdir(directory)):
        if not file.endswith(".safetensors"): continue
        data = open(f"{directory}/{file}", "rb").read()
        size, = struct.unpack_from("<Q", data)
        for name, info in json.loads(data[8:8 + size]).items():
            if name == "__metadata__": continue
            begin, end = info["data_offsets"]
            found[name] = (info["shape"], info["dtype"], data[8 + size + begin:8 + size + end])
    return found


def tool(name, *arguments):
    done = subprocess.run([f"{BIN}/{name}", *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, (done.stdout + done.stderr).strip()


def same(wanted, got):
    if got is None: return False
    if wanted[0] != got[0]: return False
    if wanted[0] in ("FLOAT32", "ARRAY/FLOAT32"):
        a, b = ([x] if not isinstance(x, list) else x for x in (wanted[1], got[1]))
        return len(a) == len(b) and all(abs(x - y) <= 1e-6 * abs(x) for x, y in zip(a, b))
    return wanted[1] == got[1]


def check_keys(expected, keys, complain):
    for name, value in expected["keys"].items():
        if not same(value, keys.get(name)): complain(f"key {name} is {keys.get(name)} instead of {value}")
    for name, value in expected["keys_if_present"].items():
        if name in keys and not same(value, keys[name]): complain(f"key {name} is {keys[name]} instead of {value}")
    tokens = expected.get("tokens", {})
    if not tokens: return
    types = keys.get("tokenizer.ggml.token_type", [None, []])[1]
    texts = keys.get("tokenizer.ggml.tokens", [None, []])[1]
    if len(texts) != len(tokens["tokens"]): complain(f"has {len(texts)} tokens instead of {len(tokens['tokens'])}")
    for i, (text, kind) in enumerate(zip(tokens["tokens"], tokens.get("types", []))):
        if i >= len(texts) or i >= len(types): break
        if types[i] != kind: complain(f"token {i} ({text!r}) has type {types[i]} instead of {kind}")
        elif kind != 5 and texts[i] != text: complain(f"token {i} is {texts[i]!r} instead of {text!r}")


def check_tensors(expected, tensors, complain):
    wanted = expected["tensors"]
    for name in sorted(wanted.keys() - tensors.keys()): complain(f"lacks {name}")
    for name in sorted(tensors.keys() - wanted.keys()): complain(f"has {name}, which is not expected")
    for name in sorted(wanted.keys() & tensors.keys()):
        ne, kind, data = tensors[name]
        if ne != wanted[name][0]: complain(f"{name} has shape {ne} instead of {wanted[name][0]}")
        elif digest(as_f32(kind, data)) != wanted[name][1]: complain(f"{name} ({kind}) has other values")


def check_back(case, model, work, complain):
    """Directory, GGUF, directory in both forms, GGUF: the same keys of the architecture, and the same values."""
    keys, tensors = read_gguf(f"{work}/out.gguf")
    source = read_safetensors(model)
    for form, options in (("mlx", ["--dtype", "f32"]), ("published", ["--dequantize", "f32"])):
        say = lambda words, form=form: complain(f"back as {form}: {words}")
        out, again = f"{work}/{form}", f"{work}/{form}.gguf"
        status, said = tool("gguf2mlx", "-q", f"{work}/out.gguf", "-o", out, *options)
        if status != 0:
            say(f"is not converted ({status}): {said}")
            continue
        status, said = tool("mlx2gguf", "-q", "--fallback", "f32", out, "-o", again)
        if status != 0:
            say(f"is not converted again ({status}): {said}")
            continue
        keys_again, tensors_again = read_gguf(again)
        for name, value in keys.items():
            if name.startswith(("general.", "tokenizer.")): continue
            if not same(value, keys_again.get(name)): say(f"key {name} becomes {keys_again.get(name)} from {value}")
        for name in sorted(tensors.keys() ^ tensors_again.keys()):
            if name == "output.weight" and tensors[name][2] == tensors["token_embd.weight"][2]: continue  # tied
            say(f"{name} is missing or unexpected")
        for name in sorted(tensors.keys() & tensors_again.keys()):
            (ne, kind, data), (ne_again, kind_again, data_again) = tensors[name], tensors_again[name]
            if ne != ne_again: say(f"{name} has shape {ne_again} instead of {ne}")
            elif digest(as_f32(kind, data)) != digest(as_f32(kind_again, data_again)): say(f"{name} has other values")
        if form == "published": check_published(case, source, read_safetensors(out), say)


def check_published(case, source, found, say):
    """The names, shapes and values of the published directory come back, except where the GGUF has less."""
    ones = {name for name in source if name.endswith(("_res_norm.weight",))}  # a product that is not taken apart
    products = {name for name in source if name.endswith("_res_proj.weight")}
    packed = {name for name in source if source[name][1] == "I8"}
    for name in sorted(source):
        shape, kind, data = source[name]
        if kind == "F8_E8M0" or "vision" in name or "multi_modal" in name or name.endswith("inv_freq"): continue
        if name == "lm_head.weight" and case.startswith("falcon"): continue  # a copy of the embedding
        if name not in found: say(f"lacks {name}")
        elif name in packed: continue
        elif found[name][0] != shape: say(f"{name} has shape {found[name][0]} instead of {shape}")
        elif name in ones or name in products: continue
        elif name.endswith("A_log") or "norm" in name:  # computed and computed back
            a, b = (struct.unpack(f"<{len(d) // 4}f", as_f32(k, d)) for k, d in ((kind, data), found[name][1:]))
            if max(abs(x - y) for x, y in zip(a, b)) > 1e-6: say(f"{name} has other values")
        elif as_f32(kind, data) != as_f32(found[name][1], found[name][2]): say(f"{name} has other values")
    for name in sorted(found.keys() - source.keys()): say(f"has {name}, which the source does not have")


def check_case(case, expected, work, complain):
    model, path = f"{CORPUS}/{case}/model", f"{work}/out.gguf"
    status, said = tool("mlx2gguf", "-q", "--fallback", "f32", model, "-o", path)
    if status != 0: return complain(f"is not converted ({status}): {said}")
    keys, tensors = read_gguf(path)
    check_keys(expected, keys, complain)
    check_tensors(expected, tensors, complain)
    status, said = tool("verify", "-q", "--data", "--against", model, path)
    if status != 0: complain(f"verify finds fault with it: {said}")
    status, said = tool("verify", "-q", model)
    if status != 0: complain(f"verify finds fault with the directory: {said}")
    status, said = tool("gguf-dump", "--fit", path)
    if status != 0: complain(f"its memory is not known: {said}")
    check_back(case, model, work, complain)


# Settings that llama.cpp does not compute, by architecture: a member and its value.
REFUSED = {
    "falcon": [("alibi", True), ("parallel_attn", False), ("bias", True)],
    "bloom": [("apply_residual_connection_post_layernorm", True)],
    "mpt": [("attn_config.prefix_lm", True), ("attn_config.softmax_scale", 0.5), ("logit_scale", "inv_sqrt_d_model"),
            ("norm_type", "rmsnorm")],
    "arcee": [("hidden_act", "silu"), ("mlp_bias", True)],
    "nanbeige": [("hidden_act", "gelu")],
    "chatglm": [("rmsnorm", False), ("add_bias_linear", True), ("original_rope", False)],
    "cohere2moe": [("shared_expert_combination_strategy", "sum"), ("expert_selection_fn", "other"),
                   ("layer_types", None)],
    "hy_v3": [("qk_norm", False)],
    "minimax-m3": [("use_gemma_norm", False), ("scoring_func", "softmax"), ("hidden_act", "silu"),
                   ("moe_layer_freq", [0, 1, 0])],
    "bailingmoe3": [("no_kda_lora", False), ("no_kda_lora", None), ("kda_safe_gate", None),
                    ("gated_attention_proj_granularity_type", "element_wise"), ("kda_lower_bound", None)],
    "kimi-k3": [("text_config.mla_use_nope", False), ("text_config.mla_use_output_gate", False),
                ("text_config.linear_attn_config.num_heads", 4), ("text_config.attn_res_block_size", None)],
    "deepseek4": [("hc_mult", 2), ("scoring_func", "sigmoid"), ("compress_ratios", None)],
    "qwen4exp": [("text_config.ple_layer_ids", [1]), ("text_config.attn_output_gate", False),
                 ("text_config.indexer_compress_ratio", None), ("text_config.linear_value_head_dim", 32)],
}


def change(config, member, value):
    *path, last = member.split(".")
    for part in path: config = config[part]
    if value is None: config.pop(last)
    else: config[last] = value


def check_refusals(case, expected, work, complain):
    for number, (member, value) in enumerate(REFUSED.get(expected["architecture"], [])):
        model, path = f"{work}/wrong{number}", f"{work}/wrong{number}.gguf"
        shutil.copytree(f"{CORPUS}/{case}/model", model)
        config = json.load(open(f"{model}/config.json"))
        change(config, member, value)
        json.dump(config, open(f"{model}/config.json", "w"))
        status, said = tool("mlx2gguf", "-q", model, "-o", path)
        if status != 3: complain(f"with {member} = {value} ends with {status}: {said}")
        elif member.split(".")[-1] not in said: complain(f"with {member} = {value} does not name it: {said}")
        if os.path.exists(path): complain(f"with {member} = {value} leaves a file behind")


def write_variant(source, model, tensors, settings):
    """Writes a copy of a directory with other tensors and settings."""
    os.mkdir(model)
    for file in os.listdir(source):
        if not file.endswith(".safetensors"): shutil.copy(f"{source}/{file}", model)
    header, data, at = {}, [], 0
    for name, (shape, kind, values) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(values)]}
        data.append(values)
        at += len(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(f"{model}/model.safetensors", "wb").write(b"".join([struct.pack("<Q", len(text)), text, *data]))
    config = json.load(open(f"{model}/config.json"))
    config.update(settings)
    os.chmod(f"{model}/config.json", 0o644)
    json.dump(config, open(f"{model}/config.json", "w"))


def check_layers_of_baichuan(case, work, complain):
    """Only 32 or 40 layers: 31 are refused."""
    source, model = f"{CORPUS}/{case}/model", f"{work}/fewer"
    tensors = {name: tensor for name, tensor in read_safetensors(source).items() if ".31." not in name}
    write_variant(source, model, tensors, {"num_hidden_layers": 31})
    status, said = tool("mlx2gguf", "-q", model, "-o", f"{work}/fewer.gguf")
    if status != 3 or "num_hidden_layers" not in said: complain(f"with 31 layers ends with {status}: {said}")


def check_head_of_baichuan(case, work, complain):
    """The class of Baichuan 2, known by its vocabulary, divides each row of its head by the row's length."""
    source, model, path, rows = f"{CORPUS}/{case}/model", f"{work}/second", f"{work}/second.gguf", 125696
    tensors = read_safetensors(source)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        (_, width), kind, values = tensors[name]
        tensors[name] = ([rows, width], kind, (values * (rows * width * 4 // len(values) + 1))[:rows * width * 4])
    write_variant(source, model, tensors, {"vocab_size": rows})
    status, said = tool("mlx2gguf", "-q", "--no-vocab", "--fallback", "f32", model, "-o", path)
    if status != 0: return complain(f"with Baichuan 2's vocabulary ends with {status}: {said}")
    status, said = tool("verify", "-q", "--data", "--against", model, path)
    if status != 0: complain(f"verify finds fault with Baichuan 2's head: {said}")
    ne, kind, data = read_gguf(path)[1]["output.weight"]
    given = struct.unpack("<160f", tensors["lm_head.weight"][2][:640])
    found = struct.unpack("<160f", as_f32(kind, data[:640]))
    for row in range(10):
        before, after = given[16 * row:][:16], found[16 * row:][:16]
        length = math.sqrt(sum(value * value for value in before))
        if max(abs(a / length - b) for a, b in zip(before, after)) > 1e-6: return complain("Baichuan 2's head is another")


# A norm of a block that predicts further tokens, in the directory and in the GGUF, and the blocks' numbers in keys that
# have one for each layer.
PREDICTION = {
    "cohere2moe": ("shared_head.norm", "nextn.shared_head_norm", {"attention.sliding_window_pattern": False}),
    "hy_v3": ("final_layernorm", "nextn.shared_head_norm", {}),
    "bailingmoe3": ("final_layernorm", "layer_output_norm", {"attention.head_count_kv": 1}),
}


def doubled(tensor):
    shape, kind, data = tensor
    return shape, kind, struct.pack(f"<{len(data) // 4}f", *(2 * one for one in struct.unpack(f"<{len(data) // 4}f", data)))


def add_block(source, layers):
    """Returns the tensors with a block behind the layers: the last layer with doubled values, and random joints."""
    tensors = read_safetensors(source)
    before, behind = f"model.layers.{layers - 1}.", f"model.layers.{layers}."
    for name in [name for name in tensors if name.startswith(before)]:
        tensors[name.replace(before, behind)] = doubled(tensors[name])
    return tensors, behind


def check_block(case, expected, work, complain):
    """A block that predicts further tokens becomes a layer behind the others; --mtp drop leaves it out."""
    architecture = expected["architecture"]
    norm, gguf_norm, numbers = PREDICTION[architecture]
    source, model, path = f"{CORPUS}/{case}/model", f"{work}/block", f"{work}/block.gguf"
    keys, trunk = read_gguf(f"{work}/out.gguf")
    layers, width = keys[f"{architecture}.block_count"][1], keys[f"{architecture}.embedding_length"][1]
    tensors, behind = add_block(source, layers)
    joints = {"eh_proj": "nextn.eh_proj", "enorm": "nextn.enorm", "hnorm": "nextn.hnorm", norm: gguf_norm}
    random.seed(1)
    for name in joints:
        shape = [width, 2 * width] if name == "eh_proj" else [width]
        data = struct.pack(f"<{math.prod(shape)}f", *(random.uniform(-1, 1) for _ in range(math.prod(shape))))
        tensors[f"{behind}{name}.weight"] = (shape, "F32", data)
    write_variant(source, model, tensors, {"num_nextn_predict_layers": 1})
    status, said = tool("mlx2gguf", "-q", "--fallback", "f32", model, "-o", path)
    if status != 0: return complain(f"with a block is not converted ({status}): {said}")
    keys, found = read_gguf(path)
    wanted = dict(trunk)
    for name, tensor in trunk.items():
        if name.startswith(f"blk.{layers - 1}."): wanted[name.replace(f"blk.{layers - 1}.", f"blk.{layers}.")] = doubled(tensor)
    for name, place in joints.items():
        shape, kind, data = tensors[f"{behind}{name}.weight"]
        wanted[f"blk.{layers}.{place}.weight"] = (shape[::-1], kind, data)
    for name in sorted(wanted.keys() ^ found.keys()): complain(f"with a block: {name} is missing or unexpected")
    for name in sorted(wanted.keys() & found.keys()):
        if wanted[name] != found[name]: complain(f"with a block: {name} is another")
    for name, value in {"block_count": layers + 1, "nextn_predict_layers": 1}.items():
        got = keys.get(f"{architecture}.{name}")
        if got != ["UINT32", value]: complain(f"with a block: {name} is {got}")
    for name, value in numbers.items():
        if keys[f"{architecture}.{name}"][1][layers:] != [value]: complain(f"with a block: {name} is {keys[f'{architecture}.{name}']}")
    for name, arguments in (("verify", ["-q", "--data", "--against", model, path]), ("verify", ["-q", model]),
                            ("gguf-dump", ["--fit", path]), ("gguf2mlx", ["-q", path, "-o", f"{work}/of_block"])):
        status, said = tool(name, *arguments)
        if status != 0: complain(f"with a block: {name} ends with {status}: {said}")
    status, said = tool("mlx2gguf", "-q", "--fallback", "f32", "--mtp", "drop", model, "-o", f"{work}/dropped.gguf")
    if status != 0: return complain(f"without its block is not converted ({status}): {said}")
    if read_gguf(f"{work}/dropped.gguf")[1] != trunk: complain("without its block has other tensors")


passed = failed = 0
for case in sorted(os.listdir(CORPUS)):
    path = f"{CORPUS}/{case}/expected.json"
    if not os.path.exists(path) or not any(fnmatch.fnmatch(case, glob) for glob in GLOBS): continue
    expected, faults = json.load(open(path)), []
    if expected.get("architecture") not in DECODERS: continue
    with tempfile.TemporaryDirectory() as work:
        check_case(case, expected, work, faults.append)
        check_refusals(case, expected, work, faults.append)
        if expected["architecture"] in PREDICTION: check_block(case, expected, work, faults.append)
        if case == "baichuan_7b":
            check_layers_of_baichuan(case, work, faults.append)
            check_head_of_baichuan(case, work, faults.append)
    passed, failed = passed + (not faults), failed + bool(faults)
    for fault in faults[:10]: print(f"{case}: {fault}")
    if len(faults) > 10: print(f"{case}: and {len(faults) - 10} more")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
