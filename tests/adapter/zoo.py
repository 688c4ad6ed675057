"""Tests adapters on every matrix of a reference model with differing layers. Merging by mlx2gguf and gguf-quantize must
equal the conversion of a directory to which numpy added the products. The pairs for a base directory and for a base
GGUF must agree with each other and, added to the base here, with the same conversion. Refusals must match
tests/adapter/zoo.refused line by line: "MODEL merge|pair MODULE", with N for numbers.
usage: zoo.py BIN_DIR CORPUS/zoo [MODEL…]     --update instead of models: writes the list"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import gguf_values
from safetensors_file import f32, load, load_metadata, save

tools, zoo, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
listed = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zoo.refused")
RANK, SCALE = 3, 2.0
NEAR = 1e-4  # relative to a tensor's largest value


def run(tool, *arguments):
    return subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, text=True)


def values(path):
    return gguf_values.load(os.path.join(tools, "gguf-dump"), path)


def compare(title, got, expected):
    assert got.keys() == expected.keys(), f"{title}: other tensors: {sorted(got.keys() ^ expected.keys())}"
    for name, value in expected.items():
        # Like ggml, gguf-quantize drops trailing dimensions of 1.
        assert got[name].squeeze().shape == value.squeeze().shape, f"{title}: {name} has another shape"
        worst = np.abs(got[name].reshape(value.shape) - value).max()
        assert worst <= NEAR * max(np.abs(value).max(), 1e-3), f"{title}: {name} differs by {worst}"


class Model:
    def __init__(self, name, work):
        self.name, self.work = name, work
        self.directory = os.path.join(zoo, name, "model")
        self.tensors, self.metadata = {}, {}
        for file in sorted(os.listdir(self.directory)):
            if file.endswith(".safetensors"):
                self.tensors.update(load(os.path.join(self.directory, file)))
                # Marks the file as written by MLX in its layout.
                self.metadata.update(load_metadata(os.path.join(self.directory, file)))
        random = np.random.default_rng(zlib.crc32(name.encode()))
        self.factors = {}
        for tensor, (dtype, array) in self.tensors.items():
            is_matrix = array.ndim in (2, 3) and dtype in ("F32", "F16", "BF16") and tensor.endswith(".weight")
            if not is_matrix or re.search(r"embed|wte|wpe|norm|conv", tensor):
                continue
            *stack, out, inner = array.shape
            a = random.standard_normal([*stack, RANK, inner]) / np.sqrt(inner)
            b = random.standard_normal([*stack, out, RANK]) / 8
            self.factors[tensor[:-len(".weight")]] = a.astype(np.float32), b.astype(np.float32)
        self.refused = set()

    def adapter(self, modules):
        path = os.path.join(self.work, "adapter")
        os.makedirs(path, exist_ok=True)
        json.dump({"fine_tune_type": "lora", "num_layers": -1, "lora_parameters": {"rank": RANK, "scale": SCALE, "dropout": 0.0}},
                  open(os.path.join(path, "adapter_config.json"), "w"))
        tensors = {}
        for module in modules:
            a, b = self.factors[module]
            if a.ndim == 2:  # matrices of nn.Linear are stored transposed, those of expert stacks are not
                a, b = a.T, b.T
            tensors[module + ".lora_a"], tensors[module + ".lora_b"] = ("F32", a), ("F32", b)
        save(tensors, os.path.join(path, "adapters.safetensors"), {"format": "mlx"})
        return path

    def merged_directory(self, modules):
        path = os.path.join(self.work, "merged")
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.directory, path, ignore=shutil.ignore_patterns("*.safetensors", "*.index.json"))
        tensors = dict(self.tensors)
        for module in modules:
            a, b = self.factors[module]
            base = f32(tensors[module + ".weight"]).astype(np.float64)
            tensors[module + ".weight"] = "F32", (base + SCALE * (b.astype(np.float64) @ a)).astype(np.float32)
        save(tensors, os.path.join(path, "model.safetensors"), self.metadata)
        return path

    def accepted(self, kind, command, *arguments):
        """Runs a command, removing and recording the modules that it refuses until it succeeds."""
        modules, left = dict(self.factors), len(self.factors)
        while modules:
            done = run(*[self.adapter(modules) if word == "ADAPTER" else word for word in [command, *arguments]])
            if done.returncode == 0:
                return list(modules)
            named = re.search(r"tensor '([^']*)'.*\[(adapter-\w+)\]$", done.stderr.strip())
            module = named and named.group(1)
            assert done.returncode == 3 and module in modules and left > 0, f"{kind}: exit {done.returncode}: {done.stderr.strip()}"
            self.refused.add(f"{self.name} {kind} {re.sub(r'[0-9]+', 'N', module)}")
            # Removes the module from all layers, since tensors of one kind are refused alike.
            modules = {name: value for name, value in modules.items() if re.sub(r"\d+", "N", name) != re.sub(r"\d+", "N", module)}
        return []

    def check(self):
        path = lambda name: os.path.join(self.work, name)
        done = run("mlx2gguf", self.directory, "--force", "--fallback", "f32", "-o", path("base.gguf"))
        assert done.returncode == 0, done.stderr
        base = values(path("base.gguf"))[1]
        merged = self.accepted("merge", "mlx2gguf", self.directory, "--force", "--fallback", "f32", "--lora", "ADAPTER", "-o", path("merged.gguf"))
        done = run("mlx2gguf", self.merged_directory(merged), "--force", "--fallback", "f32", "-o", path("expected.gguf"))
        assert done.returncode == 0, done.stderr
        compare("merge", values(path("merged.gguf"))[1], values(path("expected.gguf"))[1])

        done = run("gguf-quantize", path("base.gguf"), "--force", "--type", "F32", "--lora", self.adapter(merged), "-o", path("quantized.gguf"))
        assert done.returncode == 0, f"gguf-quantize: {done.stderr}"
        compare("gguf-quantize", values(path("quantized.gguf"))[1], values(path("expected.gguf"))[1])

        paired = self.accepted("pair", "mlx2gguf", "ADAPTER", "--force", "--base", self.directory, "-o", path("pairs.gguf"))
        if not paired:
            return
        done = run("mlx2gguf", self.adapter(paired), "--force", "--base", path("base.gguf"), "-o", path("again.gguf"))
        assert done.returncode == 0, f"base that is a GGUF: {done.stderr}"
        assert open(path("again.gguf"), "rb").read() == open(path("pairs.gguf"), "rb").read(), "other pairs for a base that is a GGUF"
        keys, pairs = values(path("pairs.gguf"))
        for name in [name[:-len(".lora_a")] for name in pairs if name.endswith(".lora_a")]:
            a, b = pairs[name + ".lora_a"], pairs[name + ".lora_b"]
            product = keys["adapter.lora.alpha"] / b.shape[-1] * (b @ a)
            base[name] = base[name] + product.reshape(base[name].shape)
        done = run("mlx2gguf", self.merged_directory(paired), "--force", "--fallback", "f32", "-o", path("expected.gguf"))
        assert done.returncode == 0, done.stderr
        compare("pairs", base, values(path("expected.gguf"))[1])


names = [name for name in sorted(os.listdir(zoo)) if name.endswith("_bf16") and name in (wanted or [name]) or wanted == ["--update"] and name.endswith("_bf16")]
refused, failed = set(), 0
for name in names:
    with tempfile.TemporaryDirectory() as work:
        try:
            model = Model(name, work)
            model.check()
            refused |= model.refused
        except AssertionError as error:
            failed += 1
            print(f"{name}: {error}")
known = set(open(listed).read().split("\n")) - {""} if os.path.exists(listed) else set()
if wanted == ["--update"]:
    open(listed, "w").write("".join(line + "\n" for line in sorted(refused)))
else:
    for line in sorted(refused ^ {line for line in known if line.split()[0] in names}):
        failed += 1
        print(f"{'refused' if line in refused else 'no longer refused'}: {line}")
print(f"{len(names)} models, {failed} failures, {len(refused)} kinds of modules refused")
sys.exit(1 if failed or not names else 0)
