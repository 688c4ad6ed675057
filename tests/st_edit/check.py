#!/usr/bin/env python3
"""Checks st-edit against numpy and a small reader of its own: layouts (shards and index as huggingface_hub makes them),
bytes that must not change, casts of every value of the small types, dequantised values, merged adapters.
usage: check.py BIN_DIR CORPUS [PART…]"""
import hashlib, json, os, re, shutil, subprocess, sys, tempfile

import numpy as np

import lora
from st_files import FORMATS, RAW, TABLES, decode, header, read_file, read_model, rounded, write_file

BIN, CORPUS = sys.argv[1:3]
failures = []


def check(fine, what):
    if not fine:
        failures.append(what)
        print(f"wrong: {what}")


def edit(*arguments, status=0):
    run = subprocess.run([f"{BIN}/st-edit", "-q", "--force", *arguments], capture_output=True, text=True)
    check(run.returncode == status, f"st-edit {' '.join(arguments)}: status {run.returncode}, {status} wanted: {run.stderr.strip()}")
    return run


def hub_shards(tensors, limit):
    """huggingface_hub's split_state_dict_into_shards_factory(), as documented there."""
    shards, current, filled = [], [], 0
    for name, (_, _, data) in tensors:
        if len(data) > limit:
            shards.append([name])
            continue
        if filled + len(data) > limit:
            shards.append(current)
            current, filled = [], 0
        current.append(name)
        filled += len(data)
    return shards + ([current] if current else [])


def layouts(work):
    for model in ["mixtral_bf16", "llama_bf16", "qwen3_4bit"]:
        source = f"{CORPUS}/zoo/{model}/model"
        before = read_model(source)
        first, again, shards = f"{work}/first.safetensors", f"{work}/again.safetensors", f"{work}/shards"
        edit(source, "--single", "-o", first)
        check(read_file(first)[1] == before, f"{model}: --single has other tensors")
        edit(first, "--max-shard-size", "5G", "-o", shards)
        check(os.listdir(shards) == ["model.safetensors"], f"{model}: 5G makes {os.listdir(shards)}")
        for limit in [9000, 20000, 100000]:
            edit(first, "--max-shard-size", str(limit), "-o", shards)
            entries, _ = header(first)
            entries.pop("__metadata__", None)
            order = [(name, before[name]) for name in entries]
            wanted = hub_shards(order, limit)
            for number, names in enumerate(wanted, 1):
                name = f"model-{number:05d}-of-{len(wanted):05d}.safetensors" if len(wanted) > 1 else "model.safetensors"
                check(set(read_file(f"{shards}/{name}")[1]) == set(names), f"{model}: {name} at {limit} holds other tensors")
            weights = [name for name in os.listdir(shards) if name.endswith(".safetensors")]
            check(len(weights) == len(wanted), f"{model}: {limit} makes {len(weights)} files, {len(wanted)} wanted")
            if len(wanted) > 1:
                text = open(f"{shards}/model.safetensors.index.json").read()
                index = {"metadata": {"total_size": sum(len(data) for _, (_, _, data) in order)},
                         "weight_map": {name: f"model-{number:05d}-of-{len(wanted):05d}.safetensors"
                                        for number, names in enumerate(wanted, 1) for name in names}}
                check(text == json.dumps(index, indent=2, sort_keys=True) + "\n", f"{model}: the index at {limit} is another")
            check(read_model(shards) == before, f"{model}: shards of {limit} have other tensors")
            edit(shards, "--single", "-o", again)
            check(open(first, "rb").read() == open(again, "rb").read(), f"{model}: {limit} and back gives another file")
            said = subprocess.run([f"{BIN}/verify", "--data", shards], capture_output=True, text=True)
            check(said.returncode == 0, f"{model}: verify of shards of {limit}: {said.stdout.strip()}")
        copy = f"{work}/copy"
        edit(source, "-o", copy)
        for name in sorted(os.listdir(source)):
            check(os.path.exists(f"{copy}/{name}") and open(f"{copy}/{name}", "rb").read() == open(f"{source}/{name}", "rb").read(),
                  f"{model}: {name} is not copied as it is")
        pipe = subprocess.run([f"{BIN}/st-edit", source, "--single", "-o", "-"], capture_output=True)
        check(pipe.stdout == open(first, "rb").read(), f"{model}: a pipe gets another file")


