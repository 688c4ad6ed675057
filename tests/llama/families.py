"""The comparison of tests/llama/families."""
import fnmatch, json, os, shutil, struct, subprocess, sys, tempfile
import numpy

import encoder_decoder

BIN, CLIENT, CORPUS, SAMPLE, GLOBS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]


def lines_of(script, arguments, start):
    """Runs a script of the client and returns the words behind `start` in the lines that begin with it."""
    done = subprocess.run(["node", f"{CLIENT}/{script}", *arguments], capture_output=True, text=True)
    if done.returncode != 0: raise RuntimeError(done.stderr.strip()[-300:])
    return [line.split()[1:] for line in done.stdout.splitlines() if line.startswith(start + " ") or line == start]


def values_of(path, expected, has_modules):
    """Returns the logarithms of the probabilities, a row for each token, or an embedding or ranks for each input. A model
    without modules.json leaves the pooling to the client."""
    if expected["logits"]:
        return numpy.array([row[1:] for row in lines_of("run_logits.mjs", [path, *map(str, expected["inputs"])], "logits")], float)
    inputs = [",".join(map(str, each)) for each in expected["inputs"]]
    options = ["--rank"] * expected["rank"]
    if expected["pooling"] is not None and not has_modules: options += ["--pooling", str(expected["pooling"])]
    return numpy.array(lines_of("run_embeddings.mjs", [path] + options + inputs, "embedding"), float)


def wrong_tokens(path, expected):
    items = [item for text in expected["texts"] for item in ("-t", text)]
    found = lines_of("run_embeddings.mjs", [path] + items, "tokens") if items else []
    for text, wanted, ids in zip(expected["texts"], expected["text_ids"], found, strict=True):
        if [int(one) for one in ids] != wanted: return f"{text!r} becomes the tokens {' '.join(ids)}"
    return None


def convert(folder, path, *options):
    done = subprocess.run([f"{BIN}/mlx2gguf", "-q", folder, "-o", path, *options], capture_output=True, text=True)
    if done.returncode != 0: raise RuntimeError(done.stderr.strip())


def merge(folder, task, alpha):
    """Adds the products of a task's factors to the weights of a directory."""
    path, weight = f"{folder}/model.safetensors", ".parametrizations.weight."
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body = bytearray(data[8 + size:])
    array = lambda name: numpy.frombuffer(body, "<f4", offset=header[name]["data_offsets"][0],
                                          count=int(numpy.prod(header[name]["shape"]))).reshape(header[name]["shape"])
    for name in [name for name in header if name.endswith(weight + "original")]:
        module, original = name.removesuffix("original"), array(name)
        a, b = array(module + "0.lora_A")[task].astype(float), array(module + "0.lora_B")[task].astype(float)
        change = (b @ a) * (alpha / a.shape[0])
        original += (change.T if "_embeddings" in name else change).astype("<f4")
    os.chmod(path, 0o644)
    open(path, "wb").write(data[:8 + size] + body)


def check_tasks(model, config, expected, work):
    """Runs each adapter on its base, and the weights that numpy merges."""
    base = f"{work}/out.gguf"
    inputs = [",".join(map(str, each)) for each in expected["inputs"]]
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "embed-adapted.mjs"), CLIENT)
    for number, task in enumerate(config["lora_adaptations"]):
        merged, adapter = f"{work}/{number}", f"{work}/{number}.lora.gguf"
        shutil.copytree(model, merged)
        merge(merged, number, config["lora_alpha"])
        convert(merged, merged + ".gguf", "--fallback", "f32")
        convert(model, adapter, "--task", task)
        wanted = numpy.array(lines_of("run_embeddings.mjs", [merged + ".gguf"] + inputs, "embedding"), float)
        found = numpy.array(lines_of("embed-adapted.mjs", [base, adapter] + inputs, "embedding"), float)
        difference = float(abs(found - wanted).max() / abs(wanted).max())
        if difference > 1e-4: return f"with the adapter for {task} differs by {difference:.2g} from the merged model"
    return None


def check(case, expected, work):
    """Returns what is wrong with a case, and the greatest difference by the greatest value."""
    path, model = f"{work}/out.gguf", f"{CORPUS}/{case}/model"
    convert(model, path, "--fallback", "f32")
    config = json.load(open(f"{model}/config.json"))
    if config.get("lora_adaptations") and (fault := check_tasks(model, config, expected, work)): return fault, None
    if fault := wrong_tokens(path, expected): return fault, None
    has_modules = os.path.exists(f"{model}/modules.json")
    wanted, found = numpy.load(f"{CORPUS}/{case}/expected.npy"), values_of(path, expected, has_modules)
    if found.shape != wanted.shape: return f"has values of shape {found.shape} instead of {wanted.shape}", None
    difference = float(abs(found - wanted).max() / abs(wanted).max())
    for one, other in zip(found, wanted) if not expected["logits"] else [(found.ravel(), wanted.ravel())]:
        cosine = float(one @ other / numpy.linalg.norm(one) / numpy.linalg.norm(other))
        if cosine < expected["cosine"]: return f"has the cosine {cosine:.6f}", difference
    return f"differs by {difference:.2g}" if difference > expected["tolerance"] else None, difference


cases = [case for case in sorted(os.listdir(CORPUS)) if any(fnmatch.fnmatch(case, glob) for glob in GLOBS)]
cases = [(case, json.load(open(path))) for case in cases if os.path.exists(path := f"{CORPUS}/{case}/expected.json")]
cases = [(case, expected) for case, expected in cases if expected.get("run") or expected.get("architecture") == "t5"]
passed = failed = 0
for case, expected in cases[::SAMPLE]:
    with tempfile.TemporaryDirectory() as work:
        try:
            if expected["run"]: fault, difference = check(case, expected, work)
            else: fault, difference = encoder_decoder.check(BIN, CLIENT, f"{CORPUS}/{case}/model", expected["inputs"])
        except RuntimeError as error: fault, difference = str(error), None
    passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{case}: {fault or f'ok, differs by {difference:.2g}'}", flush=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
