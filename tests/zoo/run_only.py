#!/usr/bin/env python3
"""Tests architectures that llama.cpp runs but no directory converts to. Builds a tiny GGUF of each by asking llama.cpp,
whose loader names the next missing key or tensor and its shape. Then gguf-dump --fit must give the cache and state
sizes in llama.cpp's log, verify must know every tensor, and --layers every role.
usage: run_only.py BIN_DIR CLIENT [ARCHITECTURE…]       CLIENT: the folder of tests/llama/install-client"""
import json, os, re, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../support"))
from tiny_gguf import gguf

bin_dir, client, *wanted = sys.argv[1:]
LAYERS = 4
# Keys that decide about caches and states, but that loaders do not require or for which a guess is wrong.
LISTED = [True, False, True, False]
EXPERTS = {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 64}
TYPES = {"tokenizer.ggml.token_type_count": 2}
# Latent attention: one KV head, as wide as the latent part and the rotated part.
LATENT = {"attention.head_count_kv": 1, "attention.kv_lora_rank": 64, "attention.key_length": 96, "attention.value_length": 64,
          "attention.key_length_mla": 96, "attention.value_length_mla": 64, "rope.dimension_count": 32}
RWKV = {"wkv.head_size": 64, "attention.head_count": 0, "attention.head_count_kv": 0}
SLIDING = {"attention.sliding_window": 512, "attention.sliding_window_pattern": LISTED}
ALL_HEADS = {"attention.head_count_kv": 4}
KDA = {"attention.head_count_kv": [0, 1, 0, 1], "kda.gate_lower_bound": -5.0}
SECTIONS = {"rope.dimension_sections": [16, 8, 8, 0]}
KEYS = {
    "arctic": EXPERTS, "grok": EXPERTS, "grovemoe": EXPERTS | {"experts_per_group": 2}, "nomic-bert-moe": EXPERTS | TYPES,
    "deepseek2-ocr": EXPERTS | ALL_HEADS | {"expert_shared_count": 1, "leading_dense_block_count": 1},
    "hrm_text": {"hrm.layers_per_stack": 2, "hrm.h_cycles": 1, "hrm.l_cycles": 2, "block_count": 6},
    "plm": ALL_HEADS | {"attention.kv_lora_rank": 64, "attention.key_length": 96, "attention.value_length": 64, "rope.dimension_count": 32},
    "bert": TYPES, "jina-bert-v2": TYPES, "jina-bert-v3": TYPES, "nomic-bert": TYPES, "t5": ALL_HEADS, "t5encoder": ALL_HEADS,
    "llada-moe": EXPERTS, "rnd1": EXPERTS,
    "cohere2moe": EXPERTS | {"attention.sliding_window": 512, "attention.sliding_window_pattern": 4},
    "granite_swa": SLIDING, "maple": EXPERTS | SLIDING, "spark2_5": SLIDING,
    "muse-glimmer": {"attention.sliding_window": 512, "attention.sliding_window_pattern": 4},
    "plamo3": {"attention.sliding_window": 512, "block_count": 8},
    "smallthinker": EXPERTS | {"attention.sliding_window": 4096, "block_count": 8},
    "rwkv6": RWKV, "arwkv7": RWKV | {"token_shift_count": 1}, "rwkv6qwen2": {"wkv.head_size": 64, "token_shift_count": 1},
    "mistral4": EXPERTS | LATENT, "hy_v4": EXPERTS | LATENT, "hy_v3": EXPERTS,
    "dots3note": EXPERTS | LATENT | SLIDING | {"attention.kv_lora_rank_swa": 64, "attention.key_length_mla_swa": 96,
                                               "attention.value_length_mla_swa": 64},
    "minimax-m3": EXPERTS | {"attention.indexer.head_count": 2},
    "deepseek4": EXPERTS | {"attention.head_count_kv": 1, "attention.compress_ratios": [0, 4, 128, 0], "expert_gating_func": 4,
                            "attention.output_group_count": 2, "hyper_connection.count": 4, "hash_layer_count": 0},
    "minimax-01": EXPERTS, "bailingmoe3": EXPERTS | LATENT | KDA, "kimi-k3": EXPERTS | LATENT | KDA,
    "qwen4exp": EXPERTS | SECTIONS, "qwen3tts": SECTIONS,
    "graniteswitch": {"adapters.token_ids_activate": [3, 4], "adapters.token_ids_substitute": [5, 6], "adapters.count": 2},
}
# Tensors that the loader accepts in several forms, so it cannot name the missing one: {name of a layer's tensor: ne}.
TENSORS = {
    "jina-bert-v2": {"ffn_up.weight": [256, 512]},
    "rwkv6": {"time_mix_lerp_fused.weight": [256, 1, 1, 5]}, "rwkv6qwen2": {"time_mix_lerp_fused.weight": [256, 1, 1, 5]},
}


