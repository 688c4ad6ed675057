"""The comparison of tests/encoders/models."""
import fnmatch, hashlib, json, math, os, re, shutil, struct, subprocess, sys, tempfile

from decoder_names import DECODERS

BIN, CORPUS = sys.argv[1], sys.argv[2]
ARGUMENTS = [one for one in sys.argv[3:] if one != "--tensors"] or ["*"]
ONLY_TENSORS = "--tensors" in sys.argv[3:]
WIDTHS = {0: ("F32", 4), 1: ("F16", 2), 30: ("BF16", 2)}
KINDS = {0: ("UINT8", "B"), 1: ("INT8", "b"), 2: ("UINT16", "H"), 3: ("INT16", "h"), 4: ("UINT32", "I"),
         5: ("INT32", "i"), 6: ("FLOAT32", "f"), 7: ("BOOL", "?"), 8: ("STRING", ""), 10: ("UINT64", "Q"),
         11: ("INT64", "q"), 12: ("FLOAT64", "d")}
TOKENIZER_PARTS = ("tokens", "token_type", "scores", "merges", "precompiled_charsmap")
UNUSED, FAILED = 5, []


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
        text, width = WIDTHS.get(kind, (f"type {kind}", 0))
        found[name] = (ne, text, data[start + offset:start + offset + math.prod(ne) * width])
    return keys, found


def as_f32(kind, data):
    """Returns the values as float32 bytes, with −0 as +0."""
    if kind == "F16": data = struct.pack(f"<{len(data) // 2}f", *struct.unpack(f"<{len(data) // 2}e", data))
    if kind == "BF16":
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[::2], data[1::2]
        data = bytes(wide)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return struct.pack(f"<{len(words)}I", *(0 if word == 0x80000000 else word for word in words))


