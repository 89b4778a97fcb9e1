"""One HTTP answer, status line to last byte: its body, or why there is none (RFC 9112)."""

import re
from collections.abc import Mapping

from apuhost.probes import ParseError

_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[^\r\n]*\r\n")
_OK = 200


def body(answer: str) -> str:
    """Return the body of an answer that is OK and whole; undecodable bytes are surrogates.

    Raises:
        ParseError: no HTTP, another status, fewer bytes than announced, or no UTF-8.
    """
    raw = answer.encode("utf-8", "surrogateescape")
    if not raw:
        raise ParseError("no answer")
    head, whole, content = raw.partition(b"\r\n\r\n")
    status = _STATUS.match(head + b"\r\n")
    if status is None or not whole:
        raise ParseError("what answers does not speak HTTP")
    if int(status[1]) != _OK:
        raise ParseError(f"HTTP {int(status[1])}")
    try:
        return _content(_fields(head), content).decode()
    except UnicodeDecodeError as error:
        raise ParseError("the answer is no UTF-8") from error


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return {name.strip().lower(): value.strip().lower() for name, _, value in lines}


def _content(fields: Mapping[bytes, bytes], content: bytes) -> bytes:
    if fields.get(b"transfer-encoding") == b"chunked":
        return _joined(content)
    announced = fields.get(b"content-length", b"")
    if re.fullmatch(rb"[0-9]{1,18}", announced) and len(content) < int(announced):
        raise ParseError(f"cut after {len(content)} of {int(announced)} bytes")
    return content


def _joined(content: bytes) -> bytes:
    """Return the chunks without their sizes; the last chunk has none."""
    chunks: list[bytes] = []
    position = 0
    while size := _CHUNK.match(content, position):
        start, length = size.end(), int(size[1], 16)
        if length == 0:
            return b"".join(chunks)
        chunks.append(content[start : start + length])
        position = start + length + len(b"\r\n")
    raise ParseError(f"cut after {len(content)} bytes of chunks")
