"""The comparison of tests/llama/decoders."""
import fnmatch, json, os, subprocess, sys, tempfile
import numpy

BIN, CLIENT, CORPUS, GLOBS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]


def logits_of(path, tokens):
    """Returns the natural logarithms of the probabilities, one row per token."""
    done = subprocess.run(["node", f"{CLIENT}/run_logits.mjs", path, *map(str, tokens)], capture_output=True, text=True)
    if done.returncode != 0: raise RuntimeError(done.stderr.strip()[-300:])
    return numpy.array([line.split()[2:] for line in done.stdout.splitlines() if line.startswith("logits ")], float)


def check(case, expected, work):
    """Returns what is wrong with a case, and the greatest difference by the greatest value."""
    path = f"{work}/out.gguf"
    done = subprocess.run([f"{BIN}/mlx2gguf", "-q", "--fallback", "f32", f"{CORPUS}/{case}/model", "-o", path],
                          capture_output=True, text=True)
    if done.returncode != 0: return done.stderr.strip(), None
    wanted, found = numpy.load(f"{CORPUS}/{case}/expected.npy"), logits_of(path, expected["inputs"])
    if found.shape != wanted.shape: return f"has logits of shape {found.shape} instead of {wanted.shape}", None
    difference = float(abs(found - wanted).max() / abs(wanted).max())
    flat = [each.ravel() for each in (found, wanted)]
    cosine = float(flat[0] @ flat[1] / numpy.linalg.norm(flat[0]) / numpy.linalg.norm(flat[1]))
    if difference > expected["tolerance"]: return f"differs by {difference:.2g}", difference
    if cosine < expected["cosine"]: return f"has the cosine {cosine:.6f}", difference
    return None, difference


passed = failed = 0
for case in sorted(os.listdir(CORPUS)):
    path = f"{CORPUS}/{case}/expected.json"
    if not os.path.exists(path) or not any(fnmatch.fnmatch(case, glob) for glob in GLOBS): continue
    expected = json.load(open(path))
    if not expected.get("logits") or not expected.get("run"): continue
    with tempfile.TemporaryDirectory() as work:
        try: fault, difference = check(case, expected, work)
        except RuntimeError as error: fault, difference = str(error), None
    passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{case}: {fault or f'ok, differs by {difference:.2g}'}", flush=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
