"""What a notebook shows of a model: the card, the grid of layers, a bar of memory. All text of the file is escaped."""

from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ._errors import Error

if TYPE_CHECKING:
    from ._model import Model

# What is shown of it is bounded, whatever is in the file.
_MOST_ROWS = 100
_MOST_ROLES = 64
_MOST_TEXT = 200
_COLORS = ("#4c78a8", "#f58518", "#54a24b")


def _text(value: Any) -> str:
    text = str(value)
    text = text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + "…"
    shown = (c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
    return escape("".join(shown), quote=True)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _card(card: Dict[str, Any]) -> str:
    def number(name: str) -> Optional[str]:
        return None if card[name] is None else f"{card[name]:,}"

    def span(name: str) -> Optional[str]:
        if card[name] is None:
            return None
        low, high = card[name]
        return str(low) if low == high else f"{low}–{high}"

    bits = card["bits_per_weight"]
    rows: List[Tuple[str, Optional[str]]] = [
        ("format", card["kind"]),
        ("architecture", card["architecture"]),
        ("mix", card["mix"]),
        ("parameters", number("parameters")),
        ("bits per weight", f"{bits:.2f}" if isinstance(bits, float) else None),
        ("file size", None if card["file_size"] is None else _size(card["file_size"])),
        ("layers", number("layers")),
        ("context", number("context")),
        ("embedding", number("embedding")),
        ("heads", span("heads")),
        ("KV heads", span("heads_kv")),
        ("vocabulary", number("vocabulary")),
        ("experts", number("experts")),
        ("tensors", number("tensors")),
        ("types", ", ".join(f"{total['name']} × {total['tensors']}" for total in card["types"][:_MOST_ROLES])),
    ]
    lines = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows if value)
    return f"<b>{_text(card['name'] or card['path'])}</b><table>{lines}</table>"


def _layers(layers: List[int]) -> str:
    pieces: List[str] = []
    begin = 0
    for i in range(1, len(layers) + 1):
        if i == len(layers) or layers[i] != layers[i - 1] + 1:
            last = layers[i - 1]
            pieces.append(str(last) if begin == i - 1 else f"{layers[begin]}–{last}")
            begin = i
    return ", ".join(pieces)


def _grid(stack: Dict[str, Any]) -> str:
    roles = stack["roles"][:_MOST_ROLES]
    heads = "".join(f"<th>{_text(role[:-7] if role.endswith('.weight') else role)}</th>" for role in roles)
    lines = []
    for row in stack["rows"][:_MOST_ROWS]:
        cells = {role: kind for role, kind in row["cells"]}
        types = "".join(f"<td>{_text(cells.get(role, ''))}</td>" for role in range(len(roles)))
        lines.append(f"<tr><th>{_text(_layers(row['layers']))}</th>{types}</tr>")
    return f"<table><caption>{_text(stack['prefix'])}</caption><tr><th></th>{heads}</tr>{''.join(lines)}</table>"


def _memory(model: "Model") -> str:
    from ._reports import fit

    try:
        need = fit(model).contexts[0]
    except Error:
        return ""
    weights = need["weights"]["gpu_bytes"] + need["weights"]["host_bytes"]
    if need["n_ctx"] is None or need["total"]["gpu_bytes"] is None:
        return ""
    caches = sum(need[name] for name in ("k_bytes", "v_bytes", "r_bytes", "s_bytes"))
    compute = need["compute"]["gpu_bytes"] + need["compute"]["host_bytes"]
    parts = (("weights", weights), ("cache", caches), ("compute", compute))
    total = max(1, sum(size for _, size in parts))
    bars = "".join(
        f'<div style="width:{100 * size / total:.2f}%;background:{color}" title="{name}: {_size(size)}"></div>'
        for (name, size), color in zip(parts, _COLORS)
    )
    legend = ", ".join(f"{name} {_size(size)}" for name, size in parts)
    return (
        f"<div>memory at a context of {need['n_ctx']:,}: {legend}</div>"
        f'<div style="display:flex;height:1em;width:100%">{bars}</div>'
    )


def model_html(model: "Model") -> str:
    """The card, the grid and the bar of an opened model; of a closed one its name."""
    if model.closed:
        return f"<code>{_text(repr(model))}</code>"
    card = model.card()
    grids = "".join(_grid(stack) for stack in card["stacks"][:_MOST_ROLES])
    return f"<div>{_card(card)}{_memory(model)}{grids}</div>"
