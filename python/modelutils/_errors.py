"""The errors of the library as exceptions."""

import os
from ctypes import byref, c_uint64
from typing import Dict, Optional, Type

from ._library import lib


class Error(Exception):
    """An error of the library. `code` is stable and described in docs/findings.md."""

    def __init__(self, message: str, code: str, file: Optional[str] = None, offset: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.file = file
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"

    def __reduce__(self) -> "tuple[object, ...]":
        return type(self), (self.message, self.code, self.file, self.offset)


class ArgumentError(Error, ValueError):
    """An invalid argument, or a closed model."""


class RangeError(Error, IndexError):
    """An index, row or number out of range."""


class NotFoundError(Error, KeyError):
    """No key or tensor of that name."""


class TypeMismatchError(Error, TypeError):
    """The value or tensor is of a different kind than requested."""


class UnsupportedError(Error):
    """Values that cannot be decoded."""


class InputError(Error):
    """A file that cannot be read, is not recognised, or is broken."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


_classes: Dict[int, Type[Error]] = {
    1: ArgumentError,
    2: RangeError,
    3: NotFoundError,
    4: TypeMismatchError,
    6: UnsupportedError,
    7: InputError,
    8: OutOfMemoryError,
}

BUFFER = 5  # MU_ERROR_BUFFER


def last_error() -> Error:
    """Returns the last error of this thread as an exception."""
    offset = c_uint64()
    has_offset = lib.mu_last_error_offset(byref(offset))
    file = lib.mu_last_error_file()
    return _classes.get(lib.mu_last_error_status(), Error)(
        lib.mu_last_error_message().decode("utf-8", "replace"),
        lib.mu_last_error_code().decode("ascii", "replace"),
        os.fsdecode(file) if file else None,
        offset.value if has_offset else None,
    )


def check(status: int) -> None:
    if status != 0:
        raise last_error()


def closed() -> ArgumentError:
    return ArgumentError("the model is closed", "api-argument")
