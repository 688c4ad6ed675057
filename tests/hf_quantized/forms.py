"""Quantises the matrices of a model directory in published forms (docs/formats/hf-quantized.md), and returns the
model's twin: the same values as float32. Each function in FORMS takes a float32 matrix [out, in] and returns its
module's tensors by suffix, as (dtype, array), and the exact values, each one float32 product."""
import json, os, shutil, sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import f32, load, save

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6], np.float32)
CODES = np.arange(127)  # E4M3 without NaN
E4M3 = np.where(CODES >> 3 == 0, (CODES & 7) * 2.0**-9, (8 + (CODES & 7)) * 2.0**((CODES >> 3) - 10.0)).astype(np.float32)
NIBBLE = [0, 4, 1, 5, 2, 6, 3, 7]  # nibble of column c modulo eight in AWQ


def nearest(table, values):
    """Returns indices into a rising table."""
    upper = np.clip(np.searchsorted(table, values), 1, len(table) - 1)
    return np.where(values - table[upper - 1] <= table[upper] - values, upper - 1, upper)


def stream(codes, bits):
    """Packs the codes of each row as a little-endian bit stream in 32-bit words."""
    ones = (codes[..., None].astype(np.uint8) >> np.arange(bits, dtype=np.uint8)) & 1
    ones = ones.reshape(len(codes), -1)
    ones = np.pad(ones, ((0, 0), (0, -ones.shape[1] % 32)))
    return np.packbits(ones, axis=1, bitorder="little").view("<u4").view(np.int32)


def integers(w, bits, group, symmetric):
    """Returns codes [out, in], zero points and F16 scales [out, groups], and values."""
    g = w.reshape(len(w), -1, group)
    if symmetric:
        scale = np.abs(g).max(2) / (2**(bits - 1) - 1)
        scale = scale.astype(np.float16)
        zero = np.full(scale.shape, 2**(bits - 1))
    else:
        least, most = np.minimum(g.min(2), 0), np.maximum(g.max(2), 0)
        scale = ((most - least) / (2**bits - 1)).astype(np.float16)
        zero = np.clip(np.rint(-least / scale.astype(np.float32)), 1, 2**bits - 1).astype(int)
    wide = scale.astype(np.float32)
    codes = np.clip(np.rint(g / wide[:, :, None]) + zero[:, :, None], 0, 2**bits - 1).astype(int)
    values = wide[:, :, None] * (codes - zero[:, :, None]).astype(np.float32)
    return codes.reshape(w.shape), zero, scale, values.reshape(w.shape)


def fp8(w, scale, rows, columns):
    """Quantises to E4M3 with one scale per rectangle."""
    wide = np.repeat(np.repeat(scale, rows, 0), columns, 1)[:w.shape[0], :w.shape[1]]
    codes = nearest(E4M3, np.abs(w / wide)).astype(np.uint8)
    values = np.copysign(E4M3[codes], w) * wide
    return codes | (np.signbit(w).astype(np.uint8) << 7), values


