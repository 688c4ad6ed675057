"""Finds libmodelutils and declares the prototypes of its functions (lib/c_api/modelutils.h)."""

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, List, Tuple

NONE = 2**64 - 1  # MU_NONE


class MetadataInfo(ctypes.Structure):
    """mu_metadata"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("element_type", c_int32),
        ("reserved", c_int32),
        ("count", c_uint64),
        ("key", c_void_p),
        ("key_size", c_uint64),
        ("offset", c_uint64),
    ]


class TensorInfo(ctypes.Structure):
    """mu_tensor"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("type_name", c_char_p),
        ("name", c_void_p),
        ("name_size", c_uint64),
        ("dims", POINTER(c_uint64)),
        ("n_dims", c_uint64),
        ("elements", c_uint64),
        ("columns", c_uint64),
        ("rows", c_uint64),
        ("bytes", c_uint64),
        ("offset", c_uint64),
        ("file", c_uint64),
        ("packing", c_int32),
        ("bits", c_uint32),
        ("group_size", c_uint32),
        ("is_part", c_int32),
        ("scales", c_uint64),
        ("biases", c_uint64),
    ]


class FitRequest(ctypes.Structure):
    """mu_fit_request"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("contexts", POINTER(c_uint64)),
        ("context_count", c_uint64),
        ("gpu", c_uint64),
        ("ram", c_uint64),
        ("memory", c_uint64),
        ("margin", c_uint64),
        ("sequences", c_uint64),
        ("batch", c_uint64),
        ("ubatch", c_uint64),
        ("k_type", c_int32),
        ("v_type", c_int32),
    ]


# Result and parameters of each function. Pointers are plain integers, without conversions.
PROTOTYPES: List[Tuple[str, Any, List[Any]]] = [
    ("mu_version", c_char_p, []),
    ("mu_last_error_status", c_int32, []),
    ("mu_last_error_code", c_char_p, []),
    ("mu_last_error_message", c_char_p, []),
    ("mu_last_error_file", c_char_p, []),
    ("mu_last_error_offset", c_int32, [c_void_p]),
    ("mu_open", c_int32, [c_char_p, c_void_p]),
    ("mu_close", None, [c_void_p]),
    ("mu_format", c_char_p, [c_void_p]),
    ("mu_architecture", c_char_p, [c_void_p]),
    ("mu_is_big_endian", c_int32, [c_void_p]),
    ("mu_parameter_count", c_uint64, [c_void_p]),
    ("mu_file_count", c_uint64, [c_void_p]),
    ("mu_tensor_count", c_uint64, [c_void_p]),
    ("mu_metadata_count", c_uint64, [c_void_p]),
    ("mu_file_path", c_char_p, [c_void_p, c_uint64]),
    ("mu_type_name", c_char_p, [c_int32]),
    ("mu_metadata_info", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_metadata_bool", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_metadata_u64", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_metadata_i64", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_metadata_f64", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_metadata_string", c_int32, [c_void_p, c_uint64, c_void_p, c_void_p]),
    ("mu_array_f64", c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_p]),
    ("mu_array_u64", c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_p]),
    ("mu_array_i64", c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_p]),
    ("mu_array_strings", c_int32, [c_void_p, c_uint64, c_void_p, c_void_p, c_void_p]),
    ("mu_array_next_strings", c_int32, [c_void_p, c_uint64, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p]),
    ("mu_tensor_find", c_int32, [c_void_p, c_char_p, c_void_p]),
    ("mu_tensor_info", c_int32, [c_void_p, c_uint64, c_void_p]),
    ("mu_tensor_data", c_int32, [c_void_p, c_uint64, c_void_p, c_void_p]),
    ("mu_tensor_read", c_int32, [c_void_p, c_uint64, c_uint64, c_void_p, c_uint64]),
    ("mu_tensor_dequantize", c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_p, c_uint64]),
    ("mu_tokenize", c_int32, [c_void_p, c_char_p, c_uint64, c_uint32, c_void_p, c_uint64, c_void_p]),
    ("mu_detokenize", c_int32, [c_void_p, c_void_p, c_uint64, c_void_p]),
    ("mu_render", c_int32, [c_void_p, c_char_p, c_uint64, c_char_p, c_void_p]),
    ("mu_text_data", c_void_p, [c_void_p, c_void_p]),
    ("mu_text_free", None, [c_void_p]),
    ("mu_card", c_int32, [c_void_p, c_void_p]),
    ("mu_verify", c_int32, [c_char_p, c_uint32, c_void_p]),
    ("mu_diff", c_int32, [c_char_p, c_char_p, c_uint32, c_void_p]),
    ("mu_fit", c_int32, [c_void_p, c_void_p, c_void_p]),
    ("mu_page", c_int32, [c_void_p, c_uint32, c_void_p, c_void_p]),
]


def _open(path: str, hint: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the library of modelutils cannot be loaded: {error}; {hint}") from None


def _load() -> ctypes.CDLL:
    """Returns the library named by MODELUTILS_LIBRARY, else the wheel's, else the system's."""
    named = os.environ.get("MODELUTILS_LIBRARY")
    folder = os.path.dirname(os.path.abspath(__file__))
    name = {"win32": "modelutils.dll", "darwin": "libmodelutils.dylib"}.get(sys.platform, "libmodelutils.so")
    own = os.path.join(folder, name)
    if named:
        library = _open(named, "the environment variable MODELUTILS_LIBRARY names this path")
    elif os.path.exists(own):
        library = ctypes.CDLL(own)
    else:
        hint = "install modelutils, or set the environment variable MODELUTILS_LIBRARY to the path of the library"
        library = _open("libmodelutils.so.0" if name == "libmodelutils.so" else name, hint)
    for name, result, parameters in PROTOTYPES:
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    return library


lib = _load()
