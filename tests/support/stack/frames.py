"""Files and answers as probes frame them."""

import hashlib
import json
from collections.abc import Mapping

from apuhost import roles
from apuhost.probes.files import TextFile, frame


def framed(files: Mapping[str, str]) -> str:
    """Files as a probe frames them."""
    return frame(tuple(TextFile(path, text) for path, text in files.items()))


def rendered(role: str, path: str, values: Mapping[str, object]) -> str:
    """A file of a role, from these variables and the role's defaults."""
    return roles.render(role, path, {**roles.defaults(role), **values})


def reply(value: object, status: str = "200 OK") -> str:
    """An HTTP answer as Go's server gives it."""
    text = json.dumps(value)
    head = f"HTTP/1.0 {status}\r\nContent-Type: application/json; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n{text}"


def sha256(text: str) -> str:
    """The hex digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