def casts(work):
    every16 = np.arange(65536, dtype=np.uint16)
    half = every16[np.isfinite(every16.view(np.float16))]
    brain = every16[(every16 & 0x7F80) != 0x7F80]
    rng = np.random.default_rng(1)
    doubles = np.concatenate([rng.standard_normal(5000) * 2.0**rng.integers(-40, 15, 5000), [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-45, 2.0**-25, 2.0**-25 + 2.0**-60, 0.0, -0.0]])
    floats = doubles.astype(np.float32)
    fp8 = {kind: np.arange(256, dtype=np.uint8)[np.isfinite(table)] for kind, table in TABLES.items()}
    kinds = {"f64": ("F64", doubles), "f32": ("F32", floats), "f16": ("F16", half.view(np.float16)), "bf16": ("BF16", brain),
             "e4m3": ("F8_E4M3", fp8["F8_E4M3"]), "e5m2": ("F8_E5M2", fp8["F8_E5M2"]), "ids": ("I64", np.arange(7)), "mask": ("BOOL", [0, 1, 1])}
    for target, limit in [("BF16", None), ("F16", 65504.0), ("F32", None), ("F8_E4M3", 448.0)]:
        tensors = {}
        for name, (dtype, values) in kinds.items():
            values = np.asarray(values, RAW[dtype])
            if dtype not in ("I64", "BOOL") and limit:
                values = values[np.isfinite(rounded(decode(dtype, values.tobytes()), target))]
            tensors[name] = (dtype, values)
        write_file(f"{work}/in.safetensors", tensors)
        run = edit(f"{work}/in.safetensors", "--dtype", target.lower(), "--json", "-o", f"{work}/out.safetensors")
        got = read_file(f"{work}/out.safetensors")[1]
        report = {each["name"]: each for each in json.loads(run.stdout)["tensors"]} if run.stdout else {}
        for name, (dtype, values) in tensors.items():
            raw = np.asarray(values, RAW[dtype]).tobytes()
            if dtype in ("I64", "BOOL"):
                check(got[name] == (dtype, np.shape(values), raw), f"{name} is changed by --dtype {target}")
                continue
            check(got[name][0] == target, f"{name} becomes {got[name][0]}")
            before, after = decode(dtype, raw), decode(target, got[name][2])
            want = rounded(before, target)
            check(np.array_equal(after, want), f"{dtype} → {target}: {np.count_nonzero(after != want)} of {want.size} values differ")
            check(np.array_equal(np.signbit(after), np.signbit(before)), f"{dtype} → {target}: signs of zeros differ")
            if name in report and dtype != target:
                rms = np.sqrt(np.sum((after - before)**2) / np.sum(before**2))
                said = report[name].get("relative_rms_error") or 0.0
                check(abs(said - rms) <= 1e-4 * rms, f"{dtype} → {target}: error {said}, {rms} measured")
    for target, value, fine in [("f16", 65519.9, True), ("f16", 65520.0, False), ("f8_e4m3", 464.0, True), ("f8_e4m3", 464.1, False),
                                ("f8_e4m3", np.inf, False), ("f16", np.inf, True), ("bf16", 3.4e38, False)]:
        write_file(f"{work}/in.safetensors", {"good": ("F32", [1.0]), "large.weight": ("F32", [1.0, value])})
        run = edit(f"{work}/in.safetensors", "--dtype", target, "-o", f"{work}/one.safetensors", status=0 if fine else 3)
        check(fine or "large.weight" in run.stderr, f"the error about {value} as {target} names no tensor")
    write_file(f"{work}/in.safetensors", {"a.weight": ("F32", [1.0]), "b.weight": ("F32", [1.0])})
    edit(f"{work}/in.safetensors", "--dtype", "bf16", "--dtype-of", "b.*=f32", "-o", f"{work}/two.safetensors")
    check({n: t[0] for n, t in read_file(f"{work}/two.safetensors")[1].items()} == {"a.weight": "BF16", "b.weight": "F32"}, "--dtype-of")


def dequantized(work):
    expected = json.load(open(f"{CORPUS}/hf_quantized/expected.json"))
    for case, want in sorted(expected.items()):
        folder, out = f"{CORPUS}/hf_quantized/{case}", f"{work}/plain"
        if want["verdict"] != "accept": continue
        if edit(folder, "--dequantize", "f32", "-o", out).returncode: continue
        config = json.load(open(f"{out}/config.json"))
        check("quantization_config" not in config and "quantization" not in config, f"{case}: config.json still says quantised")
        tensors = read_model(out)
        for name, tensor in want["tensors"].items():
            if name not in tensors:
                check(False, f"{case}: {name} is missing")
                continue
            dtype, shape, data = tensors[name]
            values = decode(dtype, data).astype("<f4") + 0.0
            check(list(shape) == tensor["shape"], f"{case}: {name} has the shape {shape}")
            check(hashlib.sha256(values.astype("<f4").tobytes()).hexdigest() == tensor["sha256_f32"], f"{case}: {name} has other values")


