#!/usr/bin/env python3
"""Converts the quantised reference directories and compares the result with values that other programs unpacked
(expected.json: SHA-256 of the exact float32 values), with and without --exact --fallback f32. Bad directories must be
refused in one line that names the module, leaving no output.
usage: corpus.py BIN_DIR HF_QUANTIZED [CASE…]"""
import hashlib, json, os, re, subprocess, sys, tempfile

import numpy as np

BLOCKS = {"Q4_0": 18, "Q5_0": 22, "Q8_0": 34}
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def e4m3():
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    values = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0**(exponent - 10.0))
    return np.where(codes & 128, -values, values).astype(np.float32)


def decode(kind, raw, count):
    raw = np.frombuffer(raw, np.uint8)
    if kind == "F32": return raw.view(np.float32)
    if kind == "F16": return raw.view(np.float16).astype(np.float32)
    if kind == "BF16": return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if kind == "NVFP4":  # blocks of 64: four scales, then low and high nibbles for each 16 elements
        blocks = raw.reshape(-1, 36)
        scales = e4m3()[blocks[:, :4]]
        codes = blocks[:, 4:].reshape(-1, 4, 8)
        values = np.concatenate([E2M1[codes & 15], E2M1[codes >> 4]], axis=2)
        return (values * scales[:, :, None]).astype(np.float32).reshape(-1)
    if kind == "MXFP4":
        blocks = raw.reshape(-1, 17)
        codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1)
        return (E2M1[codes] * np.exp2(blocks[:, :1].astype(np.float32) - 127)).reshape(-1)
    blocks = raw.reshape(-1, BLOCKS[kind])
    d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    if kind == "Q8_0": return (d * blocks[:, 2:].view(np.int8).astype(np.float32)).reshape(-1)
    nibbles = blocks[:, -16:]
    codes = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.int32)
    if kind == "Q4_0": return (d * (codes - 8).astype(np.float32)).reshape(-1)
    high = blocks[:, 2:6].copy().view(np.uint32)
    codes |= ((high >> np.arange(32, dtype=np.uint32)) & 1).astype(np.int32) << 4
    return (d * (codes - 16).astype(np.float32)).reshape(-1)


def gguf_name(name, experts):
    """Returns the GGUF name of a tensor in llama's or Qwen 3's layers, or None if it is checked with its expert's
    stack."""
    fixed = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
    if name in fixed: return fixed[name], None
    found = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)", name)
    layer, module, side = found.groups()
    parts = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
             "mlp.gate": "ffn_gate_inp"}
    if module in parts: return f"blk.{layer}.{parts[module]}.{side}", None
    number, which = re.fullmatch(r"mlp\.experts\.(\d+)\.(\w+)_proj", module).groups()
    return f"blk.{layer}.ffn_{which}_exps.{side}", int(number)


