"""Leaves out each key and each kind of tensor of GGUF files in turn and compares what verify says with what a real llama.cpp does.
usage: check-required.py BIN_DIR LOADER MODEL.gguf...   (LOADER: the command that scripts/check-required builds)
A line for each difference: verify calls something required that llama.cpp loads without, or is silent where llama.cpp refuses.
"""
import json, re, struct, subprocess, sys, tempfile
from pathlib import Path

WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class File:
    """The keys and tensors of a GGUF file as the bytes they take."""

    def __init__(self, path):
        data = self.data = path.read_bytes()
        tensors, keys = struct.unpack_from("<QQ", data, 8)
        self.at, self.keys, infos, alignment = 24, [], [], 32
        for _ in range(keys):
            start, name = self.at, self.string()
            kind = self.number("<I")
            if name == "general.alignment":
                alignment = struct.unpack_from("<I", data, self.at)[0]
            self.skip(kind)
            self.keys.append((name, data[start : self.at]))
        for _ in range(tensors):
            start, name = self.at, self.string()
            dimensions = self.number("<I")
            self.at += 8 * dimensions + 4
            infos.append((name, data[start : self.at], self.number("<Q")))
        self.alignment, base = alignment, -(-self.at // alignment) * alignment
        ends = sorted(offset for _, _, offset in infos)[1:] + [len(data) - base]
        ends = dict(zip(sorted(offset for _, _, offset in infos), ends))
        self.tensors = [(name, info, data[base + o : base + ends[o]]) for name, info, o in infos]

    def number(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def string(self):
        length = self.number("<Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def skip(self, kind):
        if kind == 8:
            self.string()
        elif kind == 9:
            kind, count = self.number("<I"), self.number("<Q")
            if kind in WIDTHS:
                self.at += WIDTHS[kind] * count
            else:
                for _ in range(count):
                    self.skip(kind)
        else:
            self.at += WIDTHS[kind]

    def write(self, path, without):
        keys = [bytes_ for name, bytes_ in self.keys if name != without]
        tensors = [row for row in self.tensors if row[0] != without]
        head, offset, data = self.data[:8] + struct.pack("<QQ", len(tensors), len(keys)) + b"".join(keys), 0, b""
        for _, info, values in tensors:
            head += info + struct.pack("<Q", offset)
            values += b"\0" * (-len(values) % self.alignment)
            data, offset = data + values, offset + len(values)
        path.write_bytes(head + b"\0" * (-len(head) % self.alignment) + data)


def candidates(file):
    """Every key that a loader could need, and of each kind of tensor the first."""
    kinds = {re.sub(r"\d+", "#", name, count=1): name for name, _, _ in reversed(file.tensors)}
    keys = [name for name, _ in file.keys if not name.startswith(("general.", "tokenizer."))]
    return keys + list(kinds.values())


def answers(loader, paths):
    """What loads, for many files by one process; it starts anew behind a file that crashes it."""
    result, rest = {}, [str(path) for path in paths]
    while rest:
        run = subprocess.run([*loader, *rest], capture_output=True, text=True, timeout=600)
        lines = [line.split(" ", 1) for line in run.stdout.splitlines() if line.startswith(("loads ", "refused "))]
        result.update({path: answer == "loads" for answer, path in lines})
        rest = rest[len(lines) :]
        if rest and run.returncode != 0:
            result[rest.pop(0)] = False
        elif rest:
            sys.exit(f"the loader ended early: {run.stderr.strip()}")
    return result


def main():
    binaries, loader, models = Path(sys.argv[1]), sys.argv[2].split(), [Path(path) for path in sys.argv[3:]]
    tried = differences = 0
    for model in models:
        file = File(model)
        names = candidates(file)
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{i}.gguf" for i in range(len(names) + 1)]
            for path, name in zip(paths, [*names, None]):
                file.write(path, name)
            loaded = answers(loader, paths)
            if not loaded[str(paths[-1])]:
                print(f"{model.name}: llama.cpp does not load it whole")
                differences += 1
                continue
            for path, name in zip(paths, names):
                run = subprocess.run([binaries / "verify", "--json", path], capture_output=True, text=True)
                findings = [f for f in json.loads(run.stdout)["findings"] if f["severity"] == "error"]
                claims = [f for f in findings if re.search("llama.cpp (requires|refuses)|so it refuses", f["message"])]
                tried += 1
                if (loaded[str(path)] and not claims) or (not loaded[str(path)] and findings):
                    continue
                differences += 1
                verdict = f"loads; verify says: {claims[0]['message']}" if claims else "refuses; verify says nothing"
                print(f"{model.name}: without {name} llama.cpp {verdict}")
    print(f"{tried} left out of {len(models)} models, {differences} differences")
    sys.exit(differences > 0 or tried == 0)


main()
