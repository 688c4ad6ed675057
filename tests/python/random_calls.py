#!/usr/bin/env python3
"""Calls all functions of the package in random order, with valid and invalid arguments, from several threads, on models
that other threads close meanwhile. Only documented kinds of exceptions may result; a crash ends the process.
usage: random_calls.py [--calls N] [--seed N] [--threads N] TEST_DATA_DIR"""

import argparse
import collections
import ctypes
import os
import random
import sys
import threading

import modelutils as mu
from modelutils import _library

try:
    import numpy
except ImportError:
    numpy = None

parser = argparse.ArgumentParser()
parser.add_argument("--calls", type=int, default=100000)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=4)
parser.add_argument("data")
arguments = parser.parse_args()

# Python's own exceptions for arguments of the wrong type are acceptable.
ALLOWED = (mu.Error, TypeError, ValueError, OverflowError, KeyError, IndexError, AttributeError, MemoryError)

PATHS = []
for folder, _, names in os.walk(arguments.data):
    PATHS += [folder] + [os.path.join(folder, name) for name in names]
PATHS = sorted(path for path in PATHS if "crashers" not in path) + ["", "/", "/dev/null", "\0", "x" * 5000, "-"]
MODELS = [os.path.join(arguments.data, name) for name in (
    "gguf/small.gguf", "demo-model", "gguf/big-endian.gguf", "mlx/h96_bf16_4b_g32")]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 7, 31, 32, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30]
TEXTS = ["", "a", "Hello world", "\0", "a\0b", "\ud800", "\udcff", "\u20ac" * 50, "24G", "0", "q8_0", "<s>", "token_embd.weight",
         "general.architecture", "blk.0.attn_q.weight", "model.embed_tokens.weight", "x" * 3000]  # fmt: skip
models = []  # shared by all threads; some are closed
lock = threading.Lock()
counts = collections.Counter()


