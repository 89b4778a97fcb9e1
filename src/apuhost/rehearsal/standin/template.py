"""The little of Go's text/template that the tiny models' templates use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_IF = re.compile(r"\{\{-? ?if \.(\w+) ?-?\}\}(.*?)\{\{-? ?end ?-?\}\}", re.DOTALL)
_VALUE = re.compile(r"\{\{-? ?\.(\w+) ?-?\}\}")

Message = Mapping[str, object]


def render(template: str, values: Mapping[str, str]) -> str:
    """`{{ if .System }}…{{ end }}` and `{{ .Prompt }}`; an unknown name is empty."""
    chosen = _IF.sub(lambda match: match[2] if values.get(match[1]) else "", template)
    return _VALUE.sub(lambda match: values.get(match[1], ""), chosen)


def conversation(template: str, messages: Sequence[Message], system: str) -> str:
    """A chat as one prompt: the template once for each question, answers in between."""
    prompt, said = "", system
    for message in messages:
        content = str(message.get("content", ""))
        if message.get("role") == "system":
            said = content
        elif message.get("role") == "assistant":
            prompt += f"{content}\n"
        else:
            prompt += render(template, {"System": said, "Prompt": content})
            said = ""
    return prompt
