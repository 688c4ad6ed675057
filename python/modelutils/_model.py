"""A model: its keys and its tensors."""

import ctypes
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p, pointer, sizeof, string_at
from types import TracebackType
from typing import Any, Dict, List, Literal, Optional, Tuple, Type, Union

from ._errors import (
    BUFFER,
    ArgumentError,
    NotFoundError,
    RangeError,
    TypeMismatchError,
    check,
    closed,
    last_error,
)
from ._library import MetadataInfo, TensorInfo, lib
from ._text import Path, c_path, c_text, decode, read_json, take_text

Value = Union[int, float, bool, str, List[int], List[float], List[bool], List[str]]

# MU_VALUE_….
_F32, _BOOL, _STRING, _ARRAY, _U64, _F64 = 6, 7, 8, 9, 10, 12
_PACKINGS = {1: "affine", 2: "mxfp4", 3: "nvfp4", 4: "mxfp8"}
# numpy's types, without the byte order, by our names.
_NUMPY_TYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8",
    "BOOL": "?", "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "C64": "c8",
}  # fmt: skip


class _Handle:
    """Owns a mu_model. Every call of the library holds a reference, so that the model is closed only after the last
    call has returned and the last array over its memory is gone: any thread may call close() at any time."""

    def __init__(self, pointer: c_void_p) -> None:
        self.pointer = pointer
        self._close = lib.mu_close

    def __del__(self) -> None:
        self._close(self.pointer)