class Caller:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kept = collections.deque(maxlen=8)  # arrays over mapped files
        self.calls = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("call_")]

    def number(self):
        return self.random.choice(NUMBERS) if self.random.random() < 0.5 else self.random.randrange(64)

    def text(self):
        return self.random.choice(TEXTS)

    def thing(self):
        return self.random.choice([None, self.number(), self.text(), b"x", [], [self.number()], {}, 1.5, float("nan"), True])

    def sane(self, value):
        """Usually returns the argument, sometimes one of the wrong kind."""
        return value if self.random.random() < 0.9 else self.thing()

    def model(self):
        with lock:
            return self.random.choice(models)

    def tensor(self):
        model = self.model()
        return model.tensors._at(self.random.randrange(max(1, len(model.tensors)) + 1))

    def rows(self):
        kind = self.random.randrange(3)
        first, last = self.number(), self.number()
        return None if kind == 0 else first if kind == 1 else slice(first, last, self.random.choice([None, None, 1, 2, 0, -1]))

    def call_open(self):
        path = self.random.choice(PATHS if self.random.random() < 0.5 else MODELS)
        model = mu.open(self.sane(path))
        with lock:
            models[self.random.randrange(len(models))] = model

    def call_close(self):
        if self.random.random() < 0.3:
            self.model().close()

    def call_keys(self):
        keys = self.model().keys
        for key in self.random.sample(list(keys), min(4, len(keys))):
            keys[key]
        if self.random.random() < 0.5:
            keys[self.sane(self.text())]

    def call_names(self):
        tensors = self.model().tensors
        self.text() in tensors
        list(tensors)
        if self.random.random() < 0.5:
            tensors[self.sane(self.text())]

    def call_read(self):
        self.tensor().read(self.sane(self.number()), self.sane(self.number()))

    def call_dequantize(self):
        self.tensor().dequantize(self.sane(self.rows()))

    def call_numpy(self):
        if numpy is not None:
            array = self.tensor().numpy(mmap=self.random.random() < 0.5)
            self.kept.append(array)
            array.tobytes()

    def call_kept(self):
        for array in self.kept:
            array.tobytes()

    def call_tokens(self):
        model = self.model()
        ids = mu.tokenize(self.sane(model), self.sane(self.text()), add_special=self.random.random() < 0.5,
                          parse_special=self.random.random() < 0.5)  # fmt: skip
        mu.detokenize(model, ids + ([self.number()] if self.random.random() < 0.5 else []))

    def call_render(self):
        messages = [{"role": "user", "content": self.sane(self.text())} for _ in range(self.random.randrange(3))]
        mu.render(self.sane(self.model()), self.sane(messages), tools=self.random.choice([None, [], self.thing()]),
                  template=self.sane(""), mood=self.thing())  # fmt: skip

    def call_html(self):
        if self.random.random() < 0.5:
            self.model()._repr_html_()
        else:
            memory = self.random.choice([False, True, {}, {"context": self.number()}, {self.text(): self.thing()}])
            self.model().html(vocabulary=self.random.random() < 0.5, statistics=self.random.random() < 0.2, memory=memory)

    def call_fit(self):
        names = ["context", "gpu", "ram", "memory", "margin", "kv", "sequences", "batch", "ubatch", "unified",
                 "flash_attention", "swa_full"]  # fmt: skip
        options = {name: self.random.choice([self.number, self.text, self.thing])()
                   for name in self.random.sample(names, self.random.randrange(4))}  # fmt: skip
        mu.fit(self.model(), **options).alternatives

    def call_verify(self):
        if self.random.random() < 0.1:
            path = self.sane(self.random.choice(PATHS))
            if isinstance(path, str) and os.path.isfile(path):
                mu.verify(path, data=self.random.random() < 0.5, ignore_index=self.random.random() < 0.5)

    def call_diff(self):
        if self.random.random() < 0.1:
            mu.diff(self.sane(self.random.choice(PATHS)), self.random.choice(PATHS), data=self.random.random() < 0.5)

    def call_library(self):
        """Calls a C function directly with numbers of any size and NULL pointers, on a live model or NULL."""
        name, _, kinds = self.random.choice(_library.PROTOTYPES)
        if name in ("mu_close", "mu_text_free", "mu_text_data", "mu_last_error_offset"):
            return
        handle = self.model()._live() if self.random.random() < 0.7 else None
        values = []
        room = ctypes.create_string_buffer(4096)
        ctypes.memmove(room, self.random.randrange(256).to_bytes(4, "little"), 4)
        for place, kind in enumerate(kinds):
            if kind is ctypes.c_void_p:
                use_room = self.random.random() < 0.7 and name not in ("mu_fit", "mu_card", "mu_open", "mu_verify",
                                                                       "mu_diff", "mu_detokenize", "mu_render", "mu_page")  # fmt: skip
                values.append(handle.pointer if place == 0 and handle else room if place and use_room else None)
            elif kind is ctypes.c_char_p:
                values.append(self.random.choice([None, b"", b"general.architecture"]))
            else:
                values.append(self.random.choice(NUMBERS[:14]))
        # Arguments that give the size of a buffer must not exceed it.
        for place, kind in enumerate(kinds):
            if name in ("mu_array_f64", "mu_array_u64", "mu_array_i64") and place == 3:
                values[place] = self.random.randrange(512)
            if (name, place) in (("mu_tensor_read", 4), ("mu_tensor_dequantize", 5), ("mu_tokenize", 5)):
                values[place] = self.random.randrange(512)
            if name in ("mu_tokenize", "mu_render") and place == 2:
                values[place] = 0 if values[1] is None else self.random.randrange(len(values[1]) + 1)
        getattr(_library.lib, name)(*values)
        _library.lib.mu_last_error_message()

    def run(self, count):
        for _ in range(count):
            call = self.random.choice(self.calls)
            try:
                call()
                result = "done"
            except ALLOWED as error:
                result = type(error).__name__
                str(error)
            except BaseException as error:
                print(f"{call.__name__}: {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
            with lock:
                counts[f"{call.__name__[5:]}: {result}"] += 1


models += [mu.open(path) for path in MODELS * 2]
each = -(-arguments.calls // arguments.threads)
threads = [threading.Thread(target=Caller(f"{arguments.seed} {i}").run, args=(each,)) for i in range(arguments.threads)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
done = sum(count for name, count in counts.items() if name.endswith(": done"))
for name in sorted(counts):
    print(f"{counts[name]:8} {name}")
print(f"{sum(counts.values())} calls, {done} without an exception")
# Every kind of call must have succeeded once; otherwise the test proves nothing.
worked = {name.split(":")[0] for name in counts if name.endswith(": done")}
missing = sorted({call.__name__[5:] for call in Caller(0).calls} - worked)
assert not missing or arguments.calls < 2000, f"never without an exception: {missing}"
