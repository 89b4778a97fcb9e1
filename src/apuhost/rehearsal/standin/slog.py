"""Log lines of Go's log/slog text handler as Ollama sets it up: to stderr, with the source.

facts/ollama.md section 2.1. The line number after the source file changes with each release of
Ollama; here it is always 1.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import BinaryIO

_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip
_DELETE = 0x7F
_SHORT, _LONG = 0x100, 0x10000
TRACE, DEBUG, INFO, WARN, ERROR = -8, -4, 0, 4, 8
_NAMES = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO", WARN: "WARN", ERROR: "ERROR"}


def quote(text: str) -> str:
    """A Go string literal, as strconv.Quote writes it."""
    return '"' + "".join(_ESCAPES.get(char) or _printed(char) for char in text) + '"'


def _printed(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < _DELETE + 1:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _LONG else f"\\U{code:08x}"


def value(text: str) -> str:
    """Quoted if empty, or if it holds a blank, `=`, `"`, a control or an unprintable character.

    A backslash alone does not make it quoted.
    """
    plain = text and all(char not in ' ="' and (char.isprintable()) for char in text)
    return text if plain else quote(text)


def moment(now: datetime) -> str:
    """RFC 3339 with milliseconds, `Z` or the offset."""
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(
    now: datetime, level: int, source: str, message: str, attributes: Mapping[str, object]
) -> str:
    """One log line without its newline; attributes in the order given."""
    pairs = {"time": moment(now), "level": _NAMES[level], "source": f"{source}:1", "msg": message}
    pairs |= {key: printed(item) for key, item in attributes.items()}
    return " ".join(f"{value(key)}={value(text)}" for key, text in pairs.items())


def printed(item: object) -> str:
    """A value before quoting, as Go prints it: `true`, `[a b]`, `<nil>`."""
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, (list, tuple)):
        return f"[{' '.join(map(str, item))}]"
    return "<nil>" if item is None else str(item)


class Log:
    """Writes whole lines, also those of child processes, one after the other."""

    def __init__(self, level: int = INFO, stream: BinaryIO | None = None) -> None:
        self._level = level
        self._stream = stream or sys.stderr.buffer
        self._one_at_a_time = threading.Lock()

    def debug(self, message: str, *, at: str, **attributes: object) -> None:
        """Shown with OLLAMA_DEBUG=1."""
        self._write(DEBUG, at, message, attributes)

    def info(self, message: str, *, at: str, **attributes: object) -> None:
        """The usual level."""
        self._write(INFO, at, message, attributes)

    def warn(self, message: str, *, at: str, **attributes: object) -> None:
        """Something was not as asked."""
        self._write(WARN, at, message, attributes)

    def error(self, message: str, *, at: str, **attributes: object) -> None:
        """Something failed."""
        self._write(ERROR, at, message, attributes)

    def raw(self, text: bytes) -> None:
        """A line as a child process wrote it."""
        with self._one_at_a_time:
            self._stream.write(text)
            self._stream.flush()

    def _write(
        self, level: int, source: str, message: str, attributes: Mapping[str, object]
    ) -> None:
        if level >= self._level:
            now = datetime.now().astimezone()
            self.raw(f"{line(now, level, source, message, attributes)}\n".encode())
