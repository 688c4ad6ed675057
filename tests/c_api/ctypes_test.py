#!/usr/bin/env python3
"""Tests the C API through ctypes: values of a GGUF file and an MLX directory, NULL in every argument of every function,
and every file of the tests' data.
usage: ctypes_test.py LIBRARY HEADER TEST_DATA_DIR"""
import ctypes, os, re, struct, sys
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p

library, header, data = sys.argv[1:]
mu = ctypes.CDLL(library)
text = re.sub(r"//[^\n]*", "", open(header).read())
constants = {name: int(value) for name, value in re.findall(r"(MU_[A-Z0-9_]+) = (-?\d+)", text)}
scalars = {"mu_status": c_int32, "int32_t": c_int32, "uint32_t": c_uint32, "int64_t": c_int64, "uint64_t": c_uint64,
           "double": c_double, "float": c_float}


def ctype(declaration):
    """Returns the ctypes type of a parameter or result. Pointers are plain addresses, texts are bytes."""
    declaration = declaration.strip()
    if re.match(r"const char\*( \w+)?$", declaration):
        return c_char_p
    return c_void_p if "*" in declaration else scalars[declaration.split()[0]]


functions = {}
for result, name, parameters in re.findall(r"MU_API ([\w* ]+?[ *])(mu_\w+)\(([^)]*)\);", text):
    function = getattr(mu, name)
    function.argtypes = [] if parameters == "void" else [ctype(p) for p in parameters.split(",")]
    function.restype = None if result.strip() == "void" else ctype(result)
    functions[name] = function


def structure(name):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), text, re.S).group(1)
    fields = [(field, ctype(kind)) for kind, field in re.findall(r"(\w[\w ]*\*?) +(\w+);", body)]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Tensor, Metadata, Packed = structure("mu_tensor"), structure("mu_metadata"), structure("mu_packed")


def check(status):
    if status != 0:
        raise AssertionError("%s: %s" % (mu.mu_last_error_code(), mu.mu_last_error_message()))


def open_model(path):
    model = c_void_p()
    check(mu.mu_open(path.encode(), byref(model)))
    return model


def info(kind, function, model, index):
    value = kind(struct_size=ctypes.sizeof(kind))
    check(function(model, index, byref(value)))
    return value


assert len(functions) > 40, sorted(functions)
assert re.fullmatch(rb"\d+\.\d+\.\d+", mu.mu_version())

# NULL and zero in every argument must give an error, never a crash.
for name, function in functions.items():
    result = function(*[None if kind in (c_char_p, c_void_p) else 0 for kind in function.argtypes])
    if name.startswith(("mu_metadata_", "mu_get_", "mu_array_", "mu_tensor_", "mu_pack", "mu_open")) and "count" not in name:
        assert result == constants["MU_ERROR_ARGUMENT"], (name, result)

model = open_model(data + "/gguf/small.gguf")
index, number, string, size = c_uint64(), c_double(), c_char_p(), c_uint64()
check(mu.mu_get_f64(model, b"test.f64", byref(number)))
assert number.value == 0.1
check(mu.mu_metadata_find(model, b"tokenizer.ggml.tokens", byref(index)))
tokens = info(Metadata, mu.mu_metadata_info, model, index.value)
assert (tokens.type, tokens.element_type, tokens.count) == (constants["MU_VALUE_ARRAY"], constants["MU_VALUE_STRING"], 16)
check(mu.mu_array_string(model, index, 3, byref(string), byref(size)))
assert string.value.decode() == "\u2581tok0" and size.value == 7
check(mu.mu_tensor_find(model, b"token_embd.weight", byref(index)))
tensor = info(Tensor, mu.mu_tensor_info, model, index.value)
assert (tensor.name, tensor.columns, tensor.rows, tensor.type_name) == (b"token_embd.weight", 32, 16, b"F32")
pointer, count = c_void_p(), c_uint64()
check(mu.mu_tensor_data(model, index, byref(pointer), byref(count)))
mapped = ctypes.string_at(pointer.value, count.value)
with open(data + "/gguf/small.gguf", "rb") as file:
    file.seek(tensor.offset)
    assert mapped == file.read(tensor.bytes)
rows = (c_float * 64)()
check(mu.mu_tensor_dequantize(model, index, 14, 2, rows, 64))
assert list(rows) == list(struct.unpack("<64f", mapped[14 * 128:]))
assert mu.mu_tensor_dequantize(model, index, 15, 2, rows, 64) == constants["MU_ERROR_RANGE"]
mu.mu_close(model)

model = open_model(data + "/mlx/h96_bf16_4b_g32")
check(mu.mu_tensor_find(model, b"blk.0.attn_q.weight", byref(index)))
layout = Packed(struct_size=ctypes.sizeof(Packed))
check(mu.mu_pack_layout(model, byref(index), 1, 0, byref(layout)))
buffer = ctypes.create_string_buffer(layout.total_bytes)
check(mu.mu_pack(model, byref(index), 1, 0, buffer, len(buffer), None))
parts = info(Tensor, mu.mu_tensor_info, model, index.value)
joined = b""
for part in (index.value, parts.scales, parts.biases):
    check(mu.mu_tensor_data(model, part, byref(pointer), byref(count)))
    joined += ctypes.string_at(pointer.value, count.value)
assert buffer.raw == joined
mu.mu_close(model)

opened = 0
for folder, _, names in os.walk(data):
    for path in [folder] + [os.path.join(folder, name) for name in names]:
        model = c_void_p()
        if mu.mu_open(os.fsencode(path), byref(model)) != 0:
            assert not model.value and mu.mu_last_error_message(), path
            continue
        opened += 1
        for i in range(mu.mu_tensor_count(model)):
            tensor = info(Tensor, mu.mu_tensor_info, model, i)
            if mu.mu_tensor_data(model, i, byref(pointer), byref(count)) != 0:
                # In a checkpoint, a tensor with its own strides is not a contiguous range of bytes.
                assert mu.mu_last_error_code() == b"io-map" and "pytorch" in path, path
                continue
            assert count.value == tensor.bytes
        mu.mu_close(model)
assert opened >= 15, opened
print("ok, %d models" % opened)
