"""Checks that the tensors of the blocks after the last layer equal the last layer's. Prints nothing if they do.
usage: copied.py HASHES CONFIG      HASHES: the output of verify --hash; CONFIG: the model's config.json"""
import json, sys

config = json.load(open(sys.argv[2]))
layers = config.get("text_config", config)["num_hidden_layers"]
hashes = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    if str(entry.get("tensor", "")).startswith("blk."):
        _, number, name = entry["tensor"].split(".", 2)
        hashes.setdefault(int(number), {})[name] = entry["sha256"]
last = hashes[layers - 1]
blocks = [number for number in hashes if number >= layers]
for number in blocks:
    for name, value in last.items():
        if hashes[number].get(name) != value:
            print(f"blk.{number}.{name} is not that of blk.{layers - 1}")
    more = sorted(name for name in set(hashes[number]) - set(last) if not name.startswith("nextn."))
    if more:
        print(f"blk.{number} also has {more}")
if not blocks:
    print("no block")