def merged(work):
    for case in sorted(os.listdir(f"{CORPUS}/lora")):
        path = f"{CORPUS}/lora/{case}/expected.json"
        if not os.path.exists(path): continue
        want = json.load(open(path))
        base = f"{CORPUS}/{want['base']}/model"
        adapters = want.get("adapters") or [["adapter", 1]]
        flags = []
        for where, scale in adapters: flags += ["--lora", f"{os.path.normpath(f'{CORPUS}/lora/{case}/{where}')}={scale}"]
        quantized = ["--dequantize", "f32"] if want["base"].endswith("4bit") else []
        if want["merge"] == "reject":
            edit(base, *flags, *quantized, "-o", f"{work}/merged", status=3)
            continue
        if want["merge"] != "accept": continue
        if quantized: edit(base, *flags, "-o", f"{work}/merged", status=3)
        if edit(base, *quantized, "--dtype", "f32", "-o", f"{work}/plain").returncode: continue
        if edit(base, *flags, *quantized, "--dtype", "f32", "-o", f"{work}/merged").returncode: continue
        plain, got = read_model(f"{work}/plain"), read_model(f"{work}/merged")
        values = {name: decode(dtype, data).reshape(shape) for name, (dtype, shape, data) in plain.items()}
        changed = lora.merge(values, [(os.path.normpath(f"{CORPUS}/lora/{case}/{where}"), scale) for where, scale in adapters])
        check(changed, f"{case}: the test merges nothing")
        for name, (dtype, shape, data) in got.items():
            after = decode(dtype, data).reshape(shape)
            if name not in changed:
                check(data == plain[name][2], f"{case}: {name} changes")
                continue
            error = np.max(np.abs(after - values[name])) / np.max(np.abs(values[name]))
            check(error < 1e-5, f"{case}: {name} differs by {error}")
        print(f"{case}: {len(changed)} tensors")