# Not models by themselves, or not runnable with text only: llama.cpp refuses them or aborts when it creates a
# context.
NOT_RUN = {"gptj", "clip", "gemma4-assistant", "dflash", "eagle3", "wavtokenizer-dec"}
# llama.cpp loads these tiny shapes but aborts when it creates a context. Checks their tensors, but no sizes.
NO_CONTEXT = {"chameleon", "plm", "t5", "t5encoder", "arwkv7", "smallthinker", "dots3note", "hy_v4", "pockettts"}


def architectures():
    text = open(os.path.join(here, "../../lib/arch/families/runtime_only.cc")).read()
    text = re.sub(r"//.*", "", text[text.index("architectures[] = {"):text.index("};\n\n}  // namespace")])
    rows = re.findall(r'\{((?:"[^"]*"\s*)+)', text)
    names = "|".join("".join(re.findall(r'"([^"]*)"', row)) for row in rows).split("|")
    return [name for name in names if name and name not in NOT_RUN]


class Loader:
    """Runs llama.cpp in a separate process, which may crash."""

    def __init__(self):
        shutil.copy(os.path.join(here, "load_files.mjs"), client)  # modules are resolved relative to the script
        self.start()

    def start(self):
        self.said = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen(["node", "load_files.mjs"], cwd=client, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.said, text=True)

    def load(self, path, sequences=0):
        self.child.stdin.write(path + (f"\t{sequences}" if sequences else "") + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            status = self.child.wait()
            self.said.seek(0)
            asserted = re.findall(r"([\w.-]+:\d+): (GGML_ASSERT.*)", self.said.read())
            self.start()
            return False, f"llama.cpp ended with status {status} {' '.join(asserted[-1]) if asserted else ''}"
        answer = json.loads(answer)
        return answer["ok"], "\n".join(answer["log"])


def base_keys(architecture):
    keys = {"general.architecture": architecture}
    own = {"block_count": LAYERS, "context_length": 8192, "embedding_length": 256, "feed_forward_length": 512,
           "attention.head_count": 4, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
           "attention.layer_norm_epsilon": 1e-5, "vocab_size": 320}
    own.update(KEYS.get(architecture, {}))
    keys.update({name if name.startswith("tokenizer.") else f"{architecture}.{name}": value for name, value in own.items()})
    keys["tokenizer.ggml.model"] = "llama"
    keys["tokenizer.ggml.tokens"] = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + [f"t{i}" for i in range(61)]
    keys["tokenizer.ggml.scores"] = [0.0] * 320
    return keys


GUESSES = {"expert_count": 4, "expert_used_count": 2, "attention.sliding_window": 512, "attention.q_lora_rank": 128,
           "attention.kv_lora_rank": 64, "attention.key_length_mla": 96, "attention.value_length_mla": 64,
           "attention.key_length": 64, "attention.value_length": 64, "rope.dimension_count": 32, "expert_feed_forward_length": 64,
           "leading_dense_block_count": 1, "expert_shared_count": 1, "expert_gating_func": 2, "wkv.head_size": 64,
           "attention.indexer.head_count": 4, "attention.indexer.key_length": 64, "attention.indexer.top_k": 128,
           "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 4,
           "expert_shared_feed_forward_length": 64, "rescale_every_n_layers": 6, "time_mix_extra_dim": 32, "time_decay_extra_dim": 64}


def guess(name):
    if name in GUESSES:
        return GUESSES[name]
    if any(word in name for word in ("epsilon", "scale", "base", "factor", "clamp", "eps", "multiplier")):
        return 1.0
    if "pattern" in name or "types" in name:
        return LISTED
    return 32


def make(architecture, loader, path):
    """Extends the file until it loads. Returns the loader's last message if it never does."""
    keys, said = base_keys(architecture), ""
    tensors = {f"blk.{layer}.{name}": ne for name, ne in TENSORS.get(architecture, {}).items() for layer in range(LAYERS)}
    for _ in range(600):
        gguf(path, keys, list(tensors.items()))
        ok, log = loader.load(path)
        if ok:
            return keys, tensors, None
        if log == said:
            return keys, tensors, "asks the same again: " + log[-300:]
        said = log
        if key := re.search(r"key not found in model: (\S+)", log):
            keys[key[1]] = guess(key[1].removeprefix(architecture + "."))
        elif key := re.search(r"key (\S+) has wrong type \w+ but expected type (\w+)", log):
            keys[key[1]] = {"bool": True, "f32": 1.0, "i32": [16, 8, 8, 0]}.get(key[2], keys[key[1]])
        elif tensor := re.search(r"tensor '(\S+)' has wrong shape; expected ([\d, ]+?), got", log):
            shape = [int(n) for n in tensor[2].split(",")]
            while len(shape) > 1 and shape[-1] == 1:
                shape.pop()
            name, alike = tensor[1], re.sub(r"^blk\.\d+\.", "", tensor[1])
            for other in tensors:
                if other == name or (name.startswith("blk.") and re.sub(r"^blk\.\d+\.", "", other) == alike and tensors[other] == [1]):
                    tensors[other] = shape
        elif tensor := re.search(r"tensor '(\S+)' not found", log):
            name = tensor[1]
            layer = re.match(r"blk\.(\d+)\.", name)
            before = tensors.get(re.sub(r"^blk\.\d+\.", f"blk.{int(layer[1]) - 1}.", name)) if layer and int(layer[1]) else None
            tensors[name] = before or [1]
        else:
            return keys, tensors, log.strip()[-400:]
    return keys, tensors, "never loads"


def sizes(log):
    def total(pattern, i):
        return sum(float(found[i]) for found in re.findall(pattern, log)) * 1048576
    caches, states = r"K \(\w+\):\s*([\d.]+) MiB, V \(\w+\):\s*([\d.]+) MiB", r"R \(f32\):\s*([\d.]+) MiB, S \(f32\):\s*([\d.]+) MiB"
    return {"k_bytes": total(caches, 0), "v_bytes": total(caches, 1), "r_bytes": total(states, 0), "s_bytes": total(states, 1)}, \
        len(re.findall(caches, log)) + len(re.findall(states, log))


def check(architecture, loader, path):
    keys, tensors, problem = make(architecture, loader, path)
    if problem:
        return "NOT MADE: " + problem
    problems = []
    for sequences in () if architecture in NO_CONTEXT else (1, 3):
        ok, log = loader.load(path, sequences)
        if not ok:
            problems.append(f"no context: {log.strip()[-200:]}")
            break
        theirs, lines = sizes(log)
        def number(name):
            found = re.findall(name + r"\s*=\s*(\w+)", log)
            return found[-1] if found else "0"
        words = ["--context", number("n_ctx"), "--batch", number("n_batch"), "--ubatch", number("n_ubatch"), "--sequences", number("n_seq_max"),
                 "--flash-attention", "on", "--ram", "64G"] + (["--unified"] if number("kv_unified") == "true" else [])
        fit = subprocess.run([f"{bin_dir}/gguf-dump", "--fit", "--json", *words, path], capture_output=True, text=True)
        if fit.returncode:
            problems.append("--fit: " + fit.stderr.strip())
            break
        ours = json.loads(fit.stdout)["contexts"][0]
        for name, value in theirs.items():
            if abs(value - ours[name]) > 0.0051 * 1048576 * max(1, lines):
                problems.append(f"{sequences} sequences: {name} {ours[name]}, llama.cpp {value:.0f}")
    verify = json.loads(subprocess.run([f"{bin_dir}/verify", "--json", path], capture_output=True, text=True).stdout)
    for finding in verify.get("findings", []):
        if finding["severity"] in ("error", "warning"):
            problems.append(f"verify: {finding['code']} {finding.get('where', '')} {finding['message'][:120]}")
    layers = subprocess.run([f"{bin_dir}/gguf-dump", "--layers", path], capture_output=True, text=True).stdout
    if "other" in layers:
        problems.append("--layers: " + " ".join(line for line in layers.splitlines() if "other" in line)[:200])
    return f"{len(tensors)} tensors: " + ("; ".join(problems) if problems else "equal")


def main():
    names = wanted or architectures()
    loader, failed = Loader(), 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            line = check(name, loader, work + "/m.gguf")
            failed += not line.endswith(": equal")
            print(f"{name}: {line}", flush=True)
    sys.exit(1 if failed else 0)


main()
