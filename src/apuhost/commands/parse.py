"""`apuhost parse KIND`: what a probe reads in a text, as JSON (docs/parse.md has the kinds)."""

import dataclasses
import json
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from apuhost.commands.kinds import LOGS, OF_FACTS, READERS, read
from apuhost.errors import ApuhostError
from apuhost.nearest import hint
from apuhost.probes import ParseError
from apuhost.report import visible_json

MOST_BYTES = 64 * 1024 * 1024
_MOST_OF_A_LINE = 64 * 1024


class ParseFailure(ApuhostError):
    """The text is not of its kind."""

    exit_status = 1


def run(kind: str, file: str) -> int:
    """Print one JSON document for a file, or for standard input."""
    if kind not in READERS:
        raise ApuhostError(_no_kind(kind, file))
    try:
        with _opened(file) as opened:
            document = LOGS[kind](_lines(opened)) if kind in LOGS else read(kind, _text(opened))
    except ParseError as error:
        raise ParseFailure(f"not {kind}: {error}") from error
    except OSError as error:
        raise ApuhostError(f"{file}: {error.strerror}") from error
    # Piece by piece: a long log's document is not in memory a second time, as text.
    for piece in json.JSONEncoder(indent=2, ensure_ascii=False, default=_plain).iterencode(
        document
    ):
        print(visible_json(piece), end="")
    print()
    return 0


def _no_kind(word: str, file: str) -> str:
    if file in READERS:
        return f"the kind comes first: apuhost parse {file} {shlex.quote(word)}"
    name = Path(word).stem
    near = f" ({OF_FACTS[name]}?)" if name in OF_FACTS else hint(word, READERS)
    return (
        f"parse knows no kind {word or repr(word)}{near}; there are: {', '.join(sorted(READERS))}"
    )


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


class _Streamed(list[object]):
    """What JSON's encoder takes for a list, and asks for one item after the other."""

    def __init__(self, items: Collection[object]) -> None:
        super().__init__()
        self._items = items

    def __iter__(self) -> Iterator[object]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def _plain(value: object) -> object:
    """One record, set, mapping or collection as JSON knows it; sets in a fixed order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Collection):
        return _Streamed(value)
    raise TypeError(f"{type(value).__name__} is not told in JSON")