def fp8_block(w):
    size = 32
    blocks = np.pad(w, ((0, -len(w) % size), (0, -w.shape[1] % size))).reshape(-(-len(w) // size), size, -(-w.shape[1] // size), size)
    scale = (np.abs(blocks).max((1, 3)) / 448).astype(np.float32)
    codes, values = fp8(w, scale, size, size)
    return {"weight": ("F8_E4M3", codes), "weight_scale_inv": ("F32", scale)}, values


def fp8_block_text(w):
    module, values = fp8_block(w)
    return {"weight": module["weight"], "weight_scale": module["weight_scale_inv"]}, values


def fp8_tensor(w):
    scale = np.full((1, 1), np.abs(w).max() / 448, np.float32)
    codes, values = fp8(w, scale, *w.shape)
    return {"weight": ("F8_E4M3", codes), "weight_scale": ("F32", scale.reshape(()))}, values


def fp8_group(w):
    scale = (np.abs(w.reshape(len(w), -1, 32)).max(2) / 448).astype(np.float32)
    codes, values = fp8(w, scale, 1, 32)
    return {"weight": ("F8_E4M3", codes), "weight_scale": ("F32", scale)}, values


def fp8_channel(w):
    scale = (np.abs(w).max(1, keepdims=True) / 448).astype(np.float32)
    codes, values = fp8(w, scale, 1, w.shape[1])
    return {"weight": ("F8_E4M3", codes), "weight_scale": ("F32", scale)}, values


def fp4(w, scale, factor, group):
    wide = np.repeat(scale, group, 1)
    codes = nearest(E2M1, np.abs(w) / (wide * factor)).astype(np.uint8)
    values = (np.copysign(E2M1[codes], w) * wide).astype(np.float32) * factor
    codes |= np.signbit(w).astype(np.uint8) << 3
    return codes[:, ::2] | codes[:, 1::2] << 4, values


def nvfp4(w, inverse=False):
    factor = np.float32(np.abs(w).max() / (6 * 448))
    stored = np.float32(1) / factor if inverse else factor
    factor = np.float32(1) / stored if inverse else factor
    scale = nearest(E4M3, np.abs(w.reshape(len(w), -1, 16)).max(2) / (6 * factor)).astype(np.uint8)
    scale = np.maximum(scale, 1)
    codes, values = fp4(w, E4M3[scale], factor, 16)
    if inverse:
        return {"weight_packed": ("U8", codes), "weight_scale": ("F8_E4M3", scale), "weight_global_scale": ("F32", np.array([stored]))}, values
    return {"weight": ("U8", codes), "weight_scale": ("F8_E4M3", scale), "weight_scale_2": ("F32", np.array(stored))}, values


def mxfp4(w):
    exponent = np.floor(np.log2(np.maximum(np.abs(w.reshape(len(w), -1, 32)).max(2), 1e-30))).astype(int) - 2
    codes, values = fp4(w, np.exp2(exponent).astype(np.float32), np.float32(1), 32)
    return {"weight_packed": ("U8", codes), "weight_scale": ("U8", exponent + 127)}, values


def words(codes, bits):
    """The older packing: each word holds as many whole codes of a row as fit."""
    each = 32 // bits
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % each))).reshape(len(codes), -1, each).astype(np.uint32)
    return (codes << (bits * np.arange(each, dtype=np.uint32))).sum(2, dtype=np.uint32).view(np.int32)


def packed_before(w, bits):
    codes, zero, scale, values = integers(w, bits, 32, False)
    return {"weight_packed": ("I32", words(codes, bits)), "weight_scale": ("F16", scale), "weight_shape": ("I64", np.array(w.shape)),
            "weight_zero_point": ("I32", words(zero.T, bits).T)}, values


def packed(w, bits, symmetric):
    codes, zero, scale, values = integers(w, bits, 32, symmetric)
    module = {"weight_packed": ("I32", stream(codes, bits)), "weight_scale": ("F16", scale),
              "weight_shape": ("I64", np.array(w.shape))}
    if not symmetric: module["weight_zero_point"] = ("I32", stream(zero.T, bits).T)
    return module, values


def int8(w):
    scale = (np.abs(w).max(1, keepdims=True) / 127).astype(np.float32)
    scale = (scale.view(np.uint32) >> 16 << 16).view(np.float32)
    codes = np.clip(np.rint(w / scale), -128, 127)
    return {"weight": ("I8", codes), "weight_scale": ("BF16", (scale.view(np.uint32) >> 16))}, scale * codes.astype(np.float32)


def int8_tensor(w, shape):
    scale = np.array(np.abs(w).max() / 127, np.float16)
    codes = np.clip(np.rint(w / scale.astype(np.float32)), -128, 127)
    return {"weight": ("I8", codes), "weight_scale": ("F16", scale.reshape(shape))}, scale.astype(np.float32) * codes.astype(np.float32)


