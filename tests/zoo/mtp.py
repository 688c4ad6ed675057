"""Compares the keys, tensors and values of keep.gguf, only.gguf and drop.gguf with expected.json.
usage: mtp.py BIN_DIR EXPECTED"""
import hashlib, json, struct, subprocess, sys

bin_dir, expected = sys.argv[1], json.load(open(sys.argv[2]))


def dump(*words):
    return json.loads(subprocess.run([bin_dir + "/gguf-dump", "--json", *words], check=True, capture_output=True, text=True).stdout)


def number(text):
    return float(text) if not isinstance(text, str) else float(text.replace("Infinity", "inf"))


wrong = []
block = expected["block_tensors"]
trunk = set(expected["trunk_tensors"])
for file, keys, tensors in (("keep", expected["keys_keep"], trunk | set(block)), ("drop", expected["keys_drop"], trunk),
                            ("only", expected["keys_keep"], set(expected["only_tensors"]))):
    found = dump(file + ".gguf")
    for key, value in keys.items():
        if found["metadata"].get(key, {}).get("value") != value:
            wrong.append(f"{file}: {key} is {found['metadata'].get(key)}, not {value}")
    if file == "drop" and any(key.endswith("nextn_predict_layers") for key in found["metadata"]):
        wrong.append("drop: counts blocks that are not there")
    if set(found["tensors"]) != tensors:
        wrong.append(f"{file}: {sorted(set(found['tensors']) ^ tensors)[:4]} on one side only")
for name, facts in block.items():
    values = dump("--values", name, "keep.gguf")
    if values["shape"] != facts["ne"]:
        wrong.append(f"{name}: {values['shape']}, not {facts['ne']}")
    data = b"".join(struct.pack("<f", number(value)) for value in values["values"])
    # Norms that are published minus one lose bits if they are below a half, so they do not come back exactly.
    is_shifted = name.endswith("norm.weight") and "qwen3_5" in sys.argv[2]
    has_lost_bits = is_shifted and any(number(value) < 0.5 for value in values["values"])
    if not has_lost_bits and hashlib.sha256(data).hexdigest() != facts["sha256_f32"]:
        wrong.append(f"{name}: other values")
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(1 if wrong else 0)
