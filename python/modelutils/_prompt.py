"""Renders a conversation with a model's chat template."""

import json
from collections.abc import Mapping, Sequence
from ctypes import byref, c_void_p
from typing import Any, Optional

from ._errors import ArgumentError, check
from ._library import lib
from ._model import Model
from ._text import c_text, decode, take_text


def render(
    model: Model,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Optional[Sequence[Mapping[str, Any]]] = None,
    documents: Optional[Sequence[Mapping[str, Any]]] = None,
    add_generation_prompt: bool = True,
    template: str = "",
    **variables: Any,
) -> str:
    """Returns the prompt, byte for byte as transformers renders it. `template` is the name of one of several templates;
    any other argument is a variable of the template (`enable_thinking=False`). Values may be anything that JSON can
    represent."""
    conversation = dict(variables, messages=messages, add_generation_prompt=add_generation_prompt)
    if tools is not None:
        conversation["tools"] = tools
    if documents is not None:
        conversation["documents"] = documents
    try:
        data = json.dumps(conversation, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"the conversation cannot be written as JSON: {error}", "api-argument") from None
    handle = model._live()
    text = c_void_p()
    check(lib.mu_render(handle.pointer, data, len(data), c_text(template), byref(text)))
    return decode(take_text(text))
