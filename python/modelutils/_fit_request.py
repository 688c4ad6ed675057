"""Converts the arguments of fit() to the C library's request."""

import operator
import re
from collections.abc import Sequence
from ctypes import c_uint64, sizeof
from typing import Tuple, Union

from ._errors import ArgumentError
from ._library import NONE, FitRequest

_units = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
# Types that a cache may have, and their MU_TYPE_….
_cache_types = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}


def _memory(name: str, size: Union[int, str, None], unset: int = 0) -> int:
    """Returns a number of bytes: from a number, or a text such as "24G", "24GB" or "24GiB", which are all 24 ×
    1024³."""
    if size is None:
        return unset
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?)?\s*", size, re.IGNORECASE | re.ASCII)
        if match is None:
            raise ArgumentError(f"{name}: '{size[:40]}' is not a size such as 24G", "api-argument")
        whole = int(float(match[1]) * _units[(match[2] or "").upper()]) if len(match[1]) < 20 else NONE
        if match[2] is None and 0 < whole < 1024**2:
            raise ArgumentError(f"{name}: {whole} bytes? Write '{size}G'", "api-argument")
        size = whole
    return _number(name, size)


def _number(name: str, value: int) -> int:
    value = operator.index(value)
    if not 0 <= value < NONE:
        raise ArgumentError(f"{name} is out of range", "api-argument")
    return value


def _cache_type(name: str) -> int:
    if name.lower() not in _cache_types:
        raise ArgumentError(f"kv takes {', '.join(sorted(_cache_types))}, not '{name[:40]}'", "api-argument")
    return _cache_types[name.lower()]


def fit_request(
    *,
    context: Union[int, Sequence[int], None] = None,
    gpu: Union[int, str, None] = None,
    ram: Union[int, str, None] = None,
    memory: Union[int, str, None] = None,
    margin: Union[int, str, None] = None,
    kv: Union[str, Tuple[str, str]] = "f16",
    sequences: int = 1,
    batch: int = 2048,
    ubatch: int = 512,
    unified: bool = False,
    flash_attention: bool = True,
    swa_full: bool = False,
) -> FitRequest:
    """Checks the arguments of fit() and returns the request."""
    numbers = [] if context is None else [context] if isinstance(context, int) else list(context)
    contexts = (c_uint64 * max(1, len(numbers)))(*(_number("context", number) for number in numbers))
    k_type, v_type = (kv, kv) if isinstance(kv, str) else kv
    return FitRequest(
        struct_size=sizeof(FitRequest),
        flags=unified * 1 + (not flash_attention) * 2 + swa_full * 4,
        contexts=contexts,
        context_count=len(numbers),
        gpu=_memory("gpu", gpu),
        ram=_memory("ram", ram),
        memory=_memory("memory", memory),
        margin=_memory("margin", margin, NONE),
        sequences=_number("sequences", sequences),
        batch=_number("batch", batch),
        ubatch=_number("ubatch", ubatch),
        k_type=_cache_type(k_type),
        v_type=_cache_type(v_type),
    )
