"""verify, fit and diff: what the tools of these names print with --json, as objects."""

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_uint64, c_void_p, pointer, sizeof
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union, overload

from ._errors import ArgumentError, check
from ._library import NONE, FitRequest, lib
from ._model import Model
from ._model import open as open_model
from ._text import Path, c_path, read_json, take_text


class Record(Mapping[str, Any]):
    """An object of JSON (docs/json.md): its members are items and attributes."""

    def __init__(self, members: Dict[str, Any]) -> None:
        self._members = members

    def __getitem__(self, name: str) -> Any:
        return _record(self._members[name])

    def __getattr__(self, name: str) -> Any:
        if name == "_members" or name not in self._members:
            raise AttributeError(f"there is no member '{name}'")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._members})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._members!r})"


def _record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_record(element) for element in value]
    return value


@dataclass(frozen=True)
class Finding:
    """One thing that verify found; `code` is described in docs/findings.md."""

    severity: str
    code: str
    file: str
    offset: Optional[int]
    where: str
    message: str


class Verification(Sequence[Finding]):
    """The findings of one call of verify(), and the reports that they are from (one for each model)."""

    def __init__(self, reports: List[Record]) -> None:
        self.reports = reports
        self._findings = [
            Finding(
                finding["severity"],
                finding["code"],
                finding.get("file") or report["path"],
                finding.get("offset"),
                finding.get("where") or "",
                finding["message"],
            )
            for report in reports
            for finding in report["findings"]
        ]

    @property
    def errors(self) -> int:
        return sum(int(report["errors"]) for report in self.reports)

    @property
    def warnings(self) -> int:
        return sum(int(report["warnings"]) for report in self.reports)

    @property
    def ok(self) -> bool:
        return self.errors == 0

    @overload
    def __getitem__(self, index: int) -> Finding: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Finding, Sequence[Finding]]:
        return self._findings[index]

    def __len__(self) -> int:
        return len(self._findings)

    def __repr__(self) -> str:
        return f"<Verification: {self.errors} errors, {self.warnings} warnings>"


def verify(path: Path, *, data: bool = False, ignore_index: bool = False, authentic: bool = False) -> Verification:
    """Checks the model at `path`, or those in and below a directory. Findings are no exceptions; a path that cannot be
    opened, or is of no known format, is an InputError. `data` also reads every tensor."""
    text = c_void_p()
    check(lib.mu_verify(c_path(path), data * 1 + ignore_index * 2 + authentic * 4, byref(text)))
    return Verification([Record(read_json(line)) for line in take_text(text).splitlines() if line])


def diff(a: Path, b: Path, *, data: bool = False, layout: bool = False) -> Record:
    """What differs between the models at two paths ("model-diff/1"). `data` compares the values, too."""
    text = c_void_p()
    check(lib.mu_diff(c_path(a), c_path(b), data * 1 + layout * 2, byref(text)))
    return Record(read_json(take_text(text)))


class Fit(Record):
    """"fit/1". `fits` and `alternatives` are those of the first context; `contexts` has all."""

    @property
    def fits(self) -> Optional[bool]:
        fits: Optional[bool] = self.contexts[0].fits
        return fits

    @property
    def alternatives(self) -> List[Record]:
        alternatives: List[Record] = self.contexts[0].alternatives
        return alternatives


_units = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
# Types that a cache may have, by MU_TYPE_….
_cache_types = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}


def _memory(name: str, size: Union[int, str, None], unset: int = 0) -> int:
    """Bytes: a number, or a text such as "24G", "24GB" or "24GiB", which are all 1024³."""
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


def fit(
    model: Union[Model, Path],
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
) -> Fit:
    """Whether a model fits, and what else would. Memory in bytes, or as "24G" (1024³); without any, nothing is judged.
    `kv` is the type of the cache, or those of its keys and values."""
    numbers = [] if context is None else [context] if isinstance(context, int) else list(context)
    contexts = (c_uint64 * max(1, len(numbers)))(*(_number("context", number) for number in numbers))
    k_type, v_type = (kv, kv) if isinstance(kv, str) else kv
    request = FitRequest(
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
    opened = model if isinstance(model, Model) else open_model(model)
    text = c_void_p()
    handle = opened._live()
    check(lib.mu_fit(handle.pointer, pointer(request), byref(text)))
    return Fit(read_json(take_text(text)))
