"""Reads, checks and compares the files of language models: GGUF, safetensors, MLX and PyTorch checkpoints.

Uses libmodelutils for everything; MODELUTILS_LIBRARY may name a library to use instead of the default."""

from ._errors import (
    ArgumentError,
    Error,
    InputError,
    NotFoundError,
    OutOfMemoryError,
    RangeError,
    TypeMismatchError,
    UnsupportedError,
)
from ._library import lib as _lib
from ._model import Keys, Model, Tensor, Tensors, detokenize, open, tokenize
from ._prompt import render
from ._reports import Finding, Fit, Record, Verification, diff, fit, verify

__version__: str = _lib.mu_version().decode()

__all__ = [
    "ArgumentError",
    "Error",
    "Finding",
    "Fit",
    "InputError",
    "Keys",
    "Model",
    "NotFoundError",
    "OutOfMemoryError",
    "RangeError",
    "Record",
    "Tensor",
    "Tensors",
    "TypeMismatchError",
    "UnsupportedError",
    "Verification",
    "detokenize",
    "diff",
    "fit",
    "open",
    "render",
    "tokenize",
    "verify",
]
