"""`apuhost parse KIND`: what a probe reads in a text, as JSON (docs/parse.md has the kinds)."""

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from apuhost.errors import ApuhostError
from apuhost.host_facts import PROBES
from apuhost.probes import ParseError, cmdline, grub, grub_cfg, modprobe
from apuhost.probes.files import TextFile, frame

FRAME = "==> "

Reader = Callable[[str], object]


class ParseFailure(ApuhostError):
    """The text is not of its kind."""

    exit_status = 1


def run(kind: str, file: str) -> int:
    """Print one JSON document for a file, or for standard input."""
    reader = READERS.get(kind)
    if reader is None:
        raise ApuhostError(f"parse knows no kind {kind}; there are: {', '.join(sorted(READERS))}")
    try:
        document = reader(_text(file))
    except ParseError as error:
        raise ParseFailure(f"not {kind}: {error}") from error
    print(json.dumps(_plain(document), indent=2, ensure_ascii=False))
    return 0


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise ApuhostError(f"{file}: {error.strerror}") from error
    return raw.decode("utf-8", errors="replace")


def _framed(path: str, text: str) -> str:
    """One file's plain text as the probe frames it; framed text, as facts save it, stays."""
    return text if text.startswith(FRAME) or not text else frame((TextFile(path, text),))


def _one_file(text: str) -> grub.GrubDefaults:
    if text.startswith(FRAME):
        raise ParseError("these are several framed files: give the text of one")
    return grub.defaults(text)


READERS: Mapping[str, Reader] = {
    **{name.replace("_", "-"): module.parse for name, module in PROBES.items()},
    # One file's text, not the framed files of the probe; fields as the contract names them.
    "grub-cfg": lambda text: grub_cfg.parse(_framed("/boot/grub/grub.cfg", text)),
    "modprobe": lambda text: modprobe.parse(_framed("/etc/modprobe.d/file.conf", text)),
    "cmdline": lambda text: cmdline.document(cmdline.parse(text)),
    "grub": _one_file,
}


def _plain(value: object) -> object:
    """Records, sets and mappings as JSON knows them; sets in a fixed order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