def permuted(name, values, shape, config):
    """Reorders the rows of llama's queries and keys as llama.cpp expects."""
    if config["architectures"] != ["LlamaForCausalLM"] or not re.search(r"self_attn\.[qk]_proj\.", name): return values
    heads = config["num_attention_heads"] if "q_proj" in name else config["num_key_value_heads"]
    rows = values.reshape(heads, shape[0] // heads // 2, 2, -1)
    return rows.swapaxes(1, 2).reshape(-1)


def tensors_of(bin_dir, path):
    listed = json.loads(subprocess.run([f"{bin_dir}/gguf-dump", "--json", path], check=True, capture_output=True).stdout)
    data = open(path, "rb").read()
    return {name: (t["type"], t["shape"], data[t["data_offset"]:t["data_offset"] + t["bytes"]]) for name, t in listed["tensors"].items()}


def errors_of_verify(bin_dir, *arguments):
    said = subprocess.run([f"{bin_dir}/verify", *arguments], capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if ": error:" in line and "tokenizer" not in line]


def check_return(path, work, bin_dir):
    """Converts the GGUF to a directory for mlx-lm and compares the values, up to the measured error of forms that MLX
    lacks."""
    directory = f"{work}/back"
    run = subprocess.run([f"{bin_dir}/gguf2mlx", "--no-tokenizer", "--force", "-q", path, "-o", directory], capture_output=True, text=True)
    if run.returncode: return [f"does not become a directory: {run.stderr.strip()}"]
    return [f"as a directory: {line}" for line in errors_of_verify(bin_dir, "--data", "--against", path, directory)]


def check_accepted(case, folder, expected, bin_dir, work, flags):
    path = f"{work}/m.gguf"
    run = subprocess.run([f"{bin_dir}/mlx2gguf", "--no-vocab", "--force", *flags, folder, "-o", path], capture_output=True, text=True)
    if run.returncode: return [f"is refused: {run.stderr.strip()}"]
    wrong = [f"does not mention {ending}" for ending in expected["left_out"] if ending not in run.stdout + run.stderr]
    wrong += [f"source: {line}" for line in errors_of_verify(bin_dir, "--data", folder)]
    wrong += errors_of_verify(bin_dir, "--data", path) + errors_of_verify(bin_dir, "--against", folder, path)
    if not flags: wrong += check_return(path, work, bin_dir)
    config = json.load(open(f"{folder}/config.json"))
    tensors = tensors_of(bin_dir, path)
    for name, want in expected["tensors"].items():
        gguf, expert = gguf_name(name, None)
        if gguf not in tensors and name == "lm_head.weight": continue  # tied
        kind, shape, raw = tensors[gguf]
        values = decode(kind, raw, None).astype(np.float32)
        scale = tensors.get(gguf.replace(".weight", ".scale"))
        if scale is not None:
            factors = np.frombuffer(scale[2], np.float32)
            values = (values.reshape(len(factors), -1) * factors[:, None]).astype(np.float32).reshape(-1)
        if expert is not None: values = values.reshape(shape[-1], -1)[expert]
        values = permuted(name, values, want["shape"], config) + 0.0
        exact = hashlib.sha256(values.astype("<f4").tobytes()).hexdigest() == want["sha256_f32"]
        must = want["default"] == "exact" or "--exact" in flags
        if must and not exact: wrong.append(f"{name} as {kind} has other values")
        bits = 8 * len(raw) / (values.size * (shape[-1] if expert is not None else 1))
        if not flags and bits > want["bits_at_most"]: wrong.append(f"{name} takes {bits} bits as {kind}, {want['bits_at_most']} are enough")
    return wrong


def main():
    bin_dir, corpus, *cases = sys.argv[1:]
    all_expected = json.load(open(f"{corpus}/expected.json"))
    bad = passed = 0
    with tempfile.TemporaryDirectory() as work:
        for case in cases or sorted(all_expected):
            folder, expected = f"{corpus}/{case}", all_expected[case]
            if expected["verdict"] == "accept":
                wrong = check_accepted(case, folder, expected, bin_dir, work, [])
                wrong += [f"--exact: {one}" for one in check_accepted(case, folder, expected, bin_dir, work, ["--exact", "--fallback", "f32"])]
            else:
                path = f"{work}/bad.gguf"
                run = subprocess.run([f"{bin_dir}/mlx2gguf", "--no-vocab", folder, "-o", path], capture_output=True, text=True)
                wrong = []
                if run.returncode != 3: wrong.append(f"ends with status {run.returncode}, 3 wanted: {run.stderr.strip()}")
                if not any(name in run.stderr for name in expected["must_name"]): wrong.append(f"does not name {expected['must_name']}: {run.stderr.strip()}")
                if len(run.stderr.strip().splitlines()) != 1: wrong.append("says more than one line")
                # For unknown methods verify only reports that it does not know them, since the directories may be
                # correct.
                said = errors_of_verify(bin_dir, "--data", folder)
                if "_method_" not in case and not any(name in line for line in said for name in expected["must_name"]):
                    wrong.append(f"verify --data does not name {expected['must_name']}: {said}")
                if not set(os.listdir(work)) <= {"m.gguf", "back"}: wrong.append(f"leaves {os.listdir(work)}")
            for one in wrong[:6]: print(f"{case}: {one}")
            bad += 1 if wrong else 0
            passed += 0 if wrong else 1
    print(f"{passed} passed, {bad} failed")
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