def awq_gemv(w):
    codes, zero, scale, values = integers(w, 4, 64, False)
    width = -(-scale.shape[1] // 16) * 2  # words; an even number for groups of 64
    wide = lambda numbers: np.pad(numbers, ((0, 0), (0, 8 * width - numbers.shape[1])))
    return {"qweight": ("I32", stream(codes, 4)), "qzeros": ("I32", stream(wide(zero), 4)), "scales": ("F16", wide(scale))}, values


def awq(w):
    codes, zero, scale, values = integers(w, 4, 64, False)
    def shuffled(numbers):
        eights = numbers.reshape(len(numbers), -1, 8).astype(np.uint32)
        return sum(eights[:, :, c] << (4 * NIBBLE[c]) for c in range(8)).astype(np.uint32).view(np.int32)
    return {"qweight": ("I32", shuffled(codes.T)), "qzeros": ("I32", shuffled(zero.T)), "scales": ("F16", scale.T)}, values


def gptq(w, bits=4, symmetric=True, v1=True, shuffle=False):
    places = np.random.default_rng(3).permutation(w.shape[1]) if shuffle else np.arange(w.shape[1])
    group = 64 if bits != 3 else 32
    codes, zero, scale, values = integers(w[:, places], bits, group, symmetric)
    back = np.argsort(places)
    return {"qweight": ("I32", stream(codes[:, back], bits).T), "qzeros": ("I32", stream(zero.T - (1 if v1 else 0), bits)),
            "scales": ("F16", scale.T), "g_idx": ("I32", back // group)}, values[:, back]


def compressed(form, **weights):
    group = {"targets": ["Linear"], "weights": weights}
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": group}}


# Name: function, quantization_config.
FORMS = {
    "fp8_block": (fp8_block, {"quant_method": "fp8", "weight_block_size": [32, 32]}),
    "fp8_tensor": (fp8_tensor, {"quant_method": "modelopt", "quant_algo": "FP8"}),
    "fp8_channel": (fp8_channel, compressed("float-quantized", num_bits=8, type="float", strategy="channel")),
    "fp8_block_text": (fp8_block_text, compressed("float-quantized", num_bits=8, type="float", strategy="block", block_structure="32x32")),
    "fp8_group": (fp8_group, compressed("float-quantized", num_bits=8, type="float", strategy="group", group_size=32)),
    "nvfp4": (nvfp4, {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}),
    "ct_nvfp4": (lambda w: nvfp4(w, True), compressed("nvfp4-pack-quantized", num_bits=4, type="float", group_size=16)),
    "ct_mxfp4": (mxfp4, compressed("mxfp4-pack-quantized", num_bits=4, type="float", group_size=32)),
    "ct_int4": (lambda w: packed(w, 4, True), compressed("pack-quantized", num_bits=4, type="int", group_size=32)),
    "ct_int4_asym": (lambda w: packed(w, 4, False), compressed("pack-quantized", num_bits=4, type="int", group_size=32)),
    "ct_int3_before": (lambda w: packed_before(w, 3), compressed("pack-quantized", num_bits=3, type="int", group_size=32)),
    "ct_int6_before": (lambda w: packed_before(w, 6), compressed("pack-quantized", num_bits=6, type="int", group_size=32)),
    "ct_int3_asym": (lambda w: packed(w, 3, False), compressed("pack-quantized", num_bits=3, type="int", group_size=32)),
    "ct_int8": (lambda w: packed(w, 8, True), compressed("pack-quantized", num_bits=8, type="int", group_size=32)),
    "w8a8": (int8, compressed("int-quantized", num_bits=8, type="int", strategy="channel")),
    "w8a8_tensor": (lambda w: int8_tensor(w, ()), compressed("int-quantized", num_bits=8, type="int", strategy="tensor")),
    "w8a8_tensor_1": (lambda w: int8_tensor(w, (1,)), compressed("int-quantized", num_bits=8, type="int", strategy="tensor")),
    "awq": (awq, {"quant_method": "awq", "version": "gemm", "bits": 4, "group_size": 64, "zero_point": True}),
    "awq_gemv": (awq_gemv, {"quant_method": "awq", "version": "gemv", "bits": 4, "group_size": 64, "zero_point": True}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": True}),
    "gptq_v2": (lambda w: gptq(w, symmetric=False, v1=False),
                {"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": False, "checkpoint_format": "gptq_v2"}),
    "gptq_3bit": (lambda w: gptq(w, bits=3), {"quant_method": "gptq", "bits": 3, "group_size": 32, "sym": True}),
    "gptq_act_order": (lambda w: gptq(w, shuffle=True),
                       {"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": True, "desc_act": True}),
}


def is_quantised(name, values):
    """True for the layers' matrices except routers."""
    return (".layers." in name and name.endswith(".weight") and values.ndim == 2 and "norm" not in name and
            name.split(".")[-2] not in ("gate", "shared_expert_gate"))


def quantise(model, form):
    """Returns a directory's tensors in a form, and those of its twin."""
    function, _ = FORMS[form]
    tensors, twin = {}, {}
    for name, tensor in load(f"{model}/model.safetensors").items():
        if not is_quantised(name, tensor[1]):
            tensors[name] = twin[name] = tensor
            continue
        module, values = function(f32(tensor))
        for suffix, part in module.items(): tensors[name.removesuffix("weight") + suffix] = part
        twin[name] = ("F32", values)
    return tensors, twin


def write(model, out, tensors, settings=None):
    """Writes a directory with these tensors and, if given, this quantization_config."""
    shutil.copytree(model, out, ignore=shutil.ignore_patterns("*.safetensors*", "config.json"), dirs_exist_ok=True)
    config = json.load(open(f"{model}/config.json"))
    if settings is not None: config["quantization_config"] = settings
    with open(f"{out}/config.json", "w") as file: json.dump(config, file)
    save(tensors, f"{out}/model.safetensors")
