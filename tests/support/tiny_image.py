#!/usr/bin/env python3
# Writes a small Flux with a VAE beside it, as all-in-one files have it: one block of width 256, BF16.
# usage: tiny_image.py FILE.safetensors
import json, math, struct, sys

block = "model.diffusion_model.double_blocks.0."
tensors = {"model.diffusion_model.img_in.weight": [256, 64], "model.diffusion_model.img_in.bias": [256],
           "model.diffusion_model.final_layer.linear.weight": [64, 256],
           block + "img_attn.qkv.weight": [768, 256], block + "img_attn.proj.weight": [256, 256],
           block + "img_attn.norm.query_norm.scale": [128], block + "img_mlp.0.weight": [512, 256],
           block + "img_mlp.2.weight": [256, 512], "vae.decoder.conv_in.weight": [8, 4, 3, 3],
           "vae.decoder.conv_in.bias": [8]}
header, data = {}, b""
for name, shape in tensors.items():
    count = math.prod(shape)
    values = b"".join(struct.pack("<f", math.sin(i) / 16)[2:] for i in range(count))
    header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