def norms(work):
    source, shifted = f"{CORPUS}/zoo/qwen3_next_bf16/model", f"{work}/shifted"
    shutil.copytree(source, shifted)
    before = read_model(source)
    names = [name for name in before if re.search(r"(input_layernorm|post_attention_layernorm|model\.norm|[qk]_norm)\.weight$", name)]
    tensors = {}
    for name, (dtype, shape, data) in before.items():
        raw = np.frombuffer(data, RAW[dtype]).reshape(shape)
        if name in names: raw = ((decode(dtype, data) + 1).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(shape)
        tensors[name] = (dtype, raw)
    write_file(f"{shifted}/model.safetensors", tensors, {"format": "mlx"})
    said = subprocess.run([f"{BIN}/verify", "--data", shifted], capture_output=True, text=True).stdout
    check("[data-norms-shifted]" in said, "verify does not warn about the shifted norms of the test")
    edit(source, "--shift-norms", "-o", f"{work}/none", status=3)
    edit(shifted, "--shift-norms", "-o", f"{work}/repaired")
    said = subprocess.run([f"{BIN}/verify", "--data", f"{work}/repaired"], capture_output=True, text=True).stdout
    check("data-norms" not in said, f"verify still warns: {said}")
    repaired, wrong = read_model(f"{work}/repaired"), read_model(shifted)
    for name, (dtype, shape, data) in repaired.items():
        if name not in names: check(data == wrong[name][2], f"{name} changes with --shift-norms")
        else: check(np.array_equal(decode(dtype, data), rounded(decode(dtype, wrong[name][2]) - 1, dtype)), f"{name}: gains are not 1 smaller")


def cuts(work):
    source = f"{CORPUS}/zoo/qwen3_moe_4bit/model"
    before = read_model(source)
    edit(source, "--keep-experts", "0,2-3", "-o", f"{work}/fewer")
    config = json.load(open(f"{work}/fewer/config.json"))
    check(config.get("num_experts") == 3, "num_experts does not follow --keep-experts")
    for name, (dtype, shape, data) in read_model(f"{work}/fewer").items():
        _, whole, old = before[name]
        if ".switch_mlp." in name or ".mlp.gate." in name:
            old = np.frombuffer(old, np.uint8).reshape(whole[0], -1)[[0, 2, 3]].tobytes()
        check(data == old, f"--keep-experts: {name} has other bytes")
    edit(source, "--keep-experts", "0", "-o", f"{work}/one", status=3)
    source = f"{CORPUS}/zoo/llama_bf16/model"
    before = read_model(source)
    layers = json.load(open(f"{source}/config.json"))["num_hidden_layers"]
    edit(source, "--drop-layers", "1", "-o", f"{work}/short")
    after = read_model(f"{work}/short")
    check(json.load(open(f"{work}/short/config.json"))["num_hidden_layers"] == layers - 1, "num_hidden_layers does not follow --drop-layers")
    wanted = {}
    for name, tensor in before.items():
        found = re.match(r"(model\.layers\.)(\d+)(\..*)", name)
        if not found: wanted[name] = tensor
        elif found[2] != "1": wanted[f"{found[1]}{int(found[2]) - (int(found[2]) > 1)}{found[3]}"] = tensor
    check(after == wanted, "--drop-layers has other tensors")


def files_below(folder):
    return {os.path.relpath(f"{where}/{name}", folder): open(f"{where}/{name}", "rb").read()
            for where, _, names in os.walk(folder) for name in names}


def modules(work):
    """Sentence Transformers: folders with the parts behind the model, which no operation changes."""
    source = f"{CORPUS}/encoders/gemma_embedding_dense/model"
    if not os.path.isdir(source): return
    before = files_below(source)
    edit(source, "-o", f"{work}/copy")
    check(files_below(f"{work}/copy") == before, "modules: a copy has other files")
    for flags in (("--dtype", "f16"), ("--single", "--set", "a=b"), ("--max-shard-size", "100K")):
        edit(source, *flags, "-o", f"{work}/other")
        after = files_below(f"{work}/other")
        weights = ("model.safetensors", "model.safetensors.index.json", "config.json")
        for name, data in before.items():
            if name not in weights: check(after.get(name) == data, f"modules {flags}: {name} is not copied as it is")
        check(all(name in before or name.startswith("model") and "/" not in name for name in after), f"modules {flags}: other files {sorted(after)}")
        said = subprocess.run([f"{BIN}/verify", f"{work}/other"], capture_output=True, text=True)
        check(said.returncode == 0, f"modules {flags}: verify: {said.stdout.strip()}")
    edit(source, "--weights-only", "-o", f"{work}/bare")
    check(set(files_below(f"{work}/bare")) == {"model.safetensors"}, "modules: --weights-only copies files")


def texts(work):
    """--text-only: names by hand, config.json from its text_config, settings of modules renamed."""
    for model, kind, wanted_class in (("gemma3", "gemma3_text", "Gemma3ForCausalLM"), ("llava15", "llama", "LlamaForCausalLM")):
        source, out = f"{work}/{model}", f"{work}/{model}-text"
        shutil.copytree(f"{CORPUS}/mmproj/{model}/model", source)
        settings = {"exclude_modules": ["lm_head", "vision_tower*", "language_model.model.layers.0.mlp*", "re:.*language_model\\.model\\.layers\\.1\\..*", "re:language_model.*lm_head", "multi_modal_projector"],
                    "quantized_layers": {"language_model.model.layers.0.mlp.up_proj": {"a": 1}, "vision_tower.x": {"b": 2}}}
        json.dump({"quantization": settings}, open(f"{source}/hf_quant_config.json", "w"))
        edit(source, "--text-only", "-o", out)
        before, after = read_model(source), read_model(out)
        wanted = {}
        for name, tensor in before.items():
            if re.match(r"(model\.)?(vision_tower|multi_modal_projector)\.", name): continue
            name = re.sub(r"^(model\.)?language_model\.", r"\1", name)
            wanted[name] = tensor
        check(wanted and after == wanted, f"{model} --text-only: {sorted(set(after) ^ set(wanted))[:6]} differ")
        config, text = json.load(open(f"{out}/config.json")), json.load(open(f"{source}/config.json"))["text_config"]
        check(config["architectures"] == [wanted_class] and config["model_type"] == kind, f"{model} --text-only: {config['architectures']}, {config['model_type']}")
        check(all(config.get(key) == value for key, value in text.items() if key not in ("architectures", "model_type")), f"{model} --text-only: config.json has other values")
        got = json.load(open(f"{out}/hf_quant_config.json"))["quantization"]
        check(got == {"exclude_modules": ["lm_head", "model.layers.0.mlp*", "re:.*model\\.layers\\.1\\..*", "re:.*lm_head"], "quantized_layers": {"model.layers.0.mlp.up_proj": {"a": 1}}},
              f"{model} --text-only: settings {got}")


def main():
    parts = {"layouts": layouts, "casts": casts, "dequantized": dequantized, "merged": merged, "norms": norms, "cuts": cuts, "modules": modules, "texts": texts}
    for name, part in parts.items():
        if len(sys.argv) > 3 and name not in sys.argv[3:]: continue
        with tempfile.TemporaryDirectory() as work: part(work)
    print("all as numpy computes it" if not failures else f"{len(failures)} wrong")
    sys.exit(1 if failures else 0)


main()
