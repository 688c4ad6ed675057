"""A slow model of gguf-edit: its operations on keys and tensors in memory, written from docs/formats/gguf.md,
llama.cpp's splitter (tools/gguf-split at 3e00f05f2f85) and the help text, independent of the code under test."""
import copy, json, os, re, struct, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from gguf_edit import Gguf

SCALARS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"),
           "bool": (7, "?"), "string": (8, ""), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
NAMES = {number: name for name, (number, _) in SCALARS.items()}
ARRAY = 9
RESERVE = "modelutils.reserve"
RESERVE_RECORD = 8 + len(RESERVE) + 4 + 8  # a length, the name, the type and the length of the value
ROLES = {"bos": "bos", "eos": "eos", "eot": "eot", "unk": "unknown", "pad": "padding", "sep": "seperator", "fim_pre": "fim_pre"}


class Refused(Exception):
    """status: the expected exit status; nothing may have been written."""
    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(value)) + value


def scalar(name, value):
    if name == "string":
        return text(value)
    if name == "bool":
        if value not in ("true", "false"):
            raise Refused(2, "not a bool")
        return bytes([value == "true"])
    number = r"\+?\d+" if name[0] == "u" else r"\+?-?\d+" if name[0] == "i" else r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|-?nan"
    if not re.fullmatch(number, value, re.ASCII):
        raise Refused(2, "not a number")
    number = float(value) if name[0] == "f" else int(value)
    try:
        if number in (float("inf"), float("-inf")) and "inf" not in value:
            raise OverflowError
        return struct.pack("<" + SCALARS[name][1], number)
    except (struct.error, OverflowError):
        raise Refused(2, "out of range")


def array(name, elements):
    return struct.pack("<IQ", SCALARS[name][0], len(elements)) + b"".join(scalar(name, element) for element in elements)


def json_array(name, value):
    try:
        elements = json.loads(value, parse_int=lambda number: ("number", number), parse_float=lambda number: ("number", number),
                              parse_constant=lambda word: None)
    except ValueError:
        raise Refused(2, "not JSON")
    if not isinstance(elements, list):
        raise Refused(2, "not an array")
    texts = []
    for element in elements:
        if isinstance(element, bool):
            element = ("number", "true" if element else "false")
        is_text = isinstance(element, str)
        if not is_text and not isinstance(element, tuple) or is_text != (name == "string") and not (is_text and name[0] == "f"):
            raise Refused(2, "an element of another type")
        texts.append(element if is_text else element[1])
    return array(name, texts)


def matches(glob, name):
    """Supports only the globs * and ?."""
    return re.fullmatch("".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in glob), name, re.DOTALL) is not None


def is_layout(key):
    return key in ("general.alignment", RESERVE) or key.startswith("split.")


