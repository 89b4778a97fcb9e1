"""Ollama's environment variables, each read by its type, bad values included.

facts/ollama.md section 1: a bool that is no bool means TRUE, a number that is none means the
default and a warning, a duration that is none means the default in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import durations
from .durations import FOREVER, MINUTE, SECOND

Environ = Mapping[str, str]

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_DEFAULT_PORT = "11434"
_HIGHEST_PORT = 65535
NUMBERS = {
    "OLLAMA_CONTEXT_LENGTH": 0, "OLLAMA_NUM_PARALLEL": 1, "OLLAMA_MAX_LOADED_MODELS": 0,
    "OLLAMA_MAX_QUEUE": 512, "OLLAMA_MAX_TRANSFER_STREAMS": 4, "OLLAMA_GPU_OVERHEAD": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Host:
    """What OLLAMA_HOST means; `bad_port` is the port that was not taken, for the warning."""

    scheme: str
    host: str
    port: str
    path: str
    bad_port: str | None = None
    default_port: str = _DEFAULT_PORT

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = f"/{self.path}" if self.path else ""
        return f"{self.scheme}://{host}:{self.port}{path}"


def variable(environ: Environ, name: str) -> str:
    """Without white space, then without quotes, at both ends; empty means unset."""
    return environ.get(name, "").strip().strip("\"'")


def boolean(environ: Environ, name: str) -> bool | None:
    """None when unset. ANY text that is no bool is true: `off`, `no` and `disabled` enable."""
    value = variable(environ, name)
    return (value not in _FALSE) if value else None


def number(environ: Environ, name: str) -> int:
    """A decimal number without a sign (64 bits), else the variable's default."""
    value = variable(environ, name)
    return int(value) if _is_number(value) else NUMBERS[name]


def bad_numbers(environ: Environ) -> list[tuple[str, str, int]]:
    """Name, value and default of each number that is none: Ollama warns of these."""
    return [
        (name, value, default)
        for name, default in NUMBERS.items()
        if (value := variable(environ, name)) and not _is_number(value)
    ]


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and int(value) < 2**64


def _duration(environ: Environ, name: str, default: int) -> int:
    value = variable(environ, name)
    parsed = durations.parse(value) if value else default
    if parsed is None:
        seconds = value.removeprefix("-").removeprefix("+")
        whole = seconds.isascii() and seconds.isdigit()
        parsed = int(value) * SECOND if whole else default
    return parsed


def keep_alive(environ: Environ) -> int:
    """Nanoseconds; negative is forever, and `-1` only because it is read as whole seconds."""
    value = _duration(environ, "OLLAMA_KEEP_ALIVE", 5 * MINUTE)
    return FOREVER if value < 0 else value


def load_timeout(environ: Environ) -> int:
    """Nanoseconds without any output of a loading model after which it is given up."""
    value = _duration(environ, "OLLAMA_LOAD_TIMEOUT", 5 * MINUTE)
    return FOREVER if value <= 0 else value


def models(environ: Environ) -> Path:
    """The model store."""
    chosen = variable(environ, "OLLAMA_MODELS")
    return Path(chosen) if chosen else home(environ) / ".ollama" / "models"


def home(environ: Environ) -> Path:
    """The folder under which `.ollama` is."""
    return Path(environ.get("HOME") or "/")


def debug_level(environ: Environ) -> int:
    """0 for INFO, 1 for DEBUG, 2 for TRACE; what is neither bool nor number is INFO."""
    value = variable(environ, "OLLAMA_DEBUG")
    if value in _TRUE:
        return 1
    return int(value) if _is_number(value) else 0


def host(environ: Environ) -> Host:
    """`0.0.0.0`, `:8080`, `http://h` (port 80), `[::1]:1` and so on."""
    value = variable(environ, "OLLAMA_HOST").strip()
    scheme, divider, rest = value.partition("://")
    if not divider:
        scheme, rest = "http", value
    default = {"http": "80", "https": "443"}.get(scheme, _DEFAULT_PORT)
    if not divider:
        default = _DEFAULT_PORT
    address, _, path = rest.partition("/")
    name, port = _split(address, default)
    if not _is_number(port) or int(port) > _HIGHEST_PORT:
        return Host(scheme, name, default, path, bad_port=port, default_port=default)
    return Host(scheme, name, port, path)


def _split(address: str, default: str) -> tuple[str, str]:
    name, colon, port = address.rpartition(":")
    if colon and (":" not in name or (name.startswith("[") and name.endswith("]"))):
        return name.strip("[]"), port
    return address.strip("[]") or "127.0.0.1", default
