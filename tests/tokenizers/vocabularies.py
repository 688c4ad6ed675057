# Writes vocabularies of kinds that no package has, made of the words of some texts: GGUF files without tensors, for
# llama.cpp.
#   python3 vocabularies.py OUT_DIR TEXT_FILE…
import os
import random
import re
import struct
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tiny_gguf  # noqa: E402

MARK = "\u2581"
BYTES = ["<0x%02X>" % byte for byte in range(256)]


def int_array(name, values):  # i32, which tiny_gguf has no type for
    return tiny_gguf.text(name) + struct.pack("<IIQ", 9, 5, len(values)) + struct.pack("<%di" % len(values), *values)


def write(path, keys, types):
    keys = {"general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 512,
            "llama.embedding_length": 32, "llama.feed_forward_length": 64, "llama.attention.head_count": 1,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, **keys}
    body = b"".join(tiny_gguf.key(name, value) for name, value in keys.items())
    body += int_array("tokenizer.ggml.token_type", types)
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys) + 1) + body
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))


def distinct(texts):
    return list(dict.fromkeys(texts))


def parts(words, longest):
    counts = Counter(word[i:i + n] for word in words for n in range(1, longest + 1) for i in range(len(word) - n + 1))
    return [part for part, _ in counts.most_common(3000)]


def rwkv(words):
    def escaped(part):
        return "".join({9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"}.get(b, chr(b) if 32 <= b < 127 else "\\x%02x" % b) for b in part)
    raw = [bytes([b]) for b in range(256)] + [p.encode() for p in parts(words, 7)] + ["é中".encode()[:4], b"\n\n", b"\r\n", b"  "]
    tokens = ["<s>"] + distinct(map(escaped, raw))
    return {"tokenizer.ggml.model": "rwkv", "tokenizer.ggml.tokens": tokens}, [1] * len(tokens)


def plamo2(words):
    random.seed(1)
    tokens = distinct(["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>"] + BYTES + parts(words, 6) + ["\n", " ", "  "])
    types = [2, 3, 3, 3] + [6] * 256 + [1] * (len(tokens) - 260)
    scores = [0.0] * 260 + [-random.randrange(1, 1600) / 100.0 for _ in tokens[260:]]
    return {"tokenizer.ggml.model": "plamo2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores}, types


def merges_of(words):
    merges = []
    for word in words:
        for left, right in ((word[:i], word[i]) for i in range(1, len(word))):
            merges.append((left, right))
        if len(word) > 3:
            merges.append((word[:2], word[2:4]))
    return [merge for merge, _ in Counter(merges).most_common(4000) if " " not in merge[0] + merge[1]]


def spaced_bpe(model, pre):
    def make(words):
        marked = [MARK + word for word in words] + words + [MARK * 2, MARK * 4, "\n\n"]
        merges = merges_of(marked)
        tokens = distinct(["<pad>", "<eos>", "<bos>", "<unk>"] + BYTES + [c for word in marked for c in word] +
                          [a + b for a, b in merges] + ["\n", "\n\n", "\n\n\n", "<|tool_response>", "</s>", "<turn|>"])
        types = [3, 3, 3, 2] + [6] * 256 + [1] * (len(tokens) - 260)
        types[tokens.index("\n\n\n")] = 4
        return {"tokenizer.ggml.model": model, "tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": tokens,
                "tokenizer.ggml.merges": ["%s %s" % merge for merge in merges], "tokenizer.ggml.bos_token_id": 2,
                "tokenizer.ggml.eos_token_id": 1}, types
    return make


def whitespace(words):
    merges = merges_of(words)
    tokens = distinct(["<s>", "</s>"] + BYTES + [c for word in words for c in word] + [a + b for a, b in merges])
    return {"tokenizer.ggml.model": "whitespace", "tokenizer.ggml.pre": "whitespace", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.merges": ["%s %s" % merge for merge in merges],
            "tokenizer.ggml.normalizer.lowercase": True}, [3, 3] + [6] * 256 + [1] * (len(tokens) - 258)


def cased_wordpiece(words):
    pieces = [MARK + word for word in words] + parts(words, 4)
    tokens = distinct(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + pieces + [MARK + c for c in "!?.,:;'\"-()中国"])
    return {"tokenizer.ggml.model": "bert", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.unknown_token_id": 1,
            "tokenizer.ggml.cls_token_id": 2, "tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.seperator_token_id": 3,
            "tokenizer.ggml.normalizer.lowercase": False}, [3] * 5 + [1] * (len(tokens) - 5)


def unigram(words):
    random.seed(2)
    pieces = [MARK + word for word in words] + parts(words, 5) + [MARK]
    tokens = distinct(["<pad>", "</s>", "<unk>"] + pieces + ["<extra>", "user word", "usertoken"])
    types = [3, 3, 2] + [1] * (len(tokens) - 6) + [3, 4, 4]
    scores = [0.0] * 3 + [-random.randrange(1, 1600) / 100.0 for _ in tokens[3:]]
    return {"tokenizer.ggml.model": "t5", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
            "tokenizer.ggml.add_space_prefix": True, "tokenizer.ggml.remove_extra_whitespaces": True}, types


KINDS = {"rwkv": rwkv, "plamo2": plamo2, "gemma4": spaced_bpe("gemma4", "gemma4"), "sarvam-moe": spaced_bpe("gpt2", "sarvam-moe"),
         "whitespace": whitespace, "cased-wordpiece": cased_wordpiece, "unigram-user": unigram}

folder, *files = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
found = Counter(word for name in files for word in re.findall(r"\w+|[^\w\s]", open(name, encoding="utf-8").read()))
for kind, make in KINDS.items():
    write(os.path.join(folder, kind + ".gguf"), *make([word for word, _ in found.most_common(1500)]))
