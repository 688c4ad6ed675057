#!/usr/bin/env python3
# Writes a small Gemma 3 with a vision tower: two layers of width 4 in both, images of 4 × 4 pixels in patches of 2 × 2.
# The n-th value of a tensor is n % 7 - 3, so that every row differs and all types hold it.
# usage: tiny_tower.py DIR [CHANGE…]
#   MEMBER=JSON      sets a member of config.json ("vision_config.depth=3"); without JSON, removes it
#   pre:MEMBER=JSON  the same for preprocessor_config.json; "pre:" removes the file
#   -TENSOR          leaves out a tensor;  +TENSOR=[SHAPE] adds one or changes its shape
#   FROM/TO          replaces the beginning of names
#   mlx              stores kernels as MLX does
#   big=TENSOR       makes a tensor's first value 70000
#   from=DIR         first: takes settings, names and shapes of this directory, and its tokenizer_config.json
#   tokenizer:       leaves that file out
import glob, json, math, os, struct, sys

directory, changes = sys.argv[1], sys.argv[2:]
width, layers, patch, image, text = 4, 2, 2, 4, 4
config = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": {
    "model_type": "gemma3_text", "hidden_size": text, "intermediate_size": 4, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "vocab_size": 8, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4, "query_pre_attn_scalar": 2,
    "sliding_window": 16, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": width, "intermediate_size": 4,
                      "num_hidden_layers": layers, "num_attention_heads": 2, "patch_size": patch, "image_size": image,
                      "layer_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh"}}
preprocessor = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25], "image_seq_length": 4}
tensors = {"language_model.model.embed_tokens.weight": [8, text], "language_model.model.norm.weight": [text]}
for layer in range(2):
    for name, shape in {"input_layernorm": [4], "post_attention_layernorm": [4], "pre_feedforward_layernorm": [4],
                        "post_feedforward_layernorm": [4], "self_attn.q_proj": [4, 4], "self_attn.k_proj": [2, 4],
                        "self_attn.v_proj": [2, 4], "self_attn.o_proj": [4, 4], "self_attn.q_norm": [2],
                        "self_attn.k_norm": [2], "mlp.gate_proj": [4, 4], "mlp.up_proj": [4, 4],
                        "mlp.down_proj": [4, 4]}.items():
        tensors[f"language_model.model.layers.{layer}.{name}.weight"] = shape
tower = "vision_tower.vision_model."
tensors[tower + "embeddings.patch_embedding.weight"] = [width, 3, patch, patch]
tensors[tower + "embeddings.patch_embedding.bias"] = [width]
tensors[tower + "embeddings.position_embedding.weight"] = [(image // patch) ** 2, width]
for layer in range(layers):
    for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "mlp.fc1", "mlp.fc2",
                 "layer_norm1", "layer_norm2"):
        shape = [width] if "norm" in name else [width, width]
        tensors[f"{tower}encoder.layers.{layer}.{name}.weight"] = shape
        tensors[f"{tower}encoder.layers.{layer}.{name}.bias"] = [width]
for end in ("weight", "bias"):
    tensors[tower + "post_layernorm." + end] = [width]
tensors["multi_modal_projector.mm_input_projection_weight"] = [width, text]
tensors["multi_modal_projector.mm_soft_emb_norm.weight"] = [width]

form, big, tokenizer = "pt", None, None
def set_member(members, path, value):
    *outer, last = path.split(".")
    for name in outer:
        members = members[name]
    if value == "":
        members.pop(last, None)
    else:
        members[last] = json.loads(value)
for change in changes:
    name, _, value = change.partition("=")
    if name == "from":
        config = json.load(open(value + "/config.json"))
        path = value + "/preprocessor_config.json"
        preprocessor = json.load(open(path)) if os.path.exists(path) else None
        tensors = {}
        for path in sorted(glob.glob(value + "/*.safetensors")):
            with open(path, "rb") as file:
                infos = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            tensors |= {name: info["shape"] for name, info in infos.items() if name != "__metadata__"}
        if os.path.exists(value + "/tokenizer_config.json"):
            tokenizer = open(value + "/tokenizer_config.json").read()
    elif change == "tokenizer:":
        tokenizer = None
    elif change == "mlx":
        form = "mlx"
    elif change == "pre:":
        preprocessor = None
    elif name == "big":
        big = value
    elif change.startswith("pre:"):
        set_member(preprocessor, name[4:], value)
    elif change.startswith("-"):
        del tensors[change[1:]]
    elif change.startswith("+"):
        tensors[name[1:]] = json.loads(value)
    elif "/" in change:
        old, new = change.split("/")
        tensors = {new + t[len(old):] if t.startswith(old) else t: shape for t, shape in tensors.items()}
    else:
        set_member(config, name, value)

os.makedirs(directory, exist_ok=True)
header, data = {"__metadata__": {"format": form}}, b""
for name, shape in tensors.items():
    values = [float(n % 7 - 3) for n in range(math.prod(shape))]
    if name == big:
        values[0] = 70000.0
    if form == "mlx" and len(shape) == 4:  # [o, c, y, x] becomes [o, y, x, c]
        o, c, y, x = shape
        values = [values[((i * c + l) * y + j) * x + k] for i in range(o) for j in range(y) for k in range(x) for l in range(c)]
        shape = [o, y, x, c]
    raw = b"".join(struct.pack("<f", value)[2:] for value in values)  # BF16
    header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text_of_header = json.dumps(header).encode()
with open(directory + "/model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text_of_header)) + text_of_header + data)
with open(directory + "/config.json", "w") as file:
    json.dump(config, file)
if preprocessor is not None:
    with open(directory + "/preprocessor_config.json", "w") as file:
        json.dump(preprocessor, file)
if tokenizer is not None:
    with open(directory + "/tokenizer_config.json", "w") as file:
        file.write(tokenizer)
