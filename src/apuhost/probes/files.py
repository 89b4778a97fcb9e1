"""Several text files in one stream: the sh text that prints them framed, and its reader.

A frame is a line `==> BYTES PATH`, then exactly BYTES bytes, then a newline, so that CRLF, a
missing final newline and text that looks like a frame all survive.
"""

import re
from dataclasses import dataclass

from apuhost.probes import ParseError

_HEADER = re.compile(rb"==> ([0-9]{1,15}) ([^\n]+)\n")
_ENCODING = "utf-8"
_ERRORS = "surrogateescape"


@dataclass(frozen=True)
class TextFile:
    """One file as it is on the host; undecodable bytes are surrogates (PEP 383)."""

    path: str
    text: str


def command(*patterns: str) -> str:
    """Return POSIX sh text that prints each readable regular file matching the glob patterns.

    The patterns come from this program, never from a user: they are put in unquoted, so that
    the shell on the host expands them. Files come in the order of the patterns, then in the
    shell's glob order; a pattern that matches nothing prints nothing.
    """
    return (
        f"for f in {' '.join(patterns)}; do "
        'if [ -f "$f" ] && [ -r "$f" ]; then '
        'printf \'==> %d %s\\n\' "$(($(wc -c <"$f")))" "$f"; cat <"$f"; echo; '
        "fi; done"
    )


def parse_files(text: str) -> tuple[TextFile, ...]:
    """Return the files of a framed stream, in its order.

    Raises:
        ParseError: a frame that does not add up, such as a stream cut in the middle.
    """
    stream = _bytes(text)
    found = []
    position = 0
    while position < len(stream):
        header = _HEADER.match(stream, position)
        if header is None:
            raise ParseError(f"no file frame at byte {position}: the output was cut or mixed")
        start = header.end()
        position = start + int(header[1])
        if stream[position : position + 1] != b"\n":
            raise ParseError(f"{_text(header[2])}: fewer or more bytes than its frame announces")
        found.append(TextFile(_text(header[2]), _text(stream[start:position])))
        position += 1
    return tuple(found)


def frame(files: tuple[TextFile, ...]) -> str:
    """Return the framed stream that `parse_files` reads back to the same files."""
    return "".join(f"==> {len(_bytes(file.text))} {file.path}\n{file.text}\n" for file in files)


def _bytes(text: str) -> bytes:
    try:
        return text.encode(_ENCODING, _ERRORS)
    except UnicodeEncodeError as error:
        raise ParseError("the text holds code points that no file can hold") from error


def _text(raw: bytes) -> str:
    return raw.decode(_ENCODING, _ERRORS)
