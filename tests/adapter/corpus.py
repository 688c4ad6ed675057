"""Tests the reference adapters: compares mlx2gguf's output with the tensors in expected.json and merged files with
products computed here with numpy, and checks the messages of refusals. With a client that runs llama.cpp, also
compares the logits of base and adapter, and of merged files, with expected.npy.
usage: corpus.py BIN_DIR CORPUS/lora [COMMAND that prints logits…]"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import gguf_values

tools, corpus, client = sys.argv[1], sys.argv[2], sys.argv[3:]
MERGED = 2e-4  # largest difference of a merged value from the float64 product, for values near 1


def run(tool, *arguments):
    return subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, text=True)


def made(tool, *arguments):
    done = run(tool, *arguments)
    if done.returncode:
        raise AssertionError(f"{tool} {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()} {done.stdout[-300:].strip()}")
    return done


def tensors(path):
    return gguf_values.load(os.path.join(tools, "gguf-dump"), path)


def with_products(base, decoded, adapters):
    """Returns the tensors of `base` plus the pairs of GGUF adapters, and the changed names. `decoded` has all of them
    in F32."""
    sums, changed = dict(base), set()
    for path, scale in adapters:
        keys, pairs = tensors(path)
        for name in pairs:
            if not name.endswith(".lora_a"):
                continue
            target = name[:-len(".lora_a")]
            a, b = pairs[name], pairs[target + ".lora_b"]
            if target == "token_embd.weight":
                product, rank = a @ b.T, a.shape[-1]
            else:
                product, rank = b @ a, b.shape[-1]
            before = sums[target] if target in changed else decoded[target]
            sums[target] = before + scale * keys["adapter.lora.alpha"] / rank * product
            changed.add(target)
    return sums, changed


def compare(title, got, wanted, changed):
    if got.keys() != wanted.keys():
        raise AssertionError(f"{title}: other tensors: {sorted(got.keys() ^ wanted.keys())}")
    for name in wanted:
        if name in changed:
            worst = np.abs(got[name] - wanted[name]).max()
            if not worst < MERGED:
                raise AssertionError(f"{title}: {name} differs by {worst}")
        elif isinstance(wanted[name], bytes):
            if got[name] != wanted[name]: raise AssertionError(f"{title}: {name} differs")
        elif not np.array_equal(got[name], wanted[name]):
            raise AssertionError(f"{title}: {name} differs")


def logits(title, case, arguments):
    if not client:
        return
    done = subprocess.run([*client, *arguments, *map(str, case["tokens"])], capture_output=True, text=True)
    rows = [line.split()[2:] for line in done.stdout.splitlines() if line.startswith("logits ")]
    wanted = np.load(os.path.join(corpus, case["case"], "expected.npy"))
    if done.returncode or len(rows) != len(wanted):
        raise AssertionError(f"{title}: llama.cpp: exit {done.returncode}: {done.stderr[-400:]}")
    got = np.array([[float(value) for value in row] for row in rows])
    worst = np.abs(got - wanted).max()
    if not worst <= case["tolerance"]:
        raise AssertionError(f"{title}: logits differ by {worst}, {case['tolerance']} is allowed")
    print(f"{case['case']}: {title}: logits differ by {worst:.5f} at most, {case['tolerance']} is allowed")


def refused(title, case, *arguments):
    done = run(*arguments)
    if done.returncode != 3 or os.path.exists(arguments[-1]):
        raise AssertionError(f"{title}: exit {done.returncode}, not 3: {done.stderr.strip()}")
    if len(done.stderr.splitlines()) != 1:
        raise AssertionError(f"{title}: more than one line: {done.stderr}")
    wanted = case.get("must_say", ["merge"])
    if not any(re.search(pattern, done.stderr) for pattern in wanted):
        raise AssertionError(f"{title}: does not say any of {wanted}: {done.stderr.strip()}")


def stored(directory):
    name, = (name for name in os.listdir(directory) if name.endswith(".safetensors"))
    data = open(os.path.join(directory, name), "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return name, {tensor: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]) for tensor, t in header.items()}


def check_return(case, source, base, path):
    """Checks that an adapter converted back to its form is unchanged, and that its GGUF is then the same byte for
    byte."""
    form = "mlx" if case["form"] == "mlx" else "peft"
    made("gguf2mlx", path("adapter0.gguf"), "--base", base, "--adapter", form, "-q", "-o", path("back"))
    made("mlx2gguf", path("back"), "--base", base, "-q", "-o", path("there.gguf"))
    if open(path("adapter0.gguf"), "rb").read() != open(path("there.gguf"), "rb").read():
        raise AssertionError("there and back gives another GGUF")
    # Scales of single modules are now in B, and experts that were one parameter are separate modules.
    if case["case"] in ("qwen3_rslora_patterns", "qwen3moe_target_parameters"): return
    if stored(source) != stored(path("back")):
        raise AssertionError("there and back gives other factors")


def check_quantised_base(lora, converted, path):
    """Checks that merging onto Q8_0 quantises the sums again and leaves other tensors unchanged, and that the report
    states the error."""
    made("gguf-quantize", path("base.gguf"), "--type", "q8_0", "-q", "-o", path("q8.gguf"))
    done = made("gguf-quantize", path("q8.gguf"), *lora, "-q", "--report", "json", "-o", path("merged-q8.gguf"))
    report = {tensor["name"]: tensor for tensor in json.loads(done.stdout)["tensors"]}
    for name in ("q8", "merged-q8"): made("gguf-quantize", path(f"{name}.gguf"), "--type", "f32", "-q", "-o", path(f"{name}-f32.gguf"))
    listed = [json.loads(made("gguf-dump", "--json", path(f"{name}.gguf")).stdout)["tensors"] for name in ("q8", "merged-q8")]
    if {name: t["type"] for name, t in listed[0].items()} != {name: t["type"] for name, t in listed[1].items()}:
        raise AssertionError("merged into Q8_0: other types")
    base, got = tensors(path("q8-f32.gguf"))[1], tensors(path("merged-q8-f32.gguf"))[1]
    wanted, changed = with_products(base, base, converted)
    for name in wanted:
        difference = np.sqrt(np.mean((got[name] - wanted[name])**2) / np.mean(wanted[name]**2))
        if difference > (0.01 if name in changed else 0):
            raise AssertionError(f"merged into Q8_0: {name} differs by {difference}")
        reported = report[name].get("rms")
        if name in changed and listed[1][name]["type"] == "Q8_0" and not abs(reported - difference) < 1e-4:
            raise AssertionError(f"merged into Q8_0: {name}: the report says {reported}, it is {difference}")


def check(case, directory, work):
    base = os.path.join(corpus, "..", case["base"], "model")
    wanted = [(os.path.join(directory, path), scale) for path, scale in case.get("adapters", [["adapter", 1]])]
    path = lambda name: os.path.join(work, name)
    made("mlx2gguf", base, "--fallback", "f32", "-q", "-o", path("base.gguf"))
    lora = [argument for folder, scale in wanted for argument in ("--lora", f"{folder}={scale}")]

    # llama.cpp rounds the inputs of 16-bit and quantised weights, so logits are compared in float32.
    made("gguf-quantize", path("base.gguf"), "--type", "f32", "-q", "-o", path("base32.gguf"))
    converted = []
    for number, (folder, scale) in enumerate(wanted):
        out = path(f"adapter{number}.gguf")
        source = ["mlx2gguf", folder] + ([] if case.get("no_base") else ["--base", base])
        if case["adapter"] != "accept":
            refused("adapter", case, *source, "-q", "-o", out)
            continue
        made(*source, "-q", "-o", out)
        converted.append((out, scale))
        os.makedirs(path("only"), exist_ok=True)
        shutil.copy(os.path.join(base, "config.json"), path("only"))
        for known in (path("only"), path("base.gguf")):  # sizes can also come from config.json alone or from a GGUF
            made("mlx2gguf", folder, "--base", known, "-q", "--force", "-o", path("again.gguf"))
            if open(out, "rb").read() != open(path("again.gguf"), "rb").read():
                raise AssertionError(f"the adapter is another with --base {os.path.basename(known)}")
        for arguments in ([out], ["--data", out], ["--together", path("base.gguf"), out]):
            made("verify", "--strict", *arguments)
        if case.get("adapter_tensors") is not None:
            listed = json.loads(made("gguf-dump", "--json", out).stdout)["tensors"]
            have = {name: tensor["shape"] for name, tensor in listed.items()}
            if have != case["adapter_tensors"]:
                raise AssertionError(f"other pairs: {have}, not {case['adapter_tensors']}")
    if converted:
        together = [argument for out, scale in converted for argument in ("--lora", f"{out}={scale}")]
        logits("adapter", case, [path("base32.gguf"), *together])

    if case["adapter"] == "accept" and "adapters" not in case: check_return(case, wanted[0][0], base, path)

    if case["merge"] is None:
        return
    decoded = tensors(path("base32.gguf"))[1]
    directions = {"merged directory": ["mlx2gguf", base, "--fallback", "f32"],
                  "merged GGUF": ["gguf-quantize", path("base.gguf"), "--type", "f32"]}
    for title, command in directions.items():
        out = path("merged.gguf")
        if case["merge"] != "accept":
            refused(title, case, *command, *lora, "-q", "-o", out)
            continue
        made(*command, *lora, "-q", "--force", "-o", out)
        keys, merged = tensors(out)
        if keys.get("general.lora.count") != len(wanted):
            raise AssertionError(f"{title}: general.lora.count is {keys.get('general.lora.count')}")
        if converted and title == "merged directory":
            sums, changed = with_products(tensors(path("base.gguf"))[1], decoded, converted)
            compare(title, merged, sums, changed)
        if client:
            made("gguf-quantize", out, "--type", "f32", "-q", "--force", "-o", path("merged32.gguf"))
            logits(title, case, [path("merged32.gguf")])
        if title == "merged GGUF" and converted: check_quantised_base(lora, converted, path)
        if title == "merged GGUF" and case["adapter"] == "accept":
            back = [a.rsplit("=", 1)[0] + "=" + str(-float(a.rsplit("=", 1)[1])) if "=" in a else a for a in lora]
            made("gguf-quantize", out, *back, "-q", "-o", path("back.gguf"))
            names = set(merged)
            compare("taken out again", tensors(path("back.gguf"))[1], decoded, names)


names = sorted(name for name in os.listdir(corpus) if os.path.isdir(os.path.join(corpus, name)))
failed = 0
for name in names:
    directory = os.path.join(corpus, name)
    case = json.load(open(os.path.join(directory, "expected.json")))
    with tempfile.TemporaryDirectory() as work:
        try:
            check(case, directory, work)
        except AssertionError as problem:
            print(f"{name}: {problem}")
            failed += 1
print(f"{len(names) - failed} passed, {failed} failed")
sys.exit(failed > 0)
