"""`apuhost parse KIND`: what a probe reads in a text, as JSON (docs/parse.md has the kinds)."""

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from apuhost.errors import ApuhostError
from apuhost.probes import (
    ParseError,
    cmdline,
    docker_info,
    grub,
    grub_cfg,
    kernel_log,
    modprobe,
    ollama_final,
    ollama_log,
    ollama_ps,
    prefix_cache,
    runners,
)
from apuhost.probes.files import TextFile, frame
from apuhost.round_trip import PROBES

FRAME = "==> "
MOST_BYTES = 64 * 1024 * 1024
_MOST_OF_A_LINE = 64 * 1024

Reader = Callable[[str], object]


class ParseFailure(ApuhostError):
    """The text is not of its kind."""

    exit_status = 1


def run(kind: str, file: str) -> int:
    """Print one JSON document for a file, or for standard input."""
    if kind not in READERS:
        raise ApuhostError(f"parse knows no kind {kind}; there are: {', '.join(sorted(READERS))}")
    try:
        with _opened(file) as opened:
            document = LOGS[kind](_lines(opened)) if kind in LOGS else _read(kind, _text(opened))
    except ParseError as error:
        raise ParseFailure(f"not {kind}: {error}") from error
    except OSError as error:
        raise ApuhostError(f"{file}: {error.strerror}") from error
    # Piece by piece: a long log's document is not in memory a second time, as text.
    for piece in json.JSONEncoder(indent=2, ensure_ascii=False, default=_plain).iterencode(
        document
    ):
        print(piece, end="")
    print()
    return 0


def _read(kind: str, text: str) -> object:
    document = READERS[kind](text)
    if text.strip() and _is_foreign(kind, text, document):
        raise ParseError(f"{WITHOUT[kind]} in it")
    return document


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file != "-":
        return _file(Path(file))
    if sys.stdin is None:
        raise ApuhostError("standard input is closed: give a FILE")
    return nullcontext(sys.stdin.buffer)


def _file(path: Path) -> BinaryIO:
    # A pipe that nobody writes to would be waited for; the shell's own <(...) has its writer.
    if path.exists() and not (path.is_file() or path.is_relative_to("/dev/fd")):
        raise ApuhostError(f"{path}: not a plain file (a pipe goes to standard input: ... | -)")
    return path.open("rb")


def _text(opened: BinaryIO) -> str:
    raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ApuhostError(f"{opened.name}: more than {MOST_BYTES >> 20} MiB")
    return raw.decode("utf-8", errors="replace")


def _lines(opened: BinaryIO) -> Iterator[str]:
    """Yield a log's lines in constant memory; of a line that is too long, its beginning."""
    rest = False
    while raw := opened.readline(_MOST_OF_A_LINE):
        if not rest:
            yield raw.decode("utf-8", errors="replace").rstrip("\n")
        rest = not raw.endswith(b"\n")


def _framed(path: str, text: str) -> str:
    """One file's plain text as the probe frames it; framed text, as facts save it, stays."""
    return text if text.startswith(FRAME) or not text else frame((TextFile(path, text),))


def _one_file(text: str) -> grub.GrubDefaults:
    if text.startswith(FRAME):
        raise ParseError("these are several framed files: give the text of one")
    return grub.defaults(text)


# Probes whose text is of our own making, and means nothing to who has not read the probe.
_INNER = frozenset(
    {"accounts", "apt_sources", "compose", "container_packages", "containers", "dmi_memory"}
    | {"docker", "firewall"}
    | {"gpu_firmware", "kernel_log", "model_store", "nodes", "ollama_api", "packages", "runners"}
    | {"units"}
)

READERS: Mapping[str, Reader] = {
    **{
        name.replace("_", "-"): module.parse
        for name, module in PROBES.items()
        if name not in _INNER
    },
    # One file's text, not the framed files of the probe; fields as the contract names them.
    "grub-cfg": lambda text: grub_cfg.parse(_framed("/boot/grub/grub.cfg", text)),
    "modprobe": lambda text: modprobe.parse(_framed("/etc/modprobe.d/file.conf", text)),
    "cmdline": lambda text: cmdline.document(cmdline.parse(text)),
    "grub": _one_file,
    "dmesg": kernel_log.parse,
    "docker-info": docker_info.parse,
    "ollama-final": ollama_final.parse,
    "ollama-ps": lambda text: ollama_ps.parse(text, datetime.now(UTC)),
    # Command lines as people paste them; the probe's are framed with their environment.
    "runner-cmd": runners.parse,
    # Lines of the runners in the container's whole log; the probe's keeps what a start says.
    "prefix-cache": prefix_cache.parse,
}

LOGS: Mapping[str, Callable[[Iterable[str]], object]] = {
    "dmesg": kernel_log.read,
    "ollama-log": ollama_log.read,
    "prefix-cache": prefix_cache.read,
}
"""Kinds whose text may be of any length: they are read line by line."""

WITHOUT: Mapping[str, str] = {
    "disk": "no line of `df -P -B1`",
    "grub": "no GRUB_ variable",
    "grub-cfg": "no command of a boot menu",
    "loader": "no line of the probe's",
    "machine": "no line of the probe's",
    "modprobe": "no line of a modprobe.d file",
    "modules": "no `loaded`, `known` or `live` line",
    "os-release": "no ID, NAME or VERSION_ID",
}
"""Kinds whose parser passes over what it does not know, and what a foreign text then lacks."""

# Files may say much that is not read here, or nothing but comments.
_SIGNS: Mapping[str, re.Pattern[str]] = {
    "grub": re.compile(r"GRUB|^[ \t]*(?:\.|source)[ \t]", re.MULTILINE),
    "grub-cfg": re.compile(
        r"^[ \t]*(?:menuentry|submenu|set|load_env|insmod|search|configfile|linux)\b", re.MULTILINE
    ),
    "modprobe": re.compile(
        r"^[ \t]*(?:alias|blacklist|install|options|remove|softdep|weakdep)\b", re.MULTILINE
    ),
}
_SAYS_NOTHING = re.compile(rf"[ \t\r]*(?:#.*|{FRAME}.*)?")


def _is_foreign(kind: str, text: str, document: object) -> bool:
    """Whether a text was read without an error only because nothing of its kind is in it."""
    if sign := _SIGNS.get(kind):
        silent = all(_SAYS_NOTHING.fullmatch(line) for line in text.split("\n"))
        return not silent and sign.search(text) is None
    return kind in WITHOUT and document == READERS[kind]("")


def _plain(value: object) -> object:
    """One record, set or mapping as JSON knows it; sets in a fixed order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not told in JSON")
