"""Further files of a bundle: pinned by URL and hash, sized by what their servers say."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
from tests.offline.test_bundle_lock import LOCK
from tests.support.hosts import settings

from apuhost.bundle import difference, files
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Blob, File, as_text, parse
from apuhost.settings import resolve
from apuhost.settings.files import PinnedFile
from apuhost.web import Get

URL = "https://files.example/v1/tool%2Blinux"
SHA256 = "8" * 64
FILE = File("tool+linux", URL, Blob(f"sha256:{SHA256}", 12))


def serving(*headers: tuple[str, str], status: int = 200) -> Get:
    @contextmanager
    def get(url: str, offset: int) -> Iterator[httpx.Response]:
        assert offset == 0
        yield httpx.Response(status, headers=list(headers), request=httpx.Request("GET", url))

    return get


def pinned(url: str = URL, sha256: str = SHA256, name: str = "") -> PinnedFile:
    return PinnedFile(url=url, sha256=sha256, name=name)


def test_a_file_is_locked_with_its_size_and_fetched_into_its_folder() -> None:
    twice = [pinned(), pinned("https://other.example/tool+linux")]
    assert files.resolve(twice, serving(("Content-Length", "12"))) == (FILE,)
    lock = replace(LOCK, files=(FILE,))
    assert list(files.items(lock)) == [Item("files/tool+linux", FILE.file, URL)]
    assert parse(as_text(lock)) == lock
    told = list(difference.lines(LOCK, lock))
    assert "files: 1 added (0 -> 1)" in told
    assert "  added    tool+linux: @888888888888, 12 B" in told


@pytest.mark.parametrize(
    ("get", "told"),
    [
        (serving(), "its server does not say how long it is"),
        (serving(status=404), "404"),
    ],
)
def test_a_server_that_does_not_give_it_is_told(get: Get, told: str) -> None:
    with pytest.raises(BundleError, match=told):
        files.resolve([pinned()], get)


def test_two_files_of_one_name_are_told() -> None:
    others = [pinned(), pinned("https://other.example/TOOL+linux", "9" * 64)]
    with pytest.raises(BundleError, match="give one of them another name"):
        files.resolve(others, serving(("Content-Length", "12")))


def test_a_name_of_ones_own_is_taken() -> None:
    url = "https://files.example/download?id=7"
    asked = settings(mirror_files=[{"url": url, "sha256": f"sha256:{SHA256}", "name": "bios.cap"}])
    (found,) = asked.mirror.mirror_files
    assert (found.file_name, found.sha256) == ("bios.cap", SHA256)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({"url": "ftp://h.example/x"}, "not https://HOST/PATH"),
        ({"url": "https:///x"}, "not https://HOST/PATH"),
        ({"url": "https://[/x"}, "no such address"),
        ({"url": "https://me:word@h.example/x"}, "its address has a login"),
        ({"url": "https://h.example/"}, "'' is no name for a file"),
        ({"url": "https://h.example/a%2F..%2Fb"}, "is no name for a file"),
        ({"name": "../x"}, "is no name for a file"),
        ({"name": ".x"}, "is no name for a file"),
        ({"name": "x."}, "is no name for a file"),
        ({"sha256": "8" * 63}, "not 64 hex digits"),
    ],
)
def test_what_is_no_file_is_one_problem(file: dict[str, str], told: str) -> None:
    value = [{"url": URL, "sha256": SHA256, **file}]
    _, problems = resolve("box1", {"mirror_files": value})
    (problem,) = problems
    assert told in problem.sentence
    assert "word" not in problem.sentence


def test_a_name_that_stands_twice_is_told() -> None:
    one = {"url": URL, "sha256": SHA256, "name": "x"}
    _, problems = resolve("box1", {"mirror_files": [one, {**one, "name": "X"}]})
    assert "x stands twice" in problems[0].sentence
