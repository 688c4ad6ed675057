import contextlib
import hashlib
import io
import json
import os
import runpy
import struct
import subprocess
import sys
import tempfile

bin_dir, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
scripts = os.path.join(corpus, "bump5")
# Cases in which upstream's payload is right although other parts of its output are wrong.
RIGHT_PAYLOAD = {"llama-eps6-f32", "llama-rscale", "llama-embf16", "llama-embf16-outq8", "gemma3-L8", "gemma3-L8-swin"}
REFUSED = {"llama-ropefreqs": "gguf2bump-no-place", "llama-gateup": "gguf2bump-gate-up", "gemma3-q4k": "gguf2bump-type",
           "mistral": "gguf2bump-architecture", "qwen35-q8_0": "gguf2bump-architecture",
           "qwen3vl-q8_0": "gguf2bump-architecture"}
failed = checked = 0


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def python(script, *arguments):
    """Runs a script as its own process would, but within this one, since loading numpy takes longer than most
    scripts."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    own, sys.argv = sys.argv, [script, *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_path(os.path.join(scripts, script), run_name="__main__")
    except SystemExit as end:
        status = 1 if isinstance(end.code, str) else end.code or 0
        err.write(end.code if isinstance(end.code, str) else "")
    except Exception as problem:
        status = 1
        err.write(repr(problem))
    finally:
        sys.argv = own
    return subprocess.CompletedProcess(script, status, out.getvalue(), err.getvalue())


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def expect(case, what, found, expected):
    global failed
    if found != expected:
        failed += 1
        print("%s: %s: %s instead of %s" % (case, what, found, expected))


def check(case, facts, source, out, is_right):
    done = run(os.path.join(bin_dir, "gguf2bump"), "--bump-version", "5", "-q", source, "-o", out + "/")
    if case in REFUSED:
        expect(case, "exit", done.returncode, 3)
        expect(case, "refusal", REFUSED[case] in done.stderr, True)
        expect(case, "nothing is left", os.path.exists(out), False)
        return
    expect(case, "exit", (done.returncode, done.stderr), (0, ""))
    weights = read(out, "weights.bump")
    size, = struct.unpack("<Q", weights[-40:-32])
    if is_right or case in RIGHT_PAYLOAD:
        expect(case, "payload", sha256(weights[:len(weights) - 48 - size]), facts["before_metadata_sha256"])
    if is_right:
        expect(case, "map", sha256(read(out, "weights_manifest.map")), facts["map_sha256"])
        if "llama" in case or "tiny" in case:
            expect(case, "config.json", sha256(read(out, "config.json")), facts["config_json_sha256"])
        checked_gguf = python("check_bump5_gguf.py", source, out + "/weights.bump", out + "/weights_manifest.json")
        expect(case, "check_bump5_gguf.py", (checked_gguf.returncode, checked_gguf.stderr), (0, ""))
    reader = python("read_bump5.py", out + "/weights.bump", out + "/weights_manifest.json", out + "/weights_manifest.map")
    expect(case, "read_bump5.py", (reader.returncode, reader.stderr), (0, ""))


with open(os.path.join(scripts, "digests.json")) as file:
    digests = json.load(file)
with tempfile.TemporaryDirectory() as folder:
    for group in ("right", "wrong_or_refused"):
        for case, facts in digests[group].items():
            words = facts.get("source", "").split()
            if not words:
                continue
            source, out = os.path.join(folder, "m.gguf"), os.path.join(folder, case)
            if words[0] == "mk_gguf.py":
                made = python(words[0], *[source if word == "OUT" else word for word in words[1:]])
                expect(case, "mk_gguf.py", made.returncode, 0)
            else:
                source = os.path.join(corpus, "..", words[0])
            check(case, facts, source, out, group == "right")
            checked += 1
print("%d cases, %d differences" % (checked, failed))
sys.exit(failed > 0 or checked == 0)
