"""Builds projector files from the keys and tensors that a case of the reference data expects
(../shared/corpus/mmproj/*/expected.json), with values of its own. Used by command-line tests, and by hand:

projector_files.py EXPECTED_JSON OUT.gguf [F32|F16|BF16|Q8_0]"""
import array, json, random, struct, sys

TYPES = {"F32": 0, "F16": 1, "Q8_0": 8, "BF16": 30}
FILE_TYPES = {"F32": 0, "F16": 1, "BF16": 32, "Q8_0": 7}
CODES = {"u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"), "bool": (7, "<?")}


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def key(name, kind, value):
    if kind == "str":
        return text(name) + struct.pack("<I", 8) + text(value)
    if kind.startswith("arr["):
        code, form = CODES[kind[4:-1]]
        return text(name) + struct.pack("<IIQ", 9, code, len(value)) + b"".join(struct.pack(form, v) for v in value)
    code, form = CODES[kind]
    return text(name) + struct.pack("<I", code) + struct.pack(form, value)


def elements(ne):
    count = 1
    for n in ne:
        count *= n
    return count


def values(ne, kind, source):
    count = elements(ne)
    if source is None:
        return bytes({"F32": 4 * count, "F16": 2 * count, "BF16": 2 * count, "Q8_0": count // 32 * 34}[kind])
    if kind == "Q8_0":
        return b"".join(struct.pack("<e32b", source.uniform(1e-3, 4e-3), *(source.randint(-127, 127) for _ in range(32)))
                        for _ in range(count // 32))
    numbers = array.array("f", (source.uniform(-0.3, 0.3) for _ in range(count)))
    if kind == "F32":
        return numbers.tobytes()
    if kind == "F16":
        return struct.pack("<%de" % count, *numbers)
    whole = numbers.tobytes()
    return b"".join(whole[i + 2:i + 4] for i in range(0, len(whole), 4))


def load(path, outtype="F32"):
    """Returns keys {name: [type, value]} and tensors {name: [ne, type]} as the converter writes them."""
    expected = json.load(open(path))
    keys = dict(expected["keys"])
    if expected.get("file_type"):
        keys["general.file_type"] = ["u32", expected["file_type"][outtype]]
    tensors = {n: [t["ne"], (t.get("all") or t.get(outtype) or ["F32"])[0]] for n, t in expected["tensors"].items()}
    return keys, tensors


def write(path, keys, tensors, seed=None):
    """Writes random values, or zeros without a seed."""
    source, infos, data = seed and random.Random(seed), b"", b""
    for name, (ne, kind) in tensors.items():
        infos += text(name) + struct.pack("<I%dQIQ" % len(ne), len(ne), *ne, TYPES[kind], len(data))
        data += values(ne, kind, source)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key(n, *v) for n, v in keys.items()) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


if __name__ == "__main__":
    write(sys.argv[2], *load(sys.argv[1], *sys.argv[3:4]), seed=1)
