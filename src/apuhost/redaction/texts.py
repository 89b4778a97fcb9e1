"""A probe's text with another text in the place of some words; what counts bytes still adds up."""

import re
from collections.abc import Callable

from apuhost.probes import ParseError, files, http_reply
from apuhost.probes.files import TextFile

_FRAME = re.compile(r"^==> [0-9]+ ", re.MULTILINE)


def reading_with(text: str, mask: Callable[[str], str]) -> str:
    """Return the text masked: lines, then perhaps framed files, as a probe prints them."""
    frame = _FRAME.search(text)
    if frame is None:
        return mask(text)
    try:
        found = files.parse_files(text[frame.start() :])
    except ParseError:  # cut, and as unreadable afterwards
        return mask(text)
    masked = (TextFile(mask(file.path), _file(file.text, mask)) for file in found)
    return mask(text[: frame.start()]) + files.frame(tuple(masked))


def frames(text: str) -> tuple[str, ...]:
    """Return the texts of the framed files; none where they do not add up."""
    frame = _FRAME.search(text)
    try:
        found = files.parse_files(text[frame.start() :]) if frame else ()
    except ParseError:
        return ()
    return tuple(file.text for file in found)


def _file(text: str, mask: Callable[[str], str]) -> str:
    """A file's text; of an HTTP answer that is whole the head announces the new body."""
    try:
        body = mask(http_reply.body(text))
    except ParseError:
        return mask(text)
    size = len(body.encode("utf-8", "surrogateescape"))
    return f"HTTP/1.0 200 OK\r\nContent-Length: {size}\r\n\r\n{body}"
