"""The comparison of tests/images/run."""
import fnmatch, hashlib, importlib.util, json, math, os, re, shutil, struct, subprocess, sys, tempfile

import numpy as np

BIN, CORPUS, GLOBS = sys.argv[1], sys.argv[2], sys.argv[3:] or ["*"]
# Elements and bytes of a block, by the number of the type.
BLOCKS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
          7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
          12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 20: ("IQ4_NL", 32, 18),
          23: ("IQ4_XS", 256, 136), 30: ("BF16", 1, 2)}
KINDS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
I32 = 5
SHAPE = "comfy.gguf.orig_shape."
# Numbers of the mixes in general.file_type.
FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_S": 11,
              "Q3_K_M": 12, "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "BF16": 32}

spec = importlib.util.spec_from_file_location("gen", f"{CORPUS}/gen.py")
gen = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gen)

problems = 0


def problem(text):
    global problems
    problems += 1
    print(text)


def read_gguf(path):
    """Returns {key: value}, {key: kind of the array's elements} and [(tensor, ne, type, data)]."""
    data, at = open(path, "rb").read(), 4

    def number(form):
        nonlocal at
        value, = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize(form)
        return value

    def value_of(kind):
        nonlocal at
        if kind != 8: return number(KINDS[kind])
        size = number("Q")
        at += size
        return data[at - size:at].decode()

    number("I")
    tensors, count, keys, arrays = number("Q"), number("Q"), {}, {}
    for _ in range(count):
        name, kind = value_of(8), number("I")
        if kind == 9:
            arrays[name], length = number("I"), number("Q")
            keys[name] = [value_of(arrays[name]) for _ in range(length)]
        else:
            keys[name] = value_of(kind)
    infos = []
    for _ in range(tensors):
        name = value_of(8)
        ne = [number("Q") for _ in range(number("I"))]
        infos.append((name, ne, number("I"), number("Q")))
    start, found = (at + 31) // 32 * 32, []
    for name, ne, kind, offset in infos:
        text, elements, size = BLOCKS[kind]
        found.append((name, ne, text, data[start + offset:start + offset + math.prod(ne) // elements * size]))
    return keys, arrays, found


def run(*arguments):
    return subprocess.run([f"{BIN}/{arguments[0]}", *arguments[1:]], capture_output=True, text=True)


def made(what, *arguments):
    """Runs a tool that must succeed; returns its messages, or None."""
    got = run(*arguments)
    if got.returncode == 0: return got.stdout + got.stderr
    problem(f"{what}: exit {got.returncode}: {got.stderr.strip()[:300]}")
    return None


def compare(what, path, keys, tensors, free_types=()):
    """tensors: [[name, type, ne, hash]]"""
    got_keys, arrays, got = read_gguf(path)
    if got_keys != keys:
        different = sorted(k for k in {*keys, *got_keys} if keys.get(k) != got_keys.get(k))
        problem(f"{what}: keys differ: " + ", ".join(f"{k}: {got_keys.get(k)} instead of {keys.get(k)}"
                                                    for k in different[:5]))
    for name, kind in arrays.items():
        if kind != I32: problem(f"{what}: {name} is an array of kind {kind}")
    if [t[0] for t in got] != [t[0] for t in tensors]:
        names, wanted = {t[0] for t in got}, {t[0] for t in tensors}
        return problem(f"{what}: names: missing {sorted(wanted - names)[:5]}, added {sorted(names - wanted)[:5]}")
    for (name, ne, kind, data), (_, want_kind, want_ne, want_hash) in zip(got, tensors):
        if ne != want_ne: problem(f"{what}: {name}: ne {ne} instead of {want_ne}")
        if name in free_types: continue
        if kind != want_kind: problem(f"{what}: {name}: {kind} instead of {want_kind}")
        elif hashlib.sha256(data).hexdigest() != want_hash: problem(f"{what}: {name}: other bytes ({kind})")


def with_mix(expected, mix):
    """The tensors of a mix: what differs from the plain conversion is listed."""
    changed = expected["mixes"][mix]
    return [[n, *(changed[n][:1] if n in changed else [t]), ne, changed[n][1] if n in changed else h]
            for n, t, ne, h in expected["tensors"]]


def check_left_out(case, report, folder):
    expected = case["expected"]
    names = [each.split(" (")[0] for each in json.loads(report)["left_out"]]
    for part, count in expected.get("left_out", {}).items():
        own = [n for n in names if n.startswith(part) or part in n]
        if len(own) != count: problem(f"{case['name']}: {len(own)} of {part} are reported as left out, not {count}")
    for name in expected.get("left_out_names", []):
        if name not in names: problem(f"{case['name']}: {name} is not reported as left out")


def check_folded(case, source, folder):
    """--max-dims 4: five dimensions become four, and a key has the shape; the data are the same."""
    path, expected = f"{folder}/folded.gguf", case["expected"]
    if made(f"{case['name']} --max-dims 4", "mlx2gguf", source, "-o", path, "--max-dims", "4",
            *case.get("args", [])) is None: return
    keys, tensors = dict(expected["keys"]), []
    for name, kind, ne, digest in expected["tensors"]:
        if len(ne) == 5:
            keys[SHAPE + name] = ne[::-1]
            ne = [*ne[:3], ne[3] * ne[4]]
        tensors.append([name, kind, ne, digest])
    compare(f"{case['name']} --max-dims 4", path, keys, tensors)


def check_pipe(case, source, plain, folder):
    """A file that comes through a pipe becomes the same GGUF, unquantised and quantised."""
    arguments = case.get("args", [])
    jobs = [("mlx2gguf", [], plain)]
    if "Q4_K_S" in case["expected"]["mixes"]:
        quantised = f"{folder}/quantised.gguf"
        if made(case["name"], "gguf-quantize", "--type", "Q4_K_S", source, "-o", quantised, *arguments) is None: return
        jobs.append(("gguf-quantize", ["--type", "Q4_K_S"], quantised))
    for tool, options, expected in jobs:
        out = f"{folder}/pipe.gguf"
        what = f"{case['name']}, {tool} from a pipe"
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as pipe:
            got = subprocess.run([f"{BIN}/{tool}", "-", "-o", out, "--force", *options, *arguments], stdin=pipe.stdout,
                                 capture_output=True, text=True)
        if got.returncode != 0: problem(f"{what}: exit {got.returncode}: {got.stderr.strip()[:300]}")
        elif open(out, "rb").read() != open(expected, "rb").read(): problem(f"{what}: another file")


def check_good(case, folder):
    name, expected, arguments = case["name"], case["expected"], case.get("args", [])
    source = gen.build(case, f"{folder}/source")
    plain = f"{folder}/plain.gguf"
    report = made(name, "mlx2gguf", source, "-o", plain, "--report", "json", "--quiet", *arguments)
    if report is None: return
    products = expected.get("products") or []
    compare(name, plain, expected["keys"], expected["tensors"], products)
    check_left_out(case, report, folder)
    if case["form"] == "file": check_pipe(case, source, plain, folder)
    if products:
        exact = f"{folder}/exact.gguf"
        if made(name + " --exact", "mlx2gguf", source, "-o", exact, "--exact", "--fallback", "f32", *arguments):
            compare(name + " --exact", exact, expected["keys"],
                    [[n, "F32" if n in products else t, ne, h] for n, t, ne, h in expected["tensors"]])
    if any(len(ne) == 5 for _, _, ne, _ in expected["tensors"]): check_folded(case, source, folder)
    for mix in expected["mixes"]:
        keys = {**expected["keys"], "general.file_type": FILE_TYPES[mix]}
        for origin, path in (("source", source), ("GGUF", plain)):
            if products and origin == "GGUF": continue  # the plain conversion rounds
            out = f"{folder}/mix.gguf"
            what = f"{name} {mix} from the {origin}"
            own = arguments if origin == "source" else []
            if made(what, "gguf-quantize", "--type", mix, path, "-o", out, "--force", *own) is None: continue
            changed = expected["mixes"][mix]
            compare(what, out, keys, with_mix(expected, mix), [n for n in products if n not in changed])
            if mix == case.get("values_of") and origin == "source": check_values(case, out, folder)


# A case with the tensors of each class of diffusers whose names differ from the reference's.
CLASSES = {"FluxTransformer2DModel": "flux_dev", "ChromaTransformer2DModel": "chroma", "Flux2Transformer2DModel": "flux2",
           "SD3Transformer2DModel": "sd3_medium", "AuraFlowTransformer2DModel": "aura",
           "CosmosTransformer3DModel": "cosmos_t2i", "LTXVideoTransformer3DModel": "ltxv",
           "HunyuanVideoTransformer3DModel": "hyvid", "WanTransformer3DModel": "wan_t2v",
           "Lumina2Transformer2DModel": "lumina2", "ZImageTransformer2DModel": "lumina2"}


def as_diffusers(tensors, rows):
    """Returns the tensors {name: array} under the names of diffusers, split and with halves swapped back, and those
    that a class has."""
    sources, made, kept = {}, {}, {}
    for source, target, *part in rows: sources.setdefault(target, []).append((source, part[0] if part else None))
    patterns = [(re.compile(re.escape(target).replace(r"\#", r"(\d+)") + r"(\.weight|\.bias|)$"), target) for target in sources]
    for name, (dtype, shape, array) in tensors.items():
        found = [(match, target) for pattern, target in patterns if (match := pattern.match(name))]
        if not found: continue
        (*number, end), parts = found[0][0].groups(), sources[found[0][1]]
        kept[name] = (dtype, shape, array)
        array = array.reshape(shape)
        if len(parts) > 1:  # rows of any number belong together again
            step = shape[0] // (len(parts) + 2)
            pieces = np.split(array, [step * (i + 1) for i in range(len(parts) - 1)])
        else:
            is_last = number and int(number[0]) == max(int(m.group(1)) for n in tensors if (m := re.match(found[0][0].re, n)))
            swaps = parts[0][1] == "swap" or (parts[0][1] == "swap_last" and is_last)
            pieces = [np.roll(array, shape[0] // 2, 0) if swaps else array]
        for (source, _), piece in zip(parts, pieces):
            made[source.replace("#", number[0] if number else "") + end] = (dtype, list(piece.shape), piece)
    return made, kept


def check_class(name, case, rows, folder):
    """A folder of diffusers gives the bytes of the file with the reference's names."""
    source = case["tensors"]
    prefix = next((p for p in ("model.diffusion_model.", "net.") if any(t[0].startswith(p) for t in source)), "")
    tensors = {n[len(prefix):]: (d, s, gen.tensor(d, s, x)) for n, d, s, x in source if n.startswith(prefix)}
    made, kept = as_diffusers(tensors, rows)
    os.makedirs(f"{folder}/transformer")
    json.dump({"_class_name": name}, open(f"{folder}/transformer/config.json", "w"))
    for path, some in ((f"{folder}/transformer/diffusion_pytorch_model.safetensors", made), (f"{folder}/m.safetensors", kept)):
        gen.write_safetensors(path, [(n, d, s, np.ascontiguousarray(a).tobytes()) for n, (d, s, a) in some.items()])
    for path, out in (("transformer", "a.gguf"), ("m.safetensors", "b.gguf")):
        if made_by(name, f"{folder}/{path}", f"{folder}/{out}") is None: return
    if open(f"{folder}/a.gguf", "rb").read() != open(f"{folder}/b.gguf", "rb").read():
        problem(f"{name}: the folder becomes another file than the reference's names")


def made_by(what, source, out):
    return made(what, "mlx2gguf", source, "-o", out, "--quiet")


def read_f32(path):
    """Returns {tensor: (shape, data)} of a safetensors file with F32 alone."""
    data = open(path, "rb").read()
    size, = struct.unpack_from("<Q", data)
    return {name: (info["shape"], data[8 + size + info["data_offsets"][0]:8 + size + info["data_offsets"][1]])
            for name, info in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def check_values(case, mixed, folder):
    """The way back: values of the mix, with the reference's names and shapes, in a file and in a directory."""
    name, expected = case["name"], case["expected"]
    shapes = {n: expected["keys"].get(SHAPE + n, ne[::-1]) for n, _, ne, _ in expected["tensors"]}
    for out in ("back.safetensors", "back"):
        if made(f"{name} to {out}", "gguf2mlx", mixed, "--dequantize", "f32", "-o", f"{folder}/{out}") is None: continue
        files = [f"{folder}/{out}"] if out.endswith("s") else [
            f"{folder}/{out}/{f}" for f in os.listdir(f"{folder}/{out}") if f.endswith(".safetensors")]
        got = {n: t for file in files for n, t in read_f32(file).items()}
        if got.keys() != shapes.keys():
            problem(f"{name} to {out}: names differ: {sorted(got.keys() ^ shapes.keys())[:5]}")
        for tensor, (shape, data) in got.items():
            if shape != shapes.get(tensor): problem(f"{name} to {out}: {tensor}: shape {shape}")
            wanted = expected["values"].get(tensor)
            if wanted and hashlib.sha256(data).hexdigest() != wanted: problem(f"{name} to {out}: {tensor}: other values")


def check_bad(case, folder):
    source = gen.build(case, f"{folder}/source")
    tools = [["gguf-quantize", "--type", "Q4_K_S"]] + ([["mlx2gguf"]] if case["tool"] == "both" else [])
    for tool in tools:
        out = f"{folder}/out.gguf"
        got = run(*tool, source, "-o", out, *case.get("args", []))
        what = f"{case['name']}, {tool[0]}"
        text = got.stderr.strip()
        if got.returncode != 3: problem(f"{what}: exit {got.returncode}: {text[:300]}")
        elif len(text.split("\n")) != 1: problem(f"{what}: several lines: {text[:300]}")
        elif not any(word in text for word in case["must_name"]): problem(f"{what}: {text[:300]}")
        left = [f for f in os.listdir(folder) if f != "source"]
        if left: problem(f"{what}: leaves {left}")


def main():
    cases = json.load(open(f"{CORPUS}/cases.json"))
    ran = 0
    for kind, check in (("good", check_good), ("bad", check_bad)):
        for case in cases[kind]:
            if not any(fnmatch.fnmatch(case["name"], glob) for glob in GLOBS): continue
            folder = tempfile.mkdtemp(prefix="modelutils-images-")
            try:
                check(case, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            ran += 1
    names = json.load(open(f"{CORPUS}/names.json"))
    cases = {case["name"]: case for case in cases["good"]}
    for name, rows in names.items():
        if rows == "same" or not any(fnmatch.fnmatch(name, glob) for glob in GLOBS): continue
        if name not in CLASSES:
            problem(f"{name}: a class without a case here")
            continue
        with tempfile.TemporaryDirectory(prefix="modelutils-images-") as folder:
            check_class(name, cases[CLASSES[name]], rows, folder)
        ran += 1
    print(f"{ran} cases, {problems} problems")
    return 1 if problems or not ran else 0


sys.exit(main())
