"""A file comes into the cache once, whole and right, or is refused in one line."""

import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.support.answers import answer, whole

from apuhost import web
from apuhost.bundle.cache import fetch
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Blob

CONTENT = bytes(range(256)) * 20
HEX = hashlib.sha256(CONTENT).hexdigest()
URL = "https://files.example/pool/a.deb"
ITEM = Item("apt/pool/a.deb", Blob(f"sha256:{HEX}", len(CONTENT)), URL)
HALF = len(CONTENT) // 2

Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every wait between tries; none is waited for."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


class Server:
    """Answers one request after the other; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = answers
        self.ranges: list[str] = []
        self.get = web.getter(web.client(httpx.MockTransport(self._answer)))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.ranges.append(request.headers.get("Range", ""))
        return self._answers[min(len(self.ranges), len(self._answers)) - 1](request)


def good(request: httpx.Request) -> httpx.Response:
    """As a server does that knows ranges."""
    if "Range" not in request.headers:
        return whole(CONTENT)
    start = int(request.headers["Range"][6:-1])
    told = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
    return answer(206, CONTENT[start:], Content_Range=told)


def without_ranges(_: httpx.Request) -> httpx.Response:
    return whole(CONTENT)


def cut(request: httpx.Request) -> httpx.Response:
    """The connection breaks after the first half."""

    def pieces() -> Iterator[bytes]:
        yield CONTENT[:HALF]
        raise httpx.ReadError("connection reset")

    return answer(200, pieces(), Content_Length=str(len(CONTENT)))


def says(status: int, body: bytes = b"", **headers: str) -> Answer:
    return lambda _: answer(status, body, **headers)


def left(cache: Path, content: bytes) -> Path:
    """The part of a run that was killed."""
    part = cache / "sha256" / f"{HEX}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


def refused(cache: Path, *answers: Answer) -> str:
    """The one line, nothing in the cache."""
    with pytest.raises(BundleError) as caught:
        fetch(cache, ITEM, Server(*answers).get)
    assert not (cache / "sha256" / HEX).exists()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{URL}: ")
    return str(caught.value)


def test_a_file_is_fetched_once_and_lies_under_its_hash(tmp_path: Path) -> None:
    server = Server(good)
    for _ in range(2):
        assert fetch(tmp_path, ITEM, server.get) == tmp_path / "sha256" / HEX
    assert server.ranges == [""]
    assert [path.name for path in (tmp_path / "sha256").iterdir()] == [HEX]
    assert (tmp_path / "sha256" / HEX).read_bytes() == CONTENT
    assert (tmp_path / "sha256" / HEX).stat().st_mode & 0o777 == 0o644


def test_a_blob_of_another_size_is_fetched_anew(tmp_path: Path) -> None:
    left(tmp_path, b"").with_suffix("").write_bytes(CONTENT[:-1])
    assert fetch(tmp_path, ITEM, Server(good).get).read_bytes() == CONTENT


def test_an_empty_file_needs_no_server(tmp_path: Path) -> None:
    server = Server(says(500))
    empty = Item("x", Blob(f"sha256:{hashlib.sha256(b'').hexdigest()}", 0), URL)
    assert fetch(tmp_path, empty, server.get).read_bytes() == b""
    assert server.ranges == []


def test_what_nobody_wrote_to_since_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = fetch(tmp_path, ITEM, Server(good).get)
    blob.touch()  # as a cache that was copied: hashed once more
    fetch(tmp_path, ITEM, Server(good).get)
    monkeypatch.setattr("apuhost.bundle.cache.hashlib.file_digest", None)
    server = Server(good)
    assert fetch(tmp_path, ITEM, server.get) == blob
    assert server.ranges == []


def test_what_was_changed_here_since_is_fetched_anew(tmp_path: Path) -> None:
    """A bundle on the same disk is linked to the cache, and somebody wrote into it."""
    blob = fetch(tmp_path, ITEM, Server(good).get)
    (tmp_path / "bundle.deb").hardlink_to(blob)
    (tmp_path / "bundle.deb").write_bytes(CONTENT[::-1])
    told: list[int] = []
    assert fetch(tmp_path, ITEM, Server(good).get, told.append).read_bytes() == CONTENT
    assert sum(told) == len(CONTENT)
    assert (tmp_path / "bundle.deb").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize(
    ("part", "answers", "ranges"),
    [
        pytest.param(CONTENT[:HALF], [good], [f"bytes={HALF}-"], id="a killed run's"),
        pytest.param(CONTENT, [good], [], id="all but its name"),
        pytest.param(CONTENT + b"x", [good], [""], id="too long"),
        pytest.param(b"y" * HALF, [good], [f"bytes={HALF}-", ""], id="rotten"),
        pytest.param(CONTENT[:HALF], [without_ranges], [f"bytes={HALF}-"], id="no ranges"),
        pytest.param(CONTENT[:HALF], [says(416), good], [f"bytes={HALF}-", ""], id="range refused"),
        pytest.param(
            CONTENT[:HALF],
            [says(206, b"x", Content_Range="bytes 0-0/9"), good],
            [f"bytes={HALF}-", ""],
            id="another range",
        ),
        pytest.param(b"", [cut, good], ["", f"bytes={HALF}-"], id="a cut"),
        pytest.param(
            b"",
            [says(200, CONTENT[:HALF]), good],
            ["", f"bytes={HALF}-"],
            id="an end without a word",
        ),
    ],
)
def test_what_is_here_already_is_gone_on_with(
    tmp_path: Path, part: bytes, answers: list[Answer], ranges: list[str]
) -> None:
    left(tmp_path, part)
    server, heard = Server(*answers), list[int]()
    assert fetch(tmp_path, ITEM, server.get, heard.append).read_bytes() == CONTENT
    assert server.ranges == ranges
    assert sum(heard) == len(CONTENT)


def test_progress_of_a_file_that_is_here(tmp_path: Path) -> None:
    fetch(tmp_path, ITEM, Server(good).get)
    heard: list[int] = []
    fetch(tmp_path, ITEM, Server(good).get, heard.append)
    assert heard == [len(CONTENT)]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_pass_is_waited_for(tmp_path: Path, waits: list[float], status: int) -> None:
    trouble = says(status)
    assert fetch(tmp_path, ITEM, Server(trouble, trouble, good).get).read_bytes() == CONTENT
    assert waits == [1, 2]


def test_a_server_says_how_long_to_wait_but_not_for_ever(
    tmp_path: Path, waits: list[float]
) -> None:
    busy = [says(429, Retry_After=value) for value in ("7", "100000", "Mon, 30 Nov 2026")]
    fetch(tmp_path, ITEM, Server(*busy, good).get)
    assert waits == [7, 60, 4]


def test_patience_ends_but_is_renewed_by_every_byte(tmp_path: Path, waits: list[float]) -> None:
    assert "answered 500: the server is in trouble" in refused(tmp_path, says(500))
    assert waits == [1, 2, 4, 8, 16]
    waits.clear()

    def one_byte(request: httpx.Request) -> httpx.Response:
        start = int(request.headers.get("Range", "bytes=0-")[6:-1])
        told = f"bytes {start}-{start}/{len(CONTENT)}"
        return answer(206, CONTENT[start : start + 1], Content_Range=told)

    fetch(tmp_path, ITEM, Server(*[one_byte] * 20, good).get)
    assert waits == [1] * 20


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(says(401), "answered 401: it asks for a login", id="401"),
        pytest.param(says(403), "answered 403: it refuses this machine", id="403"),
        pytest.param(says(404), "answered 404: it is not there", id="404"),
        pytest.param(says(407), "answered 407: the proxy asks for a login", id="407"),
        pytest.param(says(429), "answered 429: it was asked too often: wait", id="429"),
        pytest.param(says(500), "answered 500: the server is in trouble", id="500"),
        pytest.param(says(204), "answered 204: nothing can be made of that", id="204"),
        pytest.param(
            says(200, b"<html>", Content_Type="text/html; charset=utf-8"),
            "a web page came in its place",
            id="HTML",
        ),
        pytest.param(says(200, CONTENT[:9], Content_Length="9"), "has 9 bytes, the lock", id="9"),
        pytest.param(says(200, CONTENT + b"x"), "has more bytes, the lock says 5,120", id="more"),
        pytest.param(says(200, CONTENT[:9]), "ended after 9 of 5,120 bytes", id="cut for ever"),
        pytest.param(
            says(200, CONTENT[:-1] + b"x"), f"came, the lock has sha256:{HEX}", id="one byte"
        ),
    ],
)
def test_what_is_not_the_file_is_told_in_one_line(tmp_path: Path, given: Answer, told: str) -> None:
    assert told in refused(tmp_path, given)


@pytest.mark.parametrize(
    ("error", "told", "tries"),
    [
        pytest.param(httpx.ConnectError("refused"), "no answer (refused)", 6, id="refused"),
        pytest.param(httpx.ReadTimeout(""), "no answer (ReadTimeout)", 6, id="silent"),
        pytest.param(
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), "SSL_CERT_FILE", 1, id="CA"
        ),
        pytest.param(httpx.TooManyRedirects("in a circle"), "in a circle", 1, id="a circle"),
    ],
)
def test_no_answer_is_told_in_one_line(
    tmp_path: Path, waits: list[float], error: httpx.RequestError, told: str, tries: int
) -> None:
    def fails(_: httpx.Request) -> httpx.Response:
        raise error

    assert told in refused(tmp_path, fails)
    assert len(waits) == tries - 1


@pytest.mark.parametrize(
    ("url", "told"),
    [("ftp://files.example/a", "unsupported protocol"), ("https://files:a/", "no address")],
)
def test_what_is_no_address_for_us_is_not_tried_twice(
    tmp_path: Path, waits: list[float], url: str, told: str
) -> None:
    with pytest.raises(BundleError, match=told):
        fetch(tmp_path, Item("x", ITEM.file, url), web.getter(httpx.Client()))
    assert waits == []


def test_a_wrong_file_is_asked_for_twice_and_leaves_nothing(tmp_path: Path) -> None:
    server = Server(says(200, CONTENT[:-1] + b"x"))
    with pytest.raises(BundleError):
        fetch(tmp_path, ITEM, server.get)
    assert server.ranges == ["", ""]
    assert (tmp_path / "sha256" / f"{HEX}.part").read_bytes() == b""


def test_a_signed_address_behind_a_redirect_is_not_shown(tmp_path: Path) -> None:
    def sent_away(request: httpx.Request) -> httpx.Response:
        if request.url.host == "files.example":
            return answer(307, Location="https://cdn.example/x?signature=SECRET")
        return answer(404)

    assert "SECRET" not in refused(tmp_path, sent_away)


def test_a_full_disk_is_one_line_and_keeps_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched, pytest.raises(BundleError) as caught:
        patched.setattr(os, "fsync", full)
        fetch(tmp_path, ITEM, Server(good).get)
    assert str(caught.value) == (
        f"{tmp_path}: no room for apt/pool/a.deb (5,120 bytes): free some and run this again:"
        " what came is kept"
    )
    assert fetch(tmp_path, ITEM, Server(says(500)).get).read_bytes() == CONTENT


def test_a_cache_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(BundleError, match=r"cache/sha256: .*: apt/pool/a.deb cannot be written"):
        fetch(tmp_path / "cache", ITEM, Server(good).get)


def test_runs_at_once_share_one_download(tmp_path: Path) -> None:
    server = Server(good)
    found: list[bytes] = []

    def run() -> None:
        found.append(fetch(tmp_path, ITEM, server.get).read_bytes())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [CONTENT] * 8
    assert server.ranges == [""]
    assert [path.name for path in (tmp_path / "sha256").iterdir()] == [HEX]


def test_an_interrupted_run_leaves_a_part_that_goes_on(tmp_path: Path) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        def pieces() -> Iterator[bytes]:
            yield CONTENT[:HALF]
            raise KeyboardInterrupt

        return answer(200, pieces())

    with suppress(KeyboardInterrupt):
        fetch(tmp_path, ITEM, Server(interrupted).get)
    server = Server(good)
    assert fetch(tmp_path, ITEM, server.get).read_bytes() == CONTENT
    assert server.ranges == [f"bytes={HALF}-"]
