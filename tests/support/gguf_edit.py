#!/usr/bin/env python3
"""Writes a modified GGUF, for planting faults field by field. An independent reader and writer, which does not use the library.
usage: gguf_edit.py IN.gguf OUT.gguf OPERATION…
  drop-tensor NAME | rename-tensor NAME NEW | retype NAME TYPE-ID | reshape NAME NE0,NE1,… | add-tensor NAME NE0,… (F32 zeros)
  join NAME,NAME,… NEW (concatenates their rows, at the first's place)
  poke NAME OFFSET HEXBYTES (in the tensor's data) | poke-key KEY OFFSET HEXBYTES | drop-key KEY | rename-key KEY NEW | set-key KEY TYPE VALUE (u32, f32, string, bool)
NAME and KEY must exist. As a module: Gguf(path), Gguf(data=bytes), .encode(), .write(path)."""
import struct, sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110),
          12: (256, 144), 13: (256, 176), 14: (256, 210), 24: (1, 1), 25: (1, 2), 26: (1, 4), 30: (1, 2), 39: (32, 17), 40: (64, 36)}


def size_of(kind, ne):
    elements, size = BLOCKS[kind]
    total = size
    for n in ne:
        total *= n
    return total // elements


class Gguf:
    def __init__(self, path=None, data=None):
        if data is None:
            with open(path, "rb") as file:
                data = file.read()
        self.version, tensors, keys = struct.unpack_from("<IQQ", data, 4)
        at = 24

        def string(at):
            size, = struct.unpack_from("<Q", data, at)
            return data[at + 8:at + 8 + size].decode(), at + 8 + size

        def end_of(kind, at):
            if kind == 8:
                return string(at)[1]
            if kind == 9:
                inner, count = struct.unpack_from("<IQ", data, at)
                at += 12
                if inner in SIZES:
                    return at + count * SIZES[inner]
                for _ in range(count):
                    at = end_of(inner, at)
                return at
            return at + SIZES[kind]

        self.keys = []  # [name, type, bytes]
        alignment = 32
        for _ in range(keys):
            name, at = string(at)
            kind, = struct.unpack_from("<I", data, at)
            end = end_of(kind, at + 4)
            self.keys.append([name, kind, data[at + 4:end]])
            if name == "general.alignment":
                alignment, = struct.unpack_from("<I", data, at + 4)
            at = end
        self.alignment = alignment
        infos = []
        for _ in range(tensors):
            name, at = string(at)
            count, = struct.unpack_from("<I", data, at)
            ne = list(struct.unpack_from("<%dQ" % count, data, at + 4))
            kind, offset = struct.unpack_from("<IQ", data, at + 4 + 8 * count)
            at += 16 + 8 * count
            infos.append((name, ne, kind, offset))
        base = self.data_offset = (at + alignment - 1) // alignment * alignment
        self.tensors = [[name, ne, kind, data[base + offset:base + offset + size_of(kind, ne)]]
                        for name, ne, kind, offset in infos]

    def tensor(self, name):
        return next(tensor for tensor in self.tensors if tensor[0] == name)

    def key(self, name):
        return next(key for key in self.keys if key[0] == name)

    def encode(self):
        def string(text):
            return struct.pack("<Q", len(text.encode())) + text.encode()

        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.keys))
        head += b"".join(string(name) + struct.pack("<I", kind) + value for name, kind, value in self.keys)
        parts, offset = [], 0
        for name, ne, kind, data in self.tensors:
            head += string(name) + struct.pack("<I%dQIQ" % len(ne), len(ne), *ne, kind, offset)
            padded = data + b"\0" * (-len(data) % self.alignment)
            parts.append(padded)
            offset += len(padded)
        head += b"\0" * (-len(head) % self.alignment)
        return head + b"".join(parts)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.encode())

    def retype(self, name, kind):
        tensor = self.tensor(name)
        tensor[2] = kind
        if kind in BLOCKS:  # the size of unknown types is unknown
            self.resize(tensor)

    def reshape(self, name, ne):
        tensor = self.tensor(name)
        tensor[1] = ne
        self.resize(tensor)

    def join(self, names, new):
        parts = [self.tensor(name) for name in names]
        rows = sum(part[1][-1] for part in parts)
        parts[0][0], parts[0][1], parts[0][3] = new, parts[0][1][:-1] + [rows], b"".join(part[3] for part in parts)
        self.tensors = [tensor for tensor in self.tensors if tensor not in parts[1:]]

    @staticmethod
    def resize(tensor):
        size = size_of(tensor[2], tensor[1])
        tensor[3] = tensor[3][:size] + b"\0" * (size - len(tensor[3]))

    def set_key(self, name, kind, value):
        packed = {"u32": lambda: (4, struct.pack("<I", int(value))), "f32": lambda: (6, struct.pack("<f", float(value))),
                  "bool": lambda: (7, struct.pack("<?", value == "true")),
                  "string": lambda: (8, struct.pack("<Q", len(value.encode())) + value.encode())}[kind]()
        for key in self.keys:
            if key[0] == name:
                key[1:] = packed
                return
        self.keys.append([name, *packed])


def main(arguments):
    model = Gguf(arguments[0])
    rest = iter(arguments[2:])
    for operation in rest:
        name = next(rest)
        if operation == "drop-tensor":
            model.tensors.remove(model.tensor(name))
        elif operation == "rename-tensor":
            model.tensor(name)[0] = next(rest)
        elif operation == "retype":
            model.retype(name, int(next(rest)))
        elif operation == "reshape":
            model.reshape(name, [int(n) for n in next(rest).split(",")])
        elif operation == "add-tensor":
            ne = [int(n) for n in next(rest).split(",")]
            model.tensors.append([name, ne, 0, b"\0" * size_of(0, ne)])
        elif operation == "join":
            model.join(name.split(","), next(rest))
        elif operation == "poke":
            offset, new = int(next(rest)), bytes.fromhex(next(rest))
            data = model.tensor(name)[3]
            model.tensor(name)[3] = data[:offset] + new + data[offset + len(new):]
        elif operation == "poke-key":
            offset, new = int(next(rest)), bytes.fromhex(next(rest))
            value = model.key(name)[2]
            model.key(name)[2] = value[:offset] + new + value[offset + len(new):]
        elif operation == "drop-key":
            model.keys.remove(model.key(name))
        elif operation == "rename-key":
            model.key(name)[0] = next(rest)
        elif operation == "set-key":
            model.set_key(name, next(rest), next(rest))
        else:
            sys.exit("no such operation: " + operation)
    model.write(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
