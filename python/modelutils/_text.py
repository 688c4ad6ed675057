"""Conversion of texts to and from the library."""

import json
import os
from ctypes import byref, c_uint64, c_void_p, string_at
from typing import Any, Dict, Union

from ._errors import ArgumentError
from ._library import lib

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def decode(data: bytes) -> str:
    """Decodes text from a file. Bytes that are not UTF-8 become lone surrogates, as in file names."""
    return data.decode("utf-8", "surrogateescape")


def c_text(text: str) -> bytes:
    """Encodes a name for a C function. Raises ArgumentError if it contains a NUL, where C would truncate it."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ArgumentError("the name is not text", "api-argument") from None
    if b"\0" in data:
        raise ArgumentError("the name holds a NUL", "api-argument")
    return data


def c_path(path: Path) -> bytes:
    data = os.fsencode(path)
    if b"\0" in data:
        raise ArgumentError("the path holds a NUL", "api-argument")
    return data


def take_text(text: c_void_p) -> bytes:
    """Returns the bytes of a mu_text and frees it."""
    try:
        size = c_uint64()
        address = lib.mu_text_data(text, byref(size))
        return string_at(address, size.value)
    finally:
        lib.mu_text_free(text)


def _object(members: Dict[str, Any]) -> Any:
    if members.keys() == {"base64"} and isinstance(members["base64"], str):
        import base64

        return decode(base64.b64decode(members["base64"]))
    return members


def read_json(text: bytes) -> Any:
    """Parses JSON from the library, which represents text that is not UTF-8 as {"base64": …}."""
    return json.loads(text, object_hook=_object)
