"""Generates random pickles of checkpoints, most of them valid: if st-dump accepts one, torch must load it with the same
tensors. The pickles name only harmless functions of torch and Python, so that loading them is safe.
Usage: torch_programs.py BIN_DIR [SEED [COUNT]]"""
import os
import random
import struct
import sys
import tempfile
import zipfile

import torch

from torch_values import accepted_by_tools, difference, flat_names, read_by_torch

STORAGES = {"FloatStorage": ("f", 4), "IntStorage": ("i", 4), "HalfStorage": ("e", 2), "LongStorage": ("q", 8)}


class Program:
    """Writes random opcodes; `storages` maps each key to its required number of bytes."""

    def __init__(self, random, legacy):
        self.random, self.legacy = random, legacy
        self.storages = {}
        self.slots = []

    def chance(self, probability):
        return self.random.random() < probability

    # Values: each method returns the bytes that push one.
    def text(self, value):
        raw = value.encode()
        forms = [b"X" + struct.pack("<I", len(raw)) + raw, b"\x8c" + bytes([len(raw)]) + raw, b"U" + bytes([len(raw)]) + raw,
                 b"V" + value.encode("raw_unicode_escape") + b"\n"]
        return self.random.choice(forms)

    def integer(self, value):
        forms = [b"J" + struct.pack("<i", value), b"I%d\n" % value, b"L%dL\n" % value, b"\x8a\x02" + struct.pack("<h", value)]
        if value >= 0:
            forms += [b"K" + bytes([value])] * 4
        if self.chance(0.01):
            forms = [b"I0%d\n" % abs(value), b"I+%d\n" % abs(value), b"L %dL\n" % value, b"I0x%x\n" % abs(value)]
        return self.random.choice(forms)

    def tuple(self, *items):
        if 1 <= len(items) <= 3 and self.chance(0.7):
            return b"".join(items) + bytes([0x84 + len(items)])
        return b"(" + b"".join(items) + b"t"

    def numbers(self, values):
        items = [self.integer(value) for value in values]
        return b"](" + b"".join(items) + b"e" if self.chance(0.05) else self.tuple(*items)

    def call(self, module, name, *arguments):
        named = b"c" + module.encode() + b"\n" + name.encode() + b"\n"
        if self.chance(0.2):
            named = self.text(module) + self.text(name) + b"\x93"
        return named + self.tuple(*arguments) + (b"\x81" if self.chance(0.02) else b"R")

    def ordered(self, *arguments):
        return self.call("collections", "OrderedDict", *arguments)

    def storage(self):
        if self.storages and self.chance(0.4):
            key = self.random.choice(sorted(self.storages))
            storage_class, elements = self.storages[key]
            if self.chance(0.1): storage_class = self.random.choice(list(STORAGES))
            if self.chance(0.1): elements = max(1, elements + self.random.choice([-2, 2]))
        else:
            key = str(len(self.storages))
            storage_class, elements = self.random.choice(list(STORAGES)), self.random.randrange(4, 13)
            self.storages[key] = (storage_class, elements)
        items = [self.text("storage"), b"ctorch\n" + storage_class.encode() + b"\n", self.text(key), self.text("cpu"), self.integer(elements)]
        part = elements
        if self.legacy:
            view = b"N"
            if self.chance(0.3):
                offset = self.random.randrange(0, elements)
                part = self.random.randrange(1, elements - offset + 1)
                view = self.tuple(self.text(self.random.choice(["v", "w", "x", key])), self.integer(offset), self.integer(part))
            items.append(view)
        return self.tuple(*items) + b"Q", part

    def geometry(self, elements):
        shape = self.random.choice([(elements,), (2, elements // 2), (elements // 2,), (1, 2), ()])
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        offset = self.random.randrange(0, max(1, elements - step + 1)) if not self.chance(0.05) else 1
        if self.chance(0.2): strides = [self.random.randrange(0, 2) for _ in shape]
        if len(shape) == 2 and self.chance(0.3): shape, strides = shape[::-1], strides[::-1]
        return offset, shape, strides

    def tensor(self):
        storage, elements = self.storage()
        offset, shape, strides = self.geometry(elements)
        made = self.call("torch._utils", "_rebuild_tensor_v2", storage, self.integer(offset), self.numbers(shape), self.numbers(strides), b"\x89", self.ordered())
        if self.chance(0.2):
            return self.parameter(made)
        return made

    def parameter(self, tensor):
        made = self.random.choice([
            lambda: self.call("torch.nn.parameter", "Parameter", tensor, b"\x89"),
            lambda: self.call("torch._utils", "_rebuild_parameter", tensor, b"\x89", self.ordered())])()
        if not self.chance(0.3):
            return made
        storage, elements = self.storage()
        offset, shape, strides = self.geometry(elements)
        state = self.random.choice([
            lambda: self.tuple(b"\x89", b"N", b"N"),
            lambda: self.tuple(storage, self.integer(offset), self.numbers(shape), self.numbers(strides)),
            lambda: self.tuple(tensor, b"N", b"\x89", b"\x89", b"N")])()
        return made + state + b"b"

    def key(self):
        names = [self.text(name) for name in ("a", "b", "c", "weight", "bias", "1", "a.b")]
        numbers = [self.integer(1), self.integer(7)]
        others = [b"\x88", b"\x89", b"N", b"G" + struct.pack(">d", 1), b"F1.0\n", self.tuple(self.text("a")),
                  self.call("_codecs", "encode", self.text("a"), self.text(self.random.choice(["latin1", "rot13"]))),
                  self.call("__builtin__", "complex", self.integer(1))]
        return self.random.choice(names * 8 + numbers * 3 + others)

    def value(self, depth):
        choice = self.random.random()
        if self.slots and choice < 0.12:
            return self.get(self.random.choice(self.slots))
        if depth == 0 or choice < 0.6:
            made = self.tensor() if self.chance(0.9) else self.random.choice([b"N", b"\x88", self.integer(3), self.text("text")])
        elif choice < 0.85:
            made = self.dict(depth - 1)
        else:
            items = [self.value(depth - 1) for _ in range(self.random.randrange(0, 4))]
            joined = b"".join(items)
            made = self.random.choice([
                lambda: b"](" + joined + b"e", lambda: b"(" + joined + b"l", lambda: self.tuple(*items),
                lambda: b"(" + self.tensor() + b"\x91", lambda: self.call("__builtin__", "set", b"]" + self.tensor() + b"a")])()
        return made + self.put() if self.chance(0.3) else made

    def put(self):
        slot = self.random.choice([len(self.slots), len(self.slots), len(self.slots), self.random.randrange(0, 9), 1000])
        self.slots.append(slot)
        return self.random.choice([b"r" + struct.pack("<I", slot), b"p%d\n" % slot])

    def get(self, slot):
        return self.random.choice([b"j" + struct.pack("<I", slot), b"g%d\n" % slot])

    def dict(self, depth):
        entries = [(self.key(), self.value(depth)) for _ in range(self.random.randrange(0, 6))]
        joined = b"".join(key + value for key, value in entries)
        items = b"](" + b"".join(self.tuple(*entry) for entry in entries) + b"e"
        return self.random.choice([
            lambda: b"}(" + joined + b"u", lambda: b"(" + joined + b"d", lambda: b"}" + b"".join(k + v + b"s" for k, v in entries),
            lambda: self.ordered() + b"(" + joined + b"u", lambda: self.ordered(items),
            lambda: self.ordered(self.tuple(*(self.tuple(*entry) for entry in entries))),
            lambda: self.ordered(b"}(" + joined + b"u"), lambda: self.ordered() + b"(" + joined + b"u}b"])()

    def run(self):
        return b"\x80" + bytes([self.random.choice([2, 3, 4])]) + (self.dict(3) if self.chance(0.9) else self.value(2)) + b"."


def bytes_of(random, storage_class, elements):
    code, _ = STORAGES[storage_class]
    values = [random.randrange(-50, 50) for _ in range(elements)]
    return struct.pack(f"<{elements}{code}", *values)


def write_zip(random, path, pickle, storages):
    root = random.choice(["archive", "m"])
    with zipfile.ZipFile(path, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as out:
        records = [("data.pkl", pickle), ("version", b"3\n")]
        records += [("data/" + key, bytes_of(random, *made)) for key, made in storages.items()]
        if random.random() < 0.2: records.append(("byteorder", b"little"))
        if random.random() < 0.3: random.shuffle(records)
        for name, content in records:
            if random.random() < 0.05: name = name.upper()
            out.writestr(root + "/" + name, content)
        if random.random() < 0.1: out.comment = b"made by hand"


def write_legacy(random, path, pickle, storages):
    def plain(*values):
        return b"\x80\x02" + b"".join(values) + b"."
    keys = sorted(storages)
    listed = b"](" + b"".join(b"X" + struct.pack("<I", len(key)) + key.encode() for key in keys) + b"e"
    with open(path, "wb") as out:
        out.write(plain(b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + plain(b"M\xe9\x03") + plain(b"}") + pickle + plain(listed))
        for key in keys:
            storage_class, elements = storages[key]
            out.write(struct.pack("<q", elements) + bytes_of(random, storage_class, elements))


def check(tools, seed, folder):
    """Returns True if the tools accept the program. Fails if torch then reads something else."""
    generator = random.Random(seed)
    program = Program(generator, generator.random() < 0.3)
    pickle = program.run()
    path = os.path.join(folder, f"{seed}.pt")
    (write_legacy if program.legacy else write_zip)(generator, path, pickle, program.storages)
    ours = accepted_by_tools(tools, path)
    if ours is None:
        return False
    try:
        loaded = torch.load(path)
    except Exception as problem:
        raise AssertionError(f"torch does not load it: {type(problem).__name__}: {problem}")
    wanted = read_by_torch(flat_names(loaded))
    assert not difference(ours, wanted), f"torch reads {sorted(wanted.items())}, the tools {sorted(ours.items())}"
    return True


if __name__ == "__main__":
    tools = sys.argv[1]
    first, count = int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 400
    failed = accepted = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                accepted += check(tools, seed, folder)
            except AssertionError as problem:
                print(f"program {seed}: {problem}")
                failed += 1
    print(f"{accepted} of {count} programs are accepted and read as torch reads them, {failed} differ; the first seed was {first}")
    sys.exit(failed > 0 or accepted < count // 5)
