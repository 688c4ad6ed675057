#!/usr/bin/env python3
"""See tests/zoo/latent_space.
usage: latent_space.py BIN_DIR ZOO"""
import json, os, shutil, subprocess, sys, tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import load, save

MODEL = "nemotron_h_moe_bf16/model"
WIDTH, MIXTURES = 64, (1, 3)
failed = 0


def run(*arguments, status=0):
    global failed
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != status:
        failed += 1
        print(f"{arguments}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(what, is_right):
    global failed
    if not is_right:
        failed += 1
        print(what)


def main(bin_dir, zoo):
    model = f"{zoo}/{MODEL}"
    tensors, config = load(f"{model}/model.safetensors"), json.load(open(f"{model}/config.json"))
    rng = np.random.default_rng(11)
    matrices = {f"backbone.layers.{layer}.mixer.{name}.weight": ("F32", rng.standard_normal((WIDTH, WIDTH)).astype(np.float32))
                for layer in MIXTURES for name in ("fc1_latent_proj", "fc2_latent_proj")}
    with tempfile.TemporaryDirectory() as work:
        def made(name, tensors, **more):
            out = f"{work}/{name}"
            shutil.copytree(model, out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"))
            save(tensors, f"{out}/model.safetensors", {"format": "mlx"})
            json.dump(config | more, open(f"{out}/config.json", "w"))
            return out

        # The matrices are present, whether config.json states their width or not.
        for name, more in (("stated", {"moe_latent_size": WIDTH}), ("silent", {})):
            directory = made(name, tensors | matrices, **more)
            run(f"{bin_dir}/mlx2gguf", "-q", directory, "-o", f"{work}/{name}.gguf")
            listing = run(f"{bin_dir}/gguf-dump", f"{work}/{name}.gguf")
            expect(f"{name}: no key", "moe_latent_size" in listing)
            for layer in MIXTURES:
                expect(f"{name}: layer {layer} lacks matrices", f"blk.{layer}.ffn_latent_down.weight" in listing and
                       f"blk.{layer}.ffn_latent_up.weight" in listing)
            run(f"{bin_dir}/verify", "--data", f"{work}/{name}.gguf")
            run(f"{bin_dir}/verify", "--data", "--against", directory, f"{work}/{name}.gguf")
            run(f"{bin_dir}/gguf2mlx", "-q", f"{work}/{name}.gguf", "-o", f"{work}/{name}_back")
            back = {}
            for file in os.listdir(f"{work}/{name}_back"):
                if file.endswith(".safetensors"): back |= load(f"{work}/{name}_back/{file}")
            for matrix, (_, values) in matrices.items():
                expect(f"{name}: {matrix} does not come back", matrix in back and np.array_equal(back[matrix][1], values))
            members = json.load(open(f"{work}/{name}_back/config.json"))
            expect(f"{name}: config.json lacks its width", members.get("moe_latent_size") == WIDTH)
        # Without the matrices there is no latent space.
        run(f"{bin_dir}/mlx2gguf", "-q", made("none", tensors, moe_latent_size=None), "-o", f"{work}/none.gguf")
        expect("none: latent", "latent" not in run(f"{bin_dir}/gguf-dump", f"{work}/none.gguf"))
        # One layer lacks one of the two matrices.
        half = {name: value for name, value in (tensors | matrices).items() if "3.mixer.fc2_latent" not in name}
        said = run(f"{bin_dir}/mlx2gguf", "-q", made("half", half, moe_latent_size=WIDTH), "-o", f"{work}/half.gguf", status=3)
        expect(f"half: {said}", "ffn_latent_up" in said)
    print("passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
