"""Leaves out each key and each kind of tensor of GGUF files in turn, changes the form of their queries, keys and values, and
compares what verify says with what a real llama.cpp does.
usage: check-required.py BIN_DIR LOADER MODEL.gguf...   (LOADER: the command that scripts/check-required builds)
A line for each difference: verify calls something required that llama.cpp loads without, or is silent where llama.cpp refuses.
"""
import copy, json, re, subprocess, sys, tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from gguf_edit import Gguf, size_of


def without(model, name):
    less = copy.copy(model)
    less.keys = [key for key in model.keys if key[0] != name]
    less.tensors = [tensor for tensor in model.tensors if tensor[0] != name]
    return less


def left_out(model):
    """Every key that a loader could need, and of each kind of tensor the first."""
    kinds = {re.sub(r"\d+", "#", name, count=1): name for name, *_ in reversed(model.tensors)}
    keys = [name for name, *_ in model.keys if not name.startswith(("general.", "tokenizer."))]
    for name in keys + list(kinds.values()):
        yield f"without {name}", without(model, name)


def projections(model):
    """Queries, keys and values in one tensor, alone and with what must not be next to it, and biases in both forms."""
    rows = {name: ne[-1] for name, ne, *_ in model.tensors}
    kinds = {name: kind for name, _, kind, _ in model.tensors}

    def three(layer, side):
        names = [f"{layer}.attn_{part}.{side}" for part in "qkv"]
        return names if all(name in kinds for name in names) and len({kinds[name] for name in names}) == 1 else []

    layers = [name.removesuffix(".attn_q.weight") for name in kinds if name.endswith(".attn_q.weight")]
    layers = [layer for layer in layers if three(layer, "weight")]
    if not layers:
        return
    fused, biased = copy.deepcopy(model), copy.deepcopy(model)
    for layer in layers:
        for side in ("weight", "bias"):
            if three(layer, side):
                fused.join(three(layer, side), f"{layer}.attn_qkv.{side}")
    yield "with attn_qkv", fused
    both = copy.copy(fused)
    both.tensors = fused.tensors + [model.tensor(f"{layers[0]}.attn_q.weight")]
    yield "with attn_qkv and attn_q", both
    short = copy.deepcopy(fused)
    width, count = short.tensor(f"{layers[0]}.attn_qkv.weight")[1]
    short.reshape(f"{layers[0]}.attn_qkv.weight", [width, count - 1])
    yield "with an attn_qkv that lacks a row", short
    if any(three(layer, "bias") for layer in layers):
        return
    whole = copy.copy(fused)
    whole.tensors = list(fused.tensors)
    for layer in layers:
        sizes = [rows[name] for name in three(layer, "weight")]
        biased.tensors += [[f"{layer}.attn_{part}.bias", [n], 0, bytes(size_of(0, [n]))] for part, n in zip("qkv", sizes)]
        whole.tensors.append([f"{layer}.attn_qkv.bias", [sum(sizes)], 0, bytes(size_of(0, [sum(sizes)]))])
    yield "with attn_q.bias, attn_k.bias and attn_v.bias", biased
    yield "with attn_qkv and attn_qkv.bias", whole
    mixed = copy.copy(fused)
    mixed.tensors = fused.tensors + [tensor for tensor in biased.tensors if tensor[0].endswith(".bias")]
    mixed.tensors = list({tensor[0]: tensor for tensor in mixed.tensors}.values())
    yield "with attn_qkv, attn_q.bias, attn_k.bias and attn_v.bias", mixed


def answers(loader, paths):
    """What loads, for many files by one process; it starts anew behind a file that crashes it."""
    result, rest = {}, [str(path) for path in paths]
    while rest:
        run = subprocess.run([*loader, *rest], capture_output=True, text=True, timeout=600)
        lines = [line.split(" ", 1) for line in run.stdout.splitlines() if line.startswith(("loads ", "refused "))]
        result.update({path: answer == "loads" for answer, path in lines})
        rest = rest[len(lines) :]
        if rest and run.returncode != 0:
            result[rest.pop(0)] = False
        elif rest:
            sys.exit(f"the loader ended early: {run.stderr.strip()}")
    return result


def main():
    binaries, loader, models = Path(sys.argv[1]), sys.argv[2].split(), [Path(path) for path in sys.argv[3:]]
    tried = differences = 0
    for path in models:
        model = Gguf(path)
        cases = [*left_out(model), *projections(model)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{i}.gguf" for i in range(len(cases) + 1)]
            for case_path, case in zip(paths, [*(case for _, case in cases), model]):
                case.write(case_path)
            loaded = answers(loader, paths)
            if not loaded[str(paths[-1])]:
                print(f"{path.name}: llama.cpp does not load it whole")
                differences += 1
                continue
            for case_path, (label, _) in zip(paths, cases):
                run = subprocess.run([binaries / "verify", "--json", case_path], capture_output=True, text=True)
                findings = [f for f in json.loads(run.stdout)["findings"] if f["severity"] == "error"]
                claims = [f for f in findings if re.search("llama.cpp (requires|refuses)|so it refuses", f["message"])]
                tried += 1
                if (loaded[str(case_path)] and not claims) or (not loaded[str(case_path)] and findings):
                    continue
                differences += 1
                verdict = f"loads; verify says: {claims[0]['message']}" if claims else "refuses; verify says nothing"
                print(f"{path.name}: {label} llama.cpp {verdict}")
    print(f"{tried} changes of {len(models)} models, {differences} differences")
    sys.exit(differences > 0 or tried == 0)


main()
