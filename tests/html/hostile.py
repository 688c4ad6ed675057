#!/usr/bin/env python3
"""Writes a GGUF whose names and values are markup, scripts, bidi controls, broken UTF-8 and a text of 10 MB.
usage: hostile.py OUT.gguf"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tiny_gguf  # noqa: E402

MARKUP = ["<script>window.hacked = 1</script>", "</script><script>window.hacked = 2</script>", "</style><style>*{display:none}</style>",
          "<!--", "--><img src=x onerror='window.hacked = 3'>", "<!--<script>", "]]>", "&lt;b&gt;", "'\"><svg onload=window.hacked=4>",
          "<iframe src=https://example.org></iframe>", "{{ '<script>window.hacked = 5</script>' }}"]
BIDI = ["a\u202egnp.exe", "\u2066isolated\u2069", "zero\u200bwidth", "\ufefforder", "tag\U000e0041", "nul\0bell\7escape\33[31m", "\u2028line\u2029"]
BROKEN = "broken \udcff\udcfe text"  # written as the bytes ff fe


def raw(value):
    """Like tiny_gguf's text(), but also for text that is not UTF-8."""
    encoded = value.encode("utf-8", "surrogateescape")
    return len(encoded).to_bytes(8, "little") + encoded


tiny_gguf.text = raw
keys = {"general.architecture": "llama", "general.name": MARKUP[1] + BIDI[0], "tokenizer.ggml.model": "gpt2",
        "tokenizer.chat_template": "{{ messages[0].content }}" + MARKUP[0] + BIDI[0],
        "tokenizer.ggml.tokens": MARKUP + BIDI + [BROKEN] + ["token %d" % n for n in range(300)],
        "long": "x" * 10_000_000, "broken": BROKEN, "large": 4294967295, "__proto__": "a name of JavaScript", "constructor": "another"}
for n, value in enumerate(MARKUP + BIDI):
    keys["value.%d" % n] = value
    keys[value] = "a key of that name"
tensors = [("blk.%d.%s" % (n, name), [32, 4]) for n, name in enumerate(MARKUP[:6] + BIDI)]
tensors += [(name, [64]) for name in MARKUP + BIDI]
tiny_gguf.gguf(sys.argv[1], keys, tensors)
