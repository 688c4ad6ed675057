"""The comparison of tests/llama/families."""
import fnmatch, json, os, subprocess, sys, tempfile
import numpy

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


def check(case, expected, work):
    """Returns what is wrong with a case, and the greatest difference by the greatest value."""
    path = f"{work}/out.gguf"
    done = subprocess.run([f"{BIN}/mlx2gguf", "-q", "--fallback", "f32", f"{CORPUS}/{case}/model", "-o", path],
                          capture_output=True, text=True)
    if done.returncode != 0: return done.stderr.strip(), None
    if fault := wrong_tokens(path, expected): return fault, None
    has_modules = os.path.exists(f"{CORPUS}/{case}/model/modules.json")
    wanted, found = numpy.load(f"{CORPUS}/{case}/expected.npy"), values_of(path, expected, has_modules)
    if found.shape != wanted.shape: return f"has values of shape {found.shape} instead of {wanted.shape}", None
    difference = float(abs(found - wanted).max() / abs(wanted).max())
    for one, other in zip(found, wanted) if not expected["logits"] else [(found.ravel(), wanted.ravel())]:
        cosine = float(one @ other / numpy.linalg.norm(one) / numpy.linalg.norm(other))
        if cosine < expected["cosine"]: return f"has the cosine {cosine:.6f}", difference
    return f"differs by {difference:.2g}" if difference > expected["tolerance"] else None, difference


cases = [case for case in sorted(os.listdir(CORPUS)) if any(fnmatch.fnmatch(case, glob) for glob in GLOBS)]
cases = [(case, json.load(open(path))) for case in cases if os.path.exists(path := f"{CORPUS}/{case}/expected.json")]
cases = [(case, expected) for case, expected in cases if expected.get("run")]
passed = failed = 0
for case, expected in cases[::SAMPLE]:
    with tempfile.TemporaryDirectory() as work:
        try: fault, difference = check(case, expected, work)
        except RuntimeError as error: fault, difference = str(error), None
    passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{case}: {fault or f'ok, differs by {difference:.2g}'}", flush=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
