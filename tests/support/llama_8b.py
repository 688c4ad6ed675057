#!/usr/bin/env python3
"""Writes a GGUF of realistic size: the shape, types and header of Llama 3.1 8B in Q4_K_M, with invented tokens and a
hole in place of 4.9 GB of tensor data. usage: llama_8b.py OUT.gguf

Sizes are from the published config.json. llama.cpp's rule (use_more_bits) determines which tensors of Q4_K_M are Q6_K:
of 32 layers the first and last four, and every third in between."""
import struct
import sys

LAYERS, WIDTH, FEED_FORWARD, HEADS, HEADS_KV, VOCABULARY, MERGES = 32, 4096, 14336, 32, 8, 128256, 280147
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TYPES = {"F32": (0, 1, 4), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210)}  # id, elements per block, bytes per block
TEMPLATE = """{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}<|start_header_id|>\
{{ message['role'] }}<|end_header_id|>

{{ message['content'] | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key(name, kind, payload):
    return text(name) + struct.pack("<I", kind) + payload


def array(name, kind, items):
    return key(name, ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items))


def tokens():
    special = {128000: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128006: "<|start_header_id|>",
               128007: "<|end_header_id|>", 128008: "<|eom_id|>", 128009: "<|eot_id|>"}
    letters = [chr(c) for c in range(33, 127)] + [chr(c) for c in range(161, 173)] + [chr(c) for c in range(174, 324)]
    names = letters + ["Ġ" + "".join(chr(97 + (i * step) % 26) for step in (1, 7, 31, 171)) + str(i) for i in range(128000)]
    return [special.get(i, names[i] if i < 128000 else f"<|reserved_special_token_{i - 128002}|>") for i in range(VOCABULARY)]


def keys():
    number = lambda name, value: key(name, U32, struct.pack("<I", value))
    real = lambda name, value: key(name, F32, struct.pack("<f", value))
    words = tokens()
    return [
        key("general.architecture", STRING, text("llama")),
        key("general.name", STRING, text("Llama 3.1 8B Instruct")),
        number("general.file_type", 15),
        number("general.quantization_version", 2),
        number("llama.block_count", LAYERS),
        number("llama.context_length", 131072),
        number("llama.embedding_length", WIDTH),
        number("llama.feed_forward_length", FEED_FORWARD),
        number("llama.attention.head_count", HEADS),
        number("llama.attention.head_count_kv", HEADS_KV),
        real("llama.rope.freq_base", 500000.0),
        real("llama.attention.layer_norm_rms_epsilon", 1e-5),
        number("llama.vocab_size", VOCABULARY),
        number("llama.rope.dimension_count", WIDTH // HEADS),
        key("tokenizer.ggml.model", STRING, text("gpt2")),
        key("tokenizer.ggml.pre", STRING, text("llama-bpe")),
        array("tokenizer.ggml.tokens", STRING, [text(word) for word in words]),
        array("tokenizer.ggml.token_type", I32, [struct.pack("<i", 3 if i >= 128000 else 1) for i in range(VOCABULARY)]),
        array("tokenizer.ggml.merges", STRING, [text(f"{words[i % 250]} {words[i % 127000]}") for i in range(MERGES)]),
        number("tokenizer.ggml.bos_token_id", 128000),
        number("tokenizer.ggml.eos_token_id", 128009),
        key("tokenizer.chat_template", STRING, text(TEMPLATE)),
    ]


def tensors():
    yield "rope_freqs.weight", [WIDTH // HEADS // 2], "F32"
    yield "token_embd.weight", [WIDTH, VOCABULARY], "Q4_K"
    for layer in range(LAYERS):
        more = "Q6_K" if layer < 4 or layer >= 28 or (layer - 4) % 3 == 2 else "Q4_K"
        for role, shape, kind in [
                ("attn_norm", [WIDTH], "F32"), ("attn_q", [WIDTH, WIDTH], "Q4_K"), ("attn_k", [WIDTH, 1024], "Q4_K"),
                ("attn_v", [WIDTH, 1024], more), ("attn_output", [WIDTH, WIDTH], "Q4_K"), ("ffn_norm", [WIDTH], "F32"),
                ("ffn_gate", [WIDTH, FEED_FORWARD], "Q4_K"), ("ffn_up", [WIDTH, FEED_FORWARD], "Q4_K"),
                ("ffn_down", [FEED_FORWARD, WIDTH], more)]:
            yield f"blk.{layer}.{role}.weight", shape, kind
    yield "output_norm.weight", [WIDTH], "F32"
    yield "output.weight", [WIDTH, VOCABULARY], "Q6_K"


def main():
    pairs, records, offset = keys(), [], 0
    for name, shape, kind in tensors():
        number, elements, size = TYPES[kind]
        records.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset))
        count = 1
        for dim in shape:
            count *= dim
        offset += -(-count // elements * size // 32) * 32
    header = b"GGUF" + struct.pack("<IQQ", 3, len(records), len(pairs)) + b"".join(pairs) + b"".join(records)
    with open(sys.argv[1], "wb") as out:
        out.write(header)
        out.truncate(-(-len(header) // 32) * 32 + offset)


if __name__ == "__main__":
    main()
