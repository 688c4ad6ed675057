"""verify(), fit() and diff(): the JSON output of verify, --fit and model-diff as objects."""

from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_void_p, pointer
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union, overload

from ._errors import check
from ._fit_request import fit_request
from ._library import lib
from ._model import Model
from ._model import open as open_model
from ._text import Path, c_path, read_json, take_text


class Record(Mapping[str, Any]):
    """A JSON object (docs/json.md), whose members are available as items and as attributes."""

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
    """A finding of verify; `code` is described in docs/findings.md."""

    severity: str
    code: str
    file: str
    offset: Optional[int]
    where: str
    message: str


class Verification(Sequence[Finding]):
    """The findings of a call of verify(), and the reports they come from (one per model)."""

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
    """Checks the model at `path`, or all models in and below a directory. Findings raise no exception; a path that
    cannot be opened, or whose format is unknown, raises InputError. `data` also reads every tensor."""
    text = c_void_p()
    check(lib.mu_verify(c_path(path), data * 1 + ignore_index * 2 + authentic * 4, byref(text)))
    return Verification([Record(read_json(line)) for line in take_text(text).splitlines() if line])


def diff(a: Path, b: Path, *, data: bool = False, layout: bool = False) -> Record:
    """Returns the differences between two models ("model-diff/1"). `data` also compares values."""
    text = c_void_p()
    check(lib.mu_diff(c_path(a), c_path(b), data * 1 + layout * 2, byref(text)))
    return Record(read_json(take_text(text)))


class Fit(Record):
    """A memory plan ("fit/1"). `fits` and `alternatives` are those of the first context; `contexts` has all."""

    @property
    def fits(self) -> Optional[bool]:
        fits: Optional[bool] = self.contexts[0].fits
        return fits

    @property
    def alternatives(self) -> List[Record]:
        alternatives: List[Record] = self.contexts[0].alternatives
        return alternatives


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
    """Returns whether a model fits into memory, and alternatives if not. Memory is in bytes, or a text such as "24G"
    (24 × 1024³ bytes); without any, `fits` is not decided. `kv` is the type of the cache, or a pair of types for
    keys and values."""
    request = fit_request(
        context=context,
        gpu=gpu,
        ram=ram,
        memory=memory,
        margin=margin,
        kv=kv,
        sequences=sequences,
        batch=batch,
        ubatch=ubatch,
        unified=unified,
        flash_attention=flash_attention,
        swa_full=swa_full,
    )
    opened = model if isinstance(model, Model) else open_model(model)
    text = c_void_p()
    handle = opened._live()
    check(lib.mu_fit(handle.pointer, pointer(request), byref(text)))
    return Fit(read_json(take_text(text)))
