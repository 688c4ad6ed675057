"""For each family of tower_families: directory → projector file → directory, as published and in MLX's form, and again to
a projector file. Prints a line for each: the settings that came back, and every difference.
usage: tower_round_trip.py [FAMILY…]; runs the tools of the PATH in the current folder"""
import json, math, os, struct, subprocess, sys

import tower_families

# Classes whose language model is not the Llama that stands in for it here, or is not converted.
FOREIGN = ("cogvlm", "deepseekocr", "phi4", "qwen2.5o", "qwen3_omni")
UNREAD = {"phi4": ("layers.2.", "post_layernorm")}  # of the class, but nothing reads them


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(" ".join(command), "ends with", done.returncode, done.stderr.strip())
    return done.returncode == 0


def tensors(directory):
    with open(directory + "/model.safetensors", "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<Q", data)
    found = {}
    for name, info in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = info["data_offsets"]
            found[name] = (info["shape"], data[8 + size + begin:8 + size + end])
    return found


def compare(made, source, family):
    """Complains about settings that came back with other values than they had."""
    for name, value in source.items():
        if isinstance(value, dict) and isinstance(made.get(name), dict):
            yield from (f"{name}.{each}" for each in compare(made[name], value, family))
        elif name in made and name not in ("architectures", "model_type", "text_config") and made[name] != value:
            same = str(made[name]).startswith("gelu") and str(value).startswith("gelu")
            if not same and not (isinstance(value, float) and math.isclose(made[name], value, rel_tol=1e-6)):
                yield f"{name} is {made[name]} instead of {value}"


def lacking(made, source, outer=""):
    for name, value in source.items():
        if name == "text_config":
            continue
        if name not in made:
            yield outer + name
        elif isinstance(value, dict):
            yield from lacking(made[name], value, f"{outer}{name}.")


tower_families.text("text")
run("mlx2gguf", "-q", "text", "-o", "text.gguf", "--no-vocab")
for family in sys.argv[1:] or tower_families.FAMILIES:
    source = family + ".source"
    tower_families.write(source, family)
    if not run("mlx2gguf", "-q", source, "--mmproj", "-o", family + ".gguf"):
        continue
    if not run("verify", "-q", "--data", "--against", source, family + ".gguf"):
        continue
    published = tensors(source)
    language = "text.gguf"
    if "lm_head.weight" in published:
        language = family + ".text.gguf"
        run("mlx2gguf", "-q", source, "-o", language, "--no-vocab")
    stated = json.load(open(source + "/config.json"))
    for form, options in (("published", ["--dequantize", "f32"]), ("mlx", [])):
        made = f"{family}.{form}"
        if not run("gguf2mlx", "-q", language, "--mmproj", family + ".gguf", "-o", made, "--no-tokenizer", *options):
            continue
        config = json.load(open(made + "/config.json"))
        if config["architectures"] != stated["architectures"]:
            print(family, form, "has the class", config["architectures"])
        for fault in compare(config, stated, family):
            print(family, form, fault)
        back = tensors(made)
        if form == "published":
            print(family, config["model_type"], "lacks", list(lacking(config, stated)))
            for name, tensor in published.items():
                if name not in back:
                    print(family, "lacks", name)
                elif back[name] != tensor and not any(part in name for part in UNREAD.get(family, ())):
                    print(family, name, "differs:", back[name][0], tensor[0])
            more = [name for name in back if name not in published and "layers" not in name]
            print(family, "text:", sorted(name for name in more))
        run("verify", "-q", "--data", "--against", made, family + ".gguf")
        if family not in FOREIGN:
            run("verify", "-q", "--against", made, language)
