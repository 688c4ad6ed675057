"""State dicts with random views, transposes, shared storages, half types, scalars and empty tensors, saved by torch in
both of its formats. st-dump must read, and pt2st must write, the values that torch loads.
usage: torch_compare.py BIN_DIR [SEED [COUNT]]"""
import os
import random
import sys
import tempfile
import zipfile
from collections import OrderedDict

import torch

from torch_values import NAMES, accepted_by_tools, difference, flat_names, read_by_torch

DTYPES = list(NAMES)


def some(random, shape):
    dtype = random.choice(DTYPES)
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype == torch.complex64:
        return torch.complex(torch.randn(shape), torch.randn(shape))
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -100, 100, shape).to(dtype)


def tensor(random, known):
    kind = random.choice(["plain", "plain", "slice", "transpose", "permute", "expand", "shared", "view", "scalar", "empty", "parameter", "step"])
    size = lambda: random.randrange(1, 9)
    if kind == "scalar": return some(random, ())
    if kind == "empty": return some(random, random.choice([(0,), (3, 0), (0, 4, 2)]))
    if kind == "shared" and known: return random.choice(known)
    if kind == "view" and known:
        whole = random.choice(known)
        return whole[random.randrange(len(whole)):] if whole.dim() and len(whole) else whole
    if kind == "slice": return some(random, (size() + 4, size() + 4))[2:, 1:-1]
    if kind == "transpose": return some(random, (size(), size())).t()
    if kind == "permute": return some(random, (size(), size(), size())).permute(2, 0, 1)
    if kind == "expand": return some(random, (size(), 1)).expand(-1, size())
    if kind == "step": return some(random, (12, size()))[::3]
    made = some(random, tuple(size() for _ in range(random.randrange(1, 4))))
    return torch.nn.Parameter(made, requires_grad=made.is_floating_point()) if kind == "parameter" else made


def state_dict(random):
    known, state = [], OrderedDict()
    for number in range(random.randrange(1, 12)):
        made = tensor(random, known)
        known.append(made.detach())
        if isinstance(made, torch.nn.Parameter) and random.random() < 0.3: made.tag = "attribute"
        state[random.choice([f"layers.{number}.weight", f"b{number}", f"модель.{number}", number])] = made
    kind = random.choice(["ordered", "plain", "wrapped", "twice", "nested", "others"])
    if kind == "plain": return dict(state)
    if kind == "wrapped": return {random.choice(["state_dict", "model", "module"]): state, "epoch": 3}
    if kind == "twice": return {"best": state, "state_dict": state}
    if kind == "nested": return {"encoder": state, "list": known, "tuple": tuple(known[:2]), "deep": {"er": {0: known[0]}}}
    if kind == "others": return {**state, ("a", 1): known[0], b"bytes": known[0], None: 1, "set": {1, 2}, 1.5: 2, "nothing": None}
    return state


def written_again(random, path):
    """Rewrites the archive like other writers: deflated, in another order, with newer records and a comment."""
    with zipfile.ZipFile(path) as archive:
        records = [(record.filename, archive.read(record)) for record in archive.infolist()]
    root = records[0][0].split("/")[0]
    newer = [("byteorder", b"little"), (".format_version", b"1"), (".storage_alignment", b"64"), (".data/serialization_id", b"0" * 40)]
    records += [(f"{root}/{name}", content) for name, content in newer if random.random() < 0.5]
    if random.random() < 0.5: random.shuffle(records)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            archive.writestr(name, content, random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        if random.random() < 0.3: archive.comment = b"written again"


def check(tools, seed, folder):
    generator = random.Random(seed)
    torch.manual_seed(seed)
    path = os.path.join(folder, f"{seed}.pt")
    is_zip = generator.random() < 0.7
    torch.save(state_dict(generator), path, _use_new_zipfile_serialization=is_zip, pickle_protocol=generator.choice([2, 2, 3, 4, 5]))
    if is_zip and generator.random() < 0.4: written_again(generator, path)
    wanted = read_by_torch(flat_names(torch.load(path)))
    ours = accepted_by_tools(tools, path)
    assert ours is not None, "is refused"
    assert not difference(ours, wanted), f"other tensors: {difference(ours, wanted)}"


if __name__ == "__main__":
    tools = sys.argv[1]
    first, count = int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 200
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                check(tools, seed, folder)
            except AssertionError as problem:
                print(f"seed {seed}: {problem}")
                failed += 1
    print(f"{count - failed} of {count} state dicts are read as torch reads them; the first seed was {first}")
    sys.exit(failed > 0)