class Keys(Mapping[str, Value]):
    """The metadata of a model as a mapping, in the order of the file. Values are read on access."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        handle = model._live()
        self._entries: Dict[str, Tuple[int, int, int, int]] = {}
        info = MetadataInfo(struct_size=sizeof(MetadataInfo))
        for index in range(lib.mu_metadata_count(handle.pointer)):
            check(lib.mu_metadata_info(handle.pointer, index, byref(info)))
            key = decode(string_at(info.key, info.key_size))
            self._entries.setdefault(key, (index, info.type, info.element_type, info.count))

    def __getitem__(self, key: str) -> Value:
        handle = self._model._live()
        entry = self._entries.get(key)
        if entry is None:
            raise NotFoundError(f"there is no key '{str(key)[:200]}'", "api-not-found")
        index, kind, element, count = entry
        if kind == _ARRAY:
            return _array(handle, index, element, count)
        if kind == _STRING:
            text, size = c_void_p(), c_uint64()
            check(lib.mu_metadata_string(handle.pointer, index, byref(text), byref(size)))
            return decode(string_at(text, size.value))
        if kind in (_F32, _F64):
            real = c_double()
            check(lib.mu_metadata_f64(handle.pointer, index, byref(real)))
            return real.value
        if kind == _BOOL:
            flag = c_int32()
            check(lib.mu_metadata_bool(handle.pointer, index, byref(flag)))
            return flag.value != 0
        if kind == _U64:
            number = c_uint64()
            check(lib.mu_metadata_u64(handle.pointer, index, byref(number)))
            return number.value
        signed = c_int64()
        check(lib.mu_metadata_i64(handle.pointer, index, byref(signed)))
        return signed.value

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Keys: {len(self)}>"


def _array(handle: _Handle, index: int, element: int, count: int) -> Value:
    if element == _STRING:
        return _strings(handle, index)
    if element in (_F32, _F64):
        return _numbers(lib.mu_array_f64, "d", handle, index, count)
    if element == _U64:
        return _numbers(lib.mu_array_u64, "Q", handle, index, count)
    values = _numbers(lib.mu_array_i64, "q", handle, index, count)
    return [value != 0 for value in values] if element == _BOOL else values


# Arrays are read in pieces through a small buffer that stays in the cache, because touching fresh memory costs more
# than copying.
_PIECE = 64 * 1024


def _numbers(read: Any, kind: Literal["d", "q", "Q"], handle: _Handle, index: int, count: int) -> List[Any]:
    """Returns the elements of an array of numbers. A memoryview is several times as fast as reading them through
    ctypes."""
    buffer = ctypes.create_string_buffer(_PIECE)
    numbers = memoryview(buffer).cast("B").cast(kind)
    values: List[Any] = []
    for first in range(0, count, len(numbers)):
        piece = min(count - first, len(numbers))
        check(read(handle.pointer, index, first, piece, buffer))
        values += numbers[:piece].tolist()
    return values


def _strings(handle: _Handle, index: int) -> List[str]:
    buffer, capacity = ctypes.create_string_buffer(_PIECE), _PIECE
    position, count, size = c_uint64(), c_uint64(), c_uint64()
    texts: List[str] = []
    while True:
        status = lib.mu_array_next_strings(
            handle.pointer, index, byref(position), buffer, capacity, byref(count), byref(size)
        )
        if status == BUFFER:
            capacity = size.value
            buffer = ctypes.create_string_buffer(capacity)
            continue
        check(status)
        if count.value == 0:
            return texts
        piece = str(memoryview(buffer)[: size.value - 1], "utf-8", "surrogateescape").split("\0")
        if len(piece) != count.value:  # a text contains a NUL
            return _strings_with_nuls(handle, index)
        texts += piece


def _strings_with_nuls(handle: _Handle, index: int) -> List[str]:
    address, begin, count = c_void_p(), POINTER(c_uint64)(), c_uint64()
    check(lib.mu_array_strings(handle.pointer, index, byref(address), byref(begin), byref(count)))
    data = string_at(address, begin[count.value])
    return [decode(data[begin[i] : begin[i + 1] - 1]) for i in range(count.value)]


class Tensor:
    """A tensor. A weight that MLX packed has its logical shape; its scales and biases are separate tensors."""

    def __init__(self, model: "Model", index: int, info: TensorInfo) -> None:
        self._model = model
        self._index = index
        self.name: str = decode(string_at(info.name, info.name_size))
        self.type: str = info.type_name.decode()
        #: Dimensions in numpy's order: the contiguous one last.
        self.shape: Tuple[int, ...] = tuple(info.dims[i] for i in reversed(range(info.n_dims)))
        self.nbytes: int = info.bytes
        self.size: int = info.elements
        self.rows: int = info.rows
        self.columns: int = info.columns
        self.offset: int = info.offset
        self.file: str = model.files[info.file]
        #: How MLX packed it: "affine", "mxfp4", "nvfp4", "mxfp8"; None if it is not packed.
        self.packing: Optional[str] = _PACKINGS.get(info.packing)
        self.bits: int = info.bits
        self.group_size: int = info.group_size
        self.is_part: bool = bool(info.is_part)

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r}: {self.type} {self.shape}>"

    def read(self, offset: int = 0, size: Optional[int] = None) -> bytes:
        """Returns a copy of `size` stored bytes from `offset` (default: all that follow)."""
        handle = self._model._live()
        offset = operator.index(offset)
        size = self.nbytes - offset if size is None else operator.index(size)
        if not (0 <= offset <= self.nbytes and 0 <= size <= self.nbytes - offset):
            raise RangeError("the requested bytes lie outside the tensor", "api-range", self.file)
        out = ctypes.create_string_buffer(max(1, size))
        check(lib.mu_tensor_read(handle.pointer, self._index, offset, out, size))
        return out.raw[:size]

    def numpy(self, *, mmap: bool = False) -> Any:
        """Returns a copy of the stored numbers as a numpy array. Raises TypeMismatchError for types that numpy lacks
        (BF16, blocks), which need dequantize().

        With mmap=True, returns a read-only view of the file without a copy. If the file is truncated while the array is
        in use, access to the missing part ends the process with SIGBUS."""
        handle = self._model._live()
        kind = _NUMPY_TYPES.get(self.type)
        if kind is None or self.packing is not None:
            stored = f"{self.packing} codes" if self.packing is not None else self.type
            raise TypeMismatchError(f"'{self.name}': numpy has no {stored}; use dequantize()", "api-type", self.file)
        import numpy

        dtype: Any = numpy.dtype((">" if lib.mu_is_big_endian(handle.pointer) else "<") + kind)
        if not mmap:
            array: Any = numpy.empty(self.shape, dtype)
            check(lib.mu_tensor_read(handle.pointer, self._index, 0, array.ctypes.data, array.nbytes))
            return array
        address, size = c_void_p(), c_uint64()
        check(lib.mu_tensor_data(handle.pointer, self._index, byref(address), byref(size)))
        memory = (ctypes.c_char * size.value).from_address(address.value or 0)
        setattr(memory, "_owner", handle)  # the array keeps `memory` alive, and that the mapping
        view = numpy.frombuffer(memory, dtype) if size.value else numpy.empty(0, dtype)
        view = view.reshape(self.shape)
        view.flags.writeable = False
        return view

    def dequantize(self, rows: Union[slice, int, None] = None) -> Any:
        """Returns the values as float32: without `rows` in the tensor's shape, for a slice as [rows, columns], for a
        number as one row. Rows are counted over all dimensions except the last. The result is a numpy array, or a
        memoryview if numpy is missing."""
        handle = self._model._live()
        if rows is None:
            first, count, shape = 0, self.rows, self.shape
        elif isinstance(rows, slice):
            first, last, step = rows.indices(self.rows)
            if step != 1:
                raise ArgumentError("a step between rows is not supported", "api-argument")
            count = max(0, last - first)
            shape = (count, self.columns)
        else:
            rows = operator.index(rows)
            if not -self.rows <= rows < self.rows:
                raise RangeError(f"'{self.name}' has {self.rows} rows", "api-range", self.file)
            first, count, shape = rows % self.rows, 1, (self.columns,)
        values = count * self.columns
        try:
            import numpy
        except ImportError:
            floats = (ctypes.c_float * values)()
            check(lib.mu_tensor_dequantize(handle.pointer, self._index, first, count, floats, values))
            flat = memoryview(floats).cast("B")
            return flat.cast("f", list(shape)) if values and shape else flat.cast("f")
        array: Any = numpy.empty(shape, numpy.float32)
        check(lib.mu_tensor_dequantize(handle.pointer, self._index, first, count, array.ctypes.data, values))
        return array


class Tensors(Mapping[str, Tensor]):
    """The tensors of a model as a mapping, in the order of the files. Also finds tensors by their name in the other
    format: "blk.0.attn_q.weight" works for a directory, too."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self._names: Optional[List[str]] = None

    def _at(self, index: int) -> Tensor:
        handle = self._model._live()
        info = TensorInfo(struct_size=sizeof(TensorInfo))
        check(lib.mu_tensor_info(handle.pointer, index, byref(info)))
        return Tensor(self._model, index, info)

    def __getitem__(self, name: str) -> Tensor:
        index = c_uint64()
        handle = self._model._live()
        check(lib.mu_tensor_find(handle.pointer, c_text(name), byref(index)))
        return self._at(index.value)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        index = c_uint64()
        handle = self._model._live()
        try:
            return bool(lib.mu_tensor_find(handle.pointer, c_text(name), byref(index)) == 0)
        except ArgumentError:
            return False

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self)):
            yield self._at(index).name

    def __len__(self) -> int:
        handle = self._model._live()
        return int(lib.mu_tensor_count(handle.pointer))

    def __repr__(self) -> str:
        return f"<Tensors: {len(self)}>"


