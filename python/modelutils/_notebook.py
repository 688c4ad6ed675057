"""What a notebook shows of a model: its page (docs/html.md), in a frame of its own."""

from html import escape
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from ._model import Model

# A notebook keeps what it has shown, so a model whose page would be of some megabytes is only named.
_MOST_TENSORS = 5000
_STYLE = "width:100%;height:36em;border:1px solid #8886;resize:vertical"


def _page(model: "Model") -> str:
    try:
        return model.html(memory=True)
    except Error:  # a directory that no GGUF can be made of has no memory plan
        return model.html()


def notebook_html(model: "Model") -> str:
    """The line is all that remains where frames are taken out, as in notebooks that are not trusted. The frame may run
    the page's script, but is of no origin: nothing in it reaches the notebook, its server or its tokens."""
    line = f"<code>{escape(repr(model))}</code>"
    if model.closed or len(model.tensors) > _MOST_TENSORS:
        return line
    page = escape(_page(model))
    return f'{line}<iframe title="Model" sandbox="allow-scripts" style="{_STYLE}" srcdoc="{page}"></iframe>'
