"""Shows a model in a notebook: its page (docs/html.md) in a frame."""

from html import escape
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from ._model import Model

# A notebook file contains its output, so models whose page would have several megabytes are only named.
_MOST_TENSORS = 5000
_STYLE = "width:100%;height:36em;border:1px solid #8886;resize:vertical"


def _page(model: "Model") -> str:
    try:
        return model.html(memory=True)
    except Error:  # a directory that cannot be converted to GGUF has no memory plan
        return model.html()


def notebook_html(model: "Model") -> str:
    """Returns a line that names the model, and a frame with its page. Only the line remains where frames are removed,
    as in untrusted notebooks. The frame may run the page's script, but has no origin: nothing in it reaches the
    notebook, its server or its tokens."""
    line = f"<code>{escape(repr(model))}</code>"
    if model.closed or len(model.tensors) > _MOST_TENSORS:
        return line
    page = escape(_page(model))
    return f'{line}<iframe title="Model" sandbox="allow-scripts" style="{_STYLE}" srcdoc="{page}"></iframe>'