def tool(name, *arguments):
    done = subprocess.run([f"{BIN}/{name}", *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, (done.stdout + done.stderr).strip()


def is_same(wanted, got):
    if wanted[0] != got[0]: return False
    if wanted[0] == "FLOAT32": return struct.pack("<f", wanted[1]) == struct.pack("<f", got[1])
    return wanted[1] == got[1]


def check_keys(expected, keys, complain):
    is_left = lambda name: ONLY_TENSORS and name.startswith("tokenizer.") and not name.endswith("token_type_count")
    for name, wanted in expected["keys"].items():
        if is_left(name): continue
        if name not in keys: complain(f"lacks {name}, {wanted}")
        elif not is_same(wanted, keys[name]): complain(f"{name} is {keys[name]} instead of {wanted}")
    for name, wanted in expected.get("keys_if_present", {}).items():
        if not is_left(name) and name in keys and not is_same(wanted, keys[name]):
            complain(f"{name} is {keys[name]} instead of {wanted}")


def check_tokens(wanted, keys, complain):
    get = lambda part: keys.get("tokenizer.ggml." + part, [None, []])[1]
    tokens, types = get("tokens"), get("token_type")
    texts, kinds = wanted["tokens"], wanted["types"]
    if len(tokens) != len(texts): return complain(f"has {len(tokens)} tokens instead of {len(texts)}")
    for i, (text, kind) in enumerate(zip(texts, kinds)):
        if kind == UNUSED: continue
        if (tokens[i], types[i]) != (text, kind): return complain(f"token {i} is {tokens[i]!r}, {types[i]} instead of {text!r}, {kind}")
        if wanted.get("scores") and struct.pack("<f", get("scores")[i]) != struct.pack("<f", wanted["scores"][i]):
            return complain(f"token {i} has another score")
    charsmap = wanted.get("charsmap_sha256") or wanted.get("charsmap")
    if charsmap and hashlib.sha256(bytes(get("precompiled_charsmap"))).hexdigest() != charsmap:
        complain("has another map of characters")


def check_tensors(wanted, tensors, complain):
    for name in tensors.keys() - wanted.keys(): complain(f"has a further tensor {name}")
    for name, (ne, digest) in wanted.items():
        if name not in tensors:
            complain(f"lacks {name}")
            continue
        shape, kind, data = tensors[name]
        if shape != ne: complain(f"{name} has shape {shape} instead of {ne}")
        elif hashlib.sha256(as_f32(kind, data)).hexdigest() != digest: complain(f"{name} has other values")


def check_back(name, gguf, keys, tensors, directory, complain):
    """Turns the file back into a directory and compares what is made of that with the file."""
    # Scores that are rows of tokens need the vocabulary.
    if ONLY_TENSORS and "cls.output.weight" in tensors and "cls.weight" not in tensors: return
    options = ["--dequantize", "f32", "--output", f"{directory}/back"] + ["--no-tokenizer"] * ONLY_TENSORS
    code, said = tool("gguf2mlx", gguf, *options)
    if code: return complain(f"does not become a directory: {said}")
    vocabulary = ["--no-vocab"] if ONLY_TENSORS else []
    code, said = tool("mlx2gguf", f"{directory}/back", "-o", f"{directory}/again.gguf", "--fallback", "f32", *vocabulary)
    if code: return complain(f"is not converted again: {said}")
    again_keys, again = read_gguf(f"{directory}/again.gguf")
    if again.keys() != tensors.keys(): return complain(f"returns with other tensors: {sorted(again.keys() ^ tensors.keys())}")
    for tensor, (ne, kind, data) in tensors.items():
        if again[tensor][0] != ne or as_f32(again[tensor][1], again[tensor][2]) != as_f32(kind, data):
            complain(f"{tensor} does not return")
    for key, value in keys.items():
        if key.startswith("general.") or (key.startswith("tokenizer.") and ONLY_TENSORS): continue
        if key.startswith("tokenizer.chat_template"): continue
        # The merges of a tokenizer.json order the pieces of a SentencePiece model, but have no scores.
        if key in ("tokenizer.ggml.scores", "tokenizer.ggml.token_type") and keys["tokenizer.ggml.model"][1] == "llama": continue
        if again_keys.get(key) != value:
            complain(f"{key} returns as {str(again_keys.get(key))[:100]} instead of {str(value)[:100]}")


def check_good(name, expected, directory, complain):
    gguf, model = f"{directory}/{name}.gguf", f"{CORPUS}/{name}/model"
    vocabulary = ["--no-vocab"] if ONLY_TENSORS else []
    code, said = tool("mlx2gguf", model, "-o", gguf, "--fallback", "f32", *vocabulary)
    if code: return complain(f"exit {code}: {said}")
    keys, tensors = read_gguf(gguf)
    check_keys(expected, keys, complain)
    if not ONLY_TENSORS: check_tokens(expected["tokens"], keys, complain)
    check_tensors(expected["tensors"], tensors, complain)
    code, said = tool("verify", gguf)
    if code and not ONLY_TENSORS: complain(f"verify: exit {code}: {said}")
    code, said = tool("verify", "--data", "--against", model, gguf)
    if code and not ONLY_TENSORS: complain(f"verify --against: exit {code}: {said}")
    check_back(name, gguf, keys, tensors, directory, complain)


def check_wrong(name, expected, directory, complain):
    gguf = f"{directory}/{name}.gguf"
    code, said = tool("mlx2gguf", f"{CORPUS}/{name}/model", "-o", gguf, "--fallback", "f32")
    if code != expected["exit"]: complain(f"exit {code} instead of {expected['exit']}: {said}")
    elif not any(re.search(one, said, re.IGNORECASE) for one in expected["says"]): complain(f"is refused for another reason: {said}")
    if os.path.exists(gguf): complain("leaves a file behind")


def main():
    cases = sorted(one for one in os.listdir(CORPUS) if os.path.isdir(f"{CORPUS}/{one}/model"))
    cases = [one for one in cases if any(fnmatch.fnmatch(one, glob) for glob in ARGUMENTS)]
    expectations = {one: json.load(open(f"{CORPUS}/{one}/expected.json")) for one in cases}
    cases = [one for one in cases if expectations[one].get("architecture") not in DECODERS]
    bad = 0
    for name in cases:
        expected = expectations[name]
        complaints = []
        directory = tempfile.mkdtemp()
        try:
            check = check_wrong if "exit" in expected else check_good
            check(name, expected, directory, complaints.append)
        finally:
            shutil.rmtree(directory)
        for complaint in complaints[:6]: print(f"{name}: {complaint}")
        if len(complaints) > 6: print(f"{name}: and {len(complaints) - 6} more")
        bad += bool(complaints)
    print(f"{len(cases) - bad} of {len(cases)} cases pass")
    return 1 if bad or not cases else 0


sys.exit(main())