class Model:
    """The keys and tensors of all files. `home` has the index of each tensor's original file."""
    def __init__(self, files, keep_split):
        self.version = files[0].version
        parts = next((struct.unpack("<H", key[2])[0] for key in files[0].keys if key[0] == "split.count" and key[1] == 2), 0)
        own = ("split.no", "split.count", "split.tensors.count") if parts > 0 and not keep_split else ()
        self.keys = [list(key) for key in files[0].keys if key[0] not in own]
        self.tensors = [list(tensor) for file in files for tensor in file.tensors]
        self.home = [number for number, file in enumerate(files) for _ in file.tensors]

    def key(self, name):
        return next((key for key in self.keys if key[0] == name), None)

    def alignment(self):
        key = self.key("general.alignment")
        return struct.unpack("<I", key[2])[0] if key else 32

    def put(self, name, kind, value):
        there = self.key(name)
        if there:
            there[1:] = [kind, value]
        else:
            self.keys.append([name, kind, value])

    def apply(self, action, *operands):
        getattr(self, action.replace("-", "_"))(*operands)

    def set(self, operand, encode=None):
        name, equals, value = operand.partition("=")
        if not equals or not name:
            raise Refused(2, "no KEY=VALUE")
        there = self.key(name)
        if there:
            kind = NAMES.get(there[1]) or NAMES.get(struct.unpack_from("<I", there[2])[0])
            if kind is None:
                raise Refused(3, "an array of arrays")
            is_array = there[1] == ARRAY
        else:
            name, colon, kind = name.rpartition(":")
            if not colon or not name:
                raise Refused(3, "no such key")
            is_array = kind.endswith("[]")
            kind = kind[:-2] if is_array else kind
            if kind not in SCALARS:
                raise Refused(2, "no such type")
        if is_layout(name):
            raise Refused(3, "a key of the layout")
        encode = encode or (lambda kind, is_array, value: json_array(kind, value) if is_array else scalar(kind, value))
        self.put(name, ARRAY if is_array else SCALARS[kind][0], encode(kind, is_array, value))

    def set_from(self, operand):
        def from_file(kind, is_array, path):
            with open(path, encoding="utf-8", newline="") as file:
                content = file.read()
            cut = content[:-1] if content.endswith("\n") else content
            if is_array:
                return array(kind, cut.split("\n") if content else [])
            return scalar(kind, cut)
        self.set(operand, from_file)

    def set_token(self, operand):
        role, equals, token = operand.partition("=")
        if not equals or role not in ROLES:
            raise Refused(2, "no such role")
        tokens = self.key("tokenizer.ggml.tokens")
        found = strings(tokens[2]).index(token) if tokens and token in strings(tokens[2]) else None
        if found is None:
            raise Refused(3, "no such token")
        self.put("tokenizer.ggml.%s_token_id" % ROLES[role], 4, struct.pack("<I", found))
        types = self.key("tokenizer.ggml.token_type")
        if types:
            at = 12 + 4 * found
            types[2] = types[2][:at] + struct.pack("<I", 2 if role == "unk" else 3) + types[2][at + 4:]

    def delete(self, glob):
        found = [key for key in self.keys if key[0] != RESERVE and matches(glob, key[0])]
        if any(is_layout(key[0]) for key in found):
            raise Refused(3, "a key of the layout")
        if not found:
            raise Refused(1, "matches nothing")
        self.keys = [key for key in self.keys if key not in found]

    def rename(self, operand):
        old, equals, new = operand.partition("=")
        if not equals or not old:
            raise Refused(2, "no OLD=NEW")
        if not self.key(old) or is_layout(old) or is_layout(new) or old != new and self.key(new):
            raise Refused(3, "no such key, or one too many")
        self.key(old)[0] = new

    def copy_keys_from(self, path, glob):
        found = [key for key in Gguf(path).keys if not is_layout(key[0]) and matches(glob, key[0])]
        if not found:
            raise Refused(1, "matches nothing")
        for name, kind, value in found:
            self.put(name, kind, value)

    def rename_tensor(self, operand):
        old, equals, new = operand.partition("=")
        if not equals or not old:
            raise Refused(2, "no OLD=NEW")
        names = [tensor[0] for tensor in self.tensors]
        if old not in names or old != new and new in names:
            raise Refused(3, "no such tensor, or one too many")
        self.tensors[names.index(old)][0] = new

    def drop_tensor(self, glob):
        kept = [i for i, tensor in enumerate(self.tensors) if not matches(glob, tensor[0])]
        if len(kept) == len(self.tensors):
            raise Refused(1, "matches nothing")
        self.tensors = [self.tensors[i] for i in kept]
        self.home = [self.home[i] for i in kept]

    def align(self, operand):
        if not re.fullmatch(r"\d+", operand) or bin(int(operand)).count("1") != 1 or int(operand) >= 1 << 32:
            raise Refused(2, "no power of two")
        if self.key("general.alignment") or int(operand) != 32:
            self.put("general.alignment", 4, struct.pack("<I", int(operand)))

    def upgrade(self):
        self.version = 3

    def check(self, old):
        """Properties that no output may have, or that the guards refuse."""
        if any(not 1 <= len(key[0].encode()) <= 65535 for key in self.keys):
            raise Refused(3, "the name of a key")
        if any(not 1 <= len(tensor[0].encode()) <= 63 for tensor in self.tensors):
            raise Refused(3, "the name of a tensor")
        if self.alignment() > 1 << 24:
            raise Refused(3, "the alignment")
        if self.key("general.architecture") != old.key("general.architecture"):
            raise Refused(3, "another architecture")
        name, old_name = self.key("general.name"), old.key("general.name")
        if name and name[1] != 8 and (not old_name or old_name[1] == 8):
            raise Refused(3, "a known key of a wrong type")

    def file(self, keys, tensors):
        made = Gguf(data=b"GGUF" + struct.pack("<IQQ", self.version, 0, 0))
        made.keys, made.tensors, made.alignment = copy.deepcopy(keys), tensors, self.alignment()
        return made

    def one_file(self, reserve):
        if reserve is not None:
            if reserve:
                self.put(RESERVE, 8, text(" " * reserve))
            else:
                self.keys = [key for key in self.keys if key[0] != RESERVE]
        return self.file(self.keys, self.tensors)

    def parts(self, max_size, max_tensors, no_tensor_first):
        """Distributes tensors like llama.cpp's splitter, except that a part without tensors, which is an error there,
        is omitted."""
        parts = [[], []] if no_tensor_first else [[]]
        size = 0
        for number, tensor in enumerate(self.tensors):
            padded = (len(tensor[3]) + 31) // 32 * 32
            if number and number % max_tensors == 0 if max_tensors else size and size + padded > max_size:
                parts.append([])
                size = 0
            parts[-1].append(tensor)
            size += padded
        files = []
        for number, tensors in enumerate(parts):
            alignment = self.key("general.alignment")
            keys = [key for key in self.keys if not key[0].startswith("split.")] if number == 0 else [alignment] if self.alignment() != 32 else []
            split = [["split.no", 2, struct.pack("<H", number)], ["split.tensors.count", 5, struct.pack("<i", len(self.tensors))],
                     ["split.count", 2, struct.pack("<H", len(parts))]]
            files.append(self.file(keys + split, tensors))
        return files

    def in_place(self, files):
        """Returns the files with the changed header; refuses with 4 if it does not fit, with 3 if data would move or
        more than one file would change."""
        changed, result = 0, []
        for number, old in enumerate(files):
            tensors = [tensor for tensor, home in zip(self.tensors, self.home) if home == number]
            new = self.file(self.keys if number == 0 else old.keys, tensors)
            new.alignment = self.alignment() if number == 0 else old.alignment
            bare = self.file([key for key in new.keys if key[0] != RESERVE], [[*tensor[:3], b""] for tensor in tensors])
            bare.alignment = 1
            size = len(bare.encode())
            end = (size + new.alignment - 1) // new.alignment * new.alignment
            if end != old.data_offset and (old.data_offset % new.alignment or size + RESERVE_RECORD > old.data_offset):
                raise Refused(4, "does not fit")
            if offsets(new) != offsets(old):
                raise Refused(3, "data would move")
            changed += (new.version, new.keys, [tensor[:3] for tensor in tensors]) != (old.version, old.keys, [tensor[:3] for tensor in old.tensors])
            result.append(new)
        if changed > 1:
            raise Refused(3, "several files")
        return result


def strings(encoded):
    count, at, found = struct.unpack_from("<Q", encoded, 4)[0], 12, []
    for _ in range(count):
        size, = struct.unpack_from("<Q", encoded, at)
        found.append(encoded[at + 8:at + 8 + size].decode())
        at += 8 + size
    return found


def offsets(file):
    found, at = [], 0
    for tensor in file.tensors:
        found.append(at)
        at += (len(tensor[3]) + file.alignment - 1) // file.alignment * file.alignment
    return found + [at]
