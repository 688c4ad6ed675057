#!/usr/bin/env python3
"""Runs models cut by gguf-edit in llama.cpp. If no token chose a dropped expert, the logits must not change; without a
layer they must be those of a directory without that layer.
usage: cuts.py [--sample] BIN_DIR ZOO RUNNER WORDS…
  RUNNER: node run_logits.mjs. Uses the reference models whose names end in _bf16, or some of them with --sample."""
import glob, json, os, re, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import load, save

words = sys.argv[1:]
is_sample = words[0] == "--sample"
bin_dir, zoo, *runner = words[is_sample:]
SAMPLE = ("mixtral_bf16", "glm4_moe_bf16", "qwen3_5_bf16")
TOLERANCE = 1e-4  # difference of logarithms due to another order of summation
LAYERS = {"mixtral_bf16": 1, "deepseek_v3_bf16": 2, "olmo2_bf16": 1, "glm4_moe_bf16": 1,
          "lfm2_bf16": 0, "granitemoehybrid_bf16": 0, "nemotron_bf16": 1, "hunyuan_bf16": 1}
REFUSED = {"qwen3_5_bf16": 0}  # without --force: the layers' kinds depend on their position
TOKENS = range(5, 29)


def tool(name, *words, check=True):
    done = subprocess.run([f"{bin_dir}/{name}", *words], capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{name} {' '.join(words)}: {done.stderr.strip()}")
    return done


def logits(path, tokens):
    done = subprocess.run([*runner, path, *map(str, tokens)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"llama.cpp does not run {os.path.basename(path)}: {done.stderr.strip().splitlines()[-1:]}")
    return [[float(value) for value in line.split()[2:]] for line in done.stdout.splitlines() if line.startswith("logits")]


def difference(one, other):
    return max(abs(a - b) for row, row2 in zip(one, other) for a, b in zip(row, row2))


def without_values_of(model, expert, experts, out):
    """Copies the model and zeroes the expert's part of every ffn_down_exps, so that it contributes nothing."""
    shutil.copyfile(model, out)
    tensors = json.loads(tool("gguf-dump", "--json", "--tensors", "*ffn_down_exps.*", model).stdout)["tensors"]
    with open(out, "r+b") as file:
        for tensor in tensors.values():
            size = tensor["bytes"] // experts
            file.seek(tensor["data_offset"] + expert * size)
            file.write(bytes(size))
    return len(tensors)


def check_experts(case, work):
    model, zeroed, cut = work + "/m.gguf", work + "/zeroed.gguf", work + "/cut.gguf"
    tool("mlx2gguf", "-q", "--force", case + "/model", "-o", model)
    found = tool("gguf-dump", "--json", "--keys", "*.expert_count", model, check=False)
    experts = 0 if found.returncode else next(iter(json.loads(found.stdout)["metadata"].values()))["value"]
    if not experts:
        return None
    for expert in reversed(range(experts)):
        kept = ",".join(str(number) for number in range(experts) if number != expert)
        done = tool("gguf-edit", "-q", "--force", "--keep-experts", kept, model, "-o", cut, check=False)
        words = tool("gguf-edit", "-q", "--keep-experts", kept, model, "-o", work + "/unforced.gguf", check=False)
        if words.returncode:
            return None  # refused without --force: the experts' weights depend on all experts, or they are in groups
        if not without_values_of(model, expert, experts, zeroed):
            raise RuntimeError("no ffn_down_exps")
        is_chosen = False
        for token in TOKENS:
            before = logits(model, [token])
            if before != logits(zeroed, [token]):
                is_chosen = True
                continue
            if not is_chosen:
                continue  # an unchanged file would pass too, so first find a token that changes
            found = difference(before, logits(cut, [token]))
            if found > TOLERANCE:
                raise RuntimeError(f"without expert {expert}, which token {token} does not choose, logits differ by {found:.2g}")
            return f"expert {expert} dropped, token {token}: {found:.2g}"
    raise RuntimeError("every token chooses every expert")


def without_layer(case, layer, out):
    """Writes the directory without one layer: renumbers the layers after it and shortens lists with one element per
    layer."""
    config = json.load(open(case + "/model/config.json"))
    for part in (config, config.get("text_config", {})):
        count = part.get("num_hidden_layers")
        for name, value in list(part.items()):
            if isinstance(value, list) and len(value) == count:
                part[name] = value[:layer] + value[layer + 1:]
        if "full_attn_idxs" in part:
            part["full_attn_idxs"] = [at - (at > layer) for at in part["full_attn_idxs"] if at != layer]
        if count:
            part["num_hidden_layers"] = count - 1
    tensors = {}
    for name, tensor in load(case + "/model/model.safetensors").items():
        found = re.match(r"(.*?layers\.)(\d+)(\..*)", name)
        if found and int(found[2]) == layer:
            continue
        if found and int(found[2]) > layer:
            name = f"{found[1]}{int(found[2]) - 1}{found[3]}"
        tensors[name] = tensor
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(case + "/model", out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"))
    save(tensors, out + "/model.safetensors")
    path = out + "/model.safetensors"
    data = open(path, "rb").read().replace(b'{"format": "pt"}', b'{"format":"mlx"}', 1)  # same length
    open(path, "wb").write(data)
    json.dump(config, open(out + "/config.json", "w"))


def check_layer(case, layer, work):
    model, cut, other = work + "/m.gguf", work + "/cut.gguf", work + "/other.gguf"
    tool("mlx2gguf", "-q", "--force", case + "/model", "-o", model)
    tool("gguf-edit", "-q", "--force", "--drop-layers", str(layer), model, "-o", cut)
    words = tool("gguf-edit", "-q", "--drop-layers", str(layer), model, "-o", work + "/unforced.gguf", check=False)
    if words.returncode:
        raise RuntimeError(words.stderr.strip())
    without_layer(case, layer, work + "/directory")
    tool("mlx2gguf", "-q", "--force", work + "/directory", "-o", other)
    found = difference(logits(cut, [5, 9, 4]), logits(other, [5, 9, 4]))
    if found > 0:
        raise RuntimeError(f"without layer {layer} logits differ from those of a directory without it by {found:.2g}")
    if difference(logits(model, [5, 9, 4]), logits(cut, [5, 9, 4])) < 1e-3:
        raise RuntimeError("the layer makes no difference")
    return f"layer {layer} dropped"


def check_refusal(case, layer, work):
    model = work + "/m.gguf"
    tool("mlx2gguf", "-q", "--force", case + "/model", "-o", model)
    done = tool("gguf-edit", "-q", "--drop-layers", str(layer), model, "-o", work + "/cut.gguf", check=False)
    if done.returncode == 0 or f"as layer {layer + 2}, the old layer {layer + 3} would be" not in done.stderr or os.path.exists(work + "/cut.gguf"):
        raise RuntimeError(f"--drop-layers {layer} should be refused: {done.stderr.strip()}")
    return f"layer {layer} is kept without --force: what follows would be of another kind"


def main():
    failed, seen = 0, {"experts": 0, "layer": 0, "refusal": 0}
    for case in sorted(glob.glob(zoo + "/*_bf16")):
        name = os.path.basename(case)
        if is_sample and name not in SAMPLE:
            continue
        for what, wanted in (("experts", {name}), ("layer", LAYERS), ("refusal", REFUSED)):
            if name not in wanted:
                continue
            with tempfile.TemporaryDirectory() as work:
                try:
                    said = {"experts": lambda: check_experts(case, work), "layer": lambda: check_layer(case, LAYERS[name], work),
                            "refusal": lambda: check_refusal(case, REFUSED[name], work)}[what]()
                except RuntimeError as error:
                    failed += 1
                    said = f"FAILED: {error}"
            if said:
                seen[what] += 1
                print(f"{name}: {said}", flush=True)
    if not is_sample and (seen["experts"] < 5 or seen["layer"] < len(LAYERS)):
        failed += 1
        print("too few models were cut")
    sys.exit(1 if failed else 0)


main()
