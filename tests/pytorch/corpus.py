"""Compares the tools with expected.json of the reference checkpoints. Usage: corpus.py BIN_DIR CORPUS"""
import hashlib
import json
import math
import os
import resource
import subprocess
import sys

import numpy as np

tools, corpus = sys.argv[1:3]
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Sanitizers reserve additional address space.
LIMIT = None if os.environ.get("MODELUTILS_SANITIZED") else 2 << 30


def run(tool, *arguments):
    def limit():
        if LIMIT:
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    return subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, timeout=60, preexec_fn=limit)


def digest(path, name):
    done = run("st-dump", "--json", "--values", name, path)
    values = [SPECIAL.get(v, v) if isinstance(v, str) else v for v in json.loads(done.stdout)["values"]]
    array = np.array(values, dtype=np.float32)
    array[array == 0] = 0  # no negative zeros
    return hashlib.sha256(array.tobytes()).hexdigest()


def accepted(case, path):
    verify, dump = run("verify", path), run("st-dump", "--json", path)
    if verify.returncode or dump.returncode:
        yield f"verify {verify.returncode}, st-dump {dump.returncode}: {verify.stdout!r} {dump.stderr!r}"
        return
    listed = json.loads(dump.stdout)["tensors"]
    for number, (name, wanted) in enumerate(case["tensors"].items()):
        have = listed.pop(name, None)
        if have is None:
            if name not in case.get("optional", []):
                yield f"{name} is missing"
            continue
        if (have["dtype"], have["shape"]) != (wanted["dtype"], wanted["shape"]):
            yield f"{name} is {have['dtype']} {have['shape']}, not {wanted['dtype']} {wanted['shape']}"
        elif wanted["kind"] == "f32" and number % (1 + len(case["tensors"]) // 20) == 0:
            if digest(path, name) != wanted["sha256"]:
                yield f"{name} has other values"
    yield from (f"{name} is too much" for name in listed)


def rejected(case, path):
    may_be_unknown = case.get("formless") or case.get("directory")
    verify, dump = run("verify", "--data", path), run("st-dump", path)
    if verify.returncode not in ((1, 3) if may_be_unknown else (1,)):
        yield f"verify gives {verify.returncode}"
    if dump.returncode != 3:
        yield f"st-dump gives {dump.returncode}"
    if not case.get("directory") and run("pt2st", path, "-o", "/nowhere/x.safetensors").returncode != 3:
        yield "pt2st does not refuse it"
    text = (verify.stdout + verify.stderr + dump.stderr).decode(errors="replace")
    for names in case["names"]:
        if not any(name in text for name in names):
            yield f"none of {names} is named"


failed = 0
cases = json.load(open(os.path.join(corpus, "expected.json")))["cases"]
for case in cases:
    path = os.path.join(corpus, case["path"])
    try:
        if case["verdict"] == "accept":
            problems = list(accepted(case, path))
        elif case["verdict"] == "reject":
            problems = list(rejected(case, path))
        else:
            status = run("verify", "--data", path).returncode
            problems = [] if status in (0, 1, 3) else [f"verify gives {status}"]
    except subprocess.TimeoutExpired:
        problems = ["takes more than a minute"]
    for problem in problems:
        print(f"{case['name']}: {problem}")
    failed += bool(problems)
print(f"{len(cases) - failed} passed, {failed} failed")
sys.exit(failed > 0)
