"""A small reader and writer of safetensors files, and exact rounding to small types, for the tests of st-edit."""
import json, os, struct

import numpy as np

RAW = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "U32": np.uint32, "BF16": np.uint16,
       "I16": np.int16, "U16": np.uint16, "U8": np.uint8, "I8": np.int8, "BOOL": np.uint8, "F8_E4M3": np.uint8, "F8_E5M2": np.uint8,
       "F8_E8M0": np.uint8}


def header(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size)), 8 + size


def read_file(path):
    """Returns the metadata and {name: (dtype, shape, bytes)} in the order of the data."""
    entries, begin = header(path)
    metadata = entries.pop("__metadata__", {})
    data = open(path, "rb").read()[begin:]
    ordered = sorted(entries.items(), key=lambda each: each[1]["data_offsets"])
    assert sum(e - b for b, e in (t["data_offsets"] for _, t in ordered)) == len(data), path
    return metadata, {name: (t["dtype"], tuple(t["shape"]), data[slice(*t["data_offsets"])]) for name, t in ordered}


def read_model(path):
    """Returns the tensors of a file or of all files of a directory."""
    if not os.path.isdir(path): return read_file(path)[1]
    tensors = {}
    for name in sorted(os.listdir(path)):
        if name.endswith(".safetensors"): tensors.update(read_file(f"{path}/{name}")[1])
    return tensors


def write_file(path, tensors, metadata=None):
    """tensors: {name: (dtype, array of the raw type)}"""
    entries, at, blobs = {}, 0, []
    if metadata is not None: entries["__metadata__"] = metadata
    for name, (dtype, values) in tensors.items():
        blob = np.ascontiguousarray(values, RAW[dtype]).tobytes()
        entries[name] = {"dtype": dtype, "shape": list(np.shape(values)), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file: file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def small_floats(exponent_bits, mantissa_bits, has_infinity):
    """The values of all codes of an FP8 type; NaN where the type has NaN."""
    codes = np.arange(256)
    bias = 2**(exponent_bits - 1) - 1
    exponent, mantissa = (codes >> mantissa_bits) & (2**exponent_bits - 1), codes & (2**mantissa_bits - 1)
    values = np.where(exponent == 0, mantissa * 2.0**(1 - bias - mantissa_bits), (1 + mantissa * 2.0**-mantissa_bits) * 2.0**(exponent - bias))
    top = exponent == 2**exponent_bits - 1
    if has_infinity: values = np.where(top, np.where(mantissa == 0, np.inf, np.nan), values)
    else: values = np.where(top & (mantissa == 2**mantissa_bits - 1), np.nan, values)
    return np.where(codes & 128, -values, values)


TABLES = {"F8_E4M3": small_floats(4, 3, False), "F8_E5M2": small_floats(5, 2, True)}


def decode(dtype, raw):
    values = np.frombuffer(raw, RAW[dtype])
    if dtype == "BF16": return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in TABLES: return TABLES[dtype][values]
    return values.astype(np.float64)


# Bits of the mantissa, least exponent of a normal number, largest value.
FORMATS = {"F32": (23, -126, float(np.finfo(np.float32).max)), "F16": (10, -14, 65504.0), "BF16": (7, -126, float.fromhex("0x1.fep127")),
           "F8_E4M3": (3, -6, 448.0)}


def rounded(values, dtype):
    """Rounds doubles once, ties to even. Infinite where the result is above the type's largest value."""
    mantissa, least, largest = FORMATS[dtype]
    values = np.asarray(values, np.float64)
    finite = np.where(np.isfinite(values), values, 0.0)
    exponent = np.maximum(np.frexp(finite)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - mantissa)
    result = np.rint(finite / unit) * unit
    result = np.where(np.abs(result) > largest, np.copysign(np.inf, result), result)
    return np.where(np.isfinite(values), result, values)