class Model:
    """An opened model, returned by open(). May be used from any thread. After close(), or the end of a with statement,
    every call raises ArgumentError; the files are closed after the last running call and the last mapped array."""

    def __init__(self, path: Path) -> None:
        pointer = c_void_p()
        check(lib.mu_open(c_path(path), byref(pointer)))
        handle = _Handle(pointer)
        self._handle: Optional[_Handle] = handle
        self.path: str = os.fsdecode(path)
        #: "gguf", "safetensors", "mlx" …
        self.format: str = lib.mu_format(pointer).decode()
        self.architecture: str = decode(lib.mu_architecture(pointer))
        #: Number of logical elements of all tensors.
        self.parameters: int = lib.mu_parameter_count(pointer)
        self.files: List[str] = [
            os.fsdecode(lib.mu_file_path(pointer, file)) for file in range(lib.mu_file_count(pointer))
        ]
        self.keys = Keys(self)
        self.tensors = Tensors(self)

    def _live(self) -> _Handle:
        handle = self._handle
        if handle is None:
            raise closed()
        return handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        self._handle = None

    def __enter__(self) -> "Model":
        self._live()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def card(self) -> Any:
        """Returns the model's summary and layers: "card/1" of docs/json.md, as dictionaries and lists."""
        handle = self._live()
        text = c_void_p()
        check(lib.mu_card(handle.pointer, byref(text)))
        return read_json(take_text(text))

    def html(
        self, *, vocabulary: bool = False, statistics: bool = False, memory: Union[bool, Mapping[str, Any]] = False
    ) -> str:
        """Returns an HTML page, as written by `gguf-dump --html` and `st-dump --html`: one self-contained document.
        `statistics` reads every tensor. `memory` adds memory over context: True, or a mapping with arguments of
        fit()."""
        from ._fit_request import fit_request

        flags = bool(vocabulary) * 1 + bool(statistics) * 2
        request = None
        if memory is not False:
            flags += 4
            request = pointer(fit_request(**({} if memory is True else memory)))
        handle = self._live()
        text = c_void_p()
        check(lib.mu_page(handle.pointer, flags, request, byref(text)))
        return decode(take_text(text))

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        # The architecture is text from the file: repr() escapes terminal control sequences.
        return f"<Model {self.path!r}: {self.format} {repr(self.architecture)[1:-1]}{state}>"

    def _repr_html_(self) -> str:
        from ._notebook import notebook_html

        return notebook_html(self)


def open(path: Path) -> Model:
    """Opens a GGUF file (with all files of its split set), a safetensors file, an index of shards, a directory of
    those, a PyTorch checkpoint, or an address of one of them (https://, hf://). Reads only headers. Raises
    InputError if the model is broken; verify() reports all errors."""
    return Model(path)


def tokenize(model: Model, text: str, *, add_special: bool = False, parse_special: bool = False) -> List[int]:
    """Tokenises a text as llama.cpp does and returns the ids. `add_special` adds the tokens that begin and end a text,
    `parse_special` recognises control tokens in the text."""
    handle = model._live()
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ArgumentError("the text is not Unicode", "api-argument") from None
    flags = bool(add_special) * 1 + bool(parse_special) * 2
    count = c_uint64()
    capacity = len(data) + 2
    while True:
        ids = (c_uint32 * capacity)()
        status = lib.mu_tokenize(handle.pointer, data, len(data), flags, ids, capacity, byref(count))
        if status == 0:
            return ids[: count.value]
        if status != BUFFER:
            raise last_error()
        capacity = count.value


def detokenize(model: Model, ids: Sequence[int]) -> str:
    """Returns the text of tokens."""
    handle = model._live()
    if any(not 0 <= operator.index(token) < 2**32 for token in ids):
        raise RangeError("an id is not of 32 bits", "api-range", model.path)
    text = c_void_p()
    check(lib.mu_detokenize(handle.pointer, (c_uint32 * max(1, len(ids)))(*ids), len(ids), byref(text)))
    return decode(take_text(text))
