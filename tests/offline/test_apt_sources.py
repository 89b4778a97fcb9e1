"""apt's sources in both forms, and a component added to them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, apt_sources
from apuhost.probes.apt_sources import Source, with_component
from apuhost.probes.files import TextFile, frame

LIST = "/etc/apt/sources.list"
SOURCES = "/etc/apt/sources.list.d/debian.sources"
NEW = "non-free-firmware"


def _read(path: str, text: str) -> tuple[Source, ...]:
    return apt_sources.parse(frame((TextFile(path, text),))).sources


def test_a_line_in_every_part() -> None:
    line = "deb [ arch=amd64 signed-by=/a.gpg ] https://deb.example/d trixie main x # y"
    assert _read(LIST, line) == (
        Source(
            path=LIST,
            uris=("https://deb.example/d",),
            suites=("trixie",),
            components=("main", "x"),
            enabled=True,
            types=("deb",),
            signed_by="/a.gpg",
        ),
    )


def test_a_stanza_in_every_part() -> None:
    text = (
        "# the distribution\r\nTypes: deb deb-src\r\nURIs: https://deb.example/d\r\n"
        "Suites: trixie\r\n  trixie-updates\r\n# in the middle\r\n\ttrixie-backports\r\n"
        "components:main\r\nSigned-By: /usr/share/keyrings/a.gpg\r\n\r\n\r\n"
        "Types: deb\r\nURIs: https://other.example/\r\nSuites: ./\r\nEnabled: No\r\n"
    )
    first, second = _read(SOURCES, text)
    assert first == Source(
        path=SOURCES,
        uris=("https://deb.example/d",),
        suites=("trixie", "trixie-updates", "trixie-backports"),
        components=("main",),
        enabled=True,
        types=("deb", "deb-src"),
        signed_by="/usr/share/keyrings/a.gpg",
    )
    assert (second.enabled, second.flat, second.components) == (False, True, ())


@pytest.mark.parametrize(
    ("line", "components"),
    [
        pytest.param(
            "deb cdrom:[Debian GNU/Linux 13 # 1]/ trixie main", ("main",), id="brackets in an URI"
        ),
        pytest.param('deb "http://x/a b" trixie main', ("main",), id="quotes"),
        pytest.param("\tdeb\thttp://x\ttrixie\tmain\tcontrib", ("main", "contrib"), id="tabs"),
        pytest.param("deb http://x trixie main#contrib", ("main",), id="a comment without a blank"),
        pytest.param("deb http://x ./", (), id="a flat repository"),
    ],
)
def test_lines_in_every_form(line: str, components: tuple[str, ...]) -> None:
    assert [source.components for source in _read(LIST, line)] == [components]


@pytest.mark.parametrize(
    "line",
    [
        "# deb http://x trixie main",
        "rpm http://x trixie main",
        "deb http://x",
        "deb [arch=amd64 http://x trixie main",
        "deb [arch=amd64] http://x",
        "",
    ],
)
def test_lines_that_are_no_source(line: str) -> None:
    assert _read(LIST, line) == ()


def test_apt_passes_over_a_file_with_a_name_of_its_own() -> None:
    read = apt_sources.parse(
        frame((TextFile("/etc/apt/sources.list.d/my repo.list", "deb http://x trixie main\n"),))
    )
    assert read.sources == ()
    assert len(read.files) == 1


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param(f"deb http://x trixie main {NEW}\n", True, id="at work"),
        pytest.param(f"deb-src http://x trixie {NEW}\n", False, id="sources only"),
        pytest.param(f"# deb http://x trixie {NEW}\n", False, id="commented out"),
    ],
)
def test_a_component_counts_where_packages_come_from(text: str, held: bool) -> None:
    assert apt_sources.parse(frame((TextFile(LIST, text),))).has_component(NEW) is held


def test_a_disabled_stanza_has_no_component() -> None:
    text = f"Types: deb\nURIs: http://x\nSuites: trixie\nComponents: {NEW}\nEnabled: no\n"
    assert not apt_sources.parse(frame((TextFile(SOURCES, text),))).has_component(NEW)


def test_candidates_stand_before_the_files() -> None:
    read = apt_sources.parse(
        "candidate firmware-amd-graphics 20250410-2\n" + frame((TextFile(LIST, ""),))
    )
    assert read.candidates == {"firmware-amd-graphics": "20250410-2"}
    assert [file.path for file in read.files] == [LIST]
    assert apt_sources.parse("").candidates == {}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(
            LIST,
            "deb http://x trixie main contrib # all\r\ndeb-src http://x trixie main\r\n",
            f"deb http://x trixie main {NEW} contrib # all\r\ndeb-src http://x trixie main\r\n",
            id="beside main, before a comment, CRLF kept",
        ),
        pytest.param(
            LIST,
            f"deb http://x sid main\n#deb http://x sid main\ndeb http://y sid main {NEW}",
            f"deb http://x sid main {NEW}\n#deb http://x sid main\ndeb http://y sid main {NEW}",
            id="only where it is missing",
        ),
        pytest.param(
            LIST,
            "deb http://x trixie contrib\ndeb http://y ./\ndeb http://z main/ main",
            "deb http://x trixie contrib\ndeb http://y ./\ndeb http://z main/ main",
            id="neither without main nor in a flat repository",
        ),
        pytest.param(
            SOURCES,
            "Types: deb\nSuites: trixie\nComponents:\n# ours\n main\n contrib\nSigned-By: a\n\n"
            "Types: deb\nEnabled: no\nSuites: trixie\nComponents: main\n\n"
            "Types: deb-src\nSuites: trixie\nComponents: main\n\n"
            "types: deb deb-src\nsuites: x y\ncomponents: main",
            f"Types: deb\nSuites: trixie\nComponents:\n# ours\n main {NEW}\n contrib\n"
            "Signed-By: a\n\n"
            "Types: deb\nEnabled: no\nSuites: trixie\nComponents: main\n\n"
            "Types: deb-src\nSuites: trixie\nComponents: main\n\n"
            f"types: deb deb-src\nsuites: x y\ncomponents: main {NEW}",
            id="stanzas",
        ),
    ],
)
def test_a_component_is_added(path: str, text: str, expected: str) -> None:
    assert with_component(text, path, NEW) == expected
    assert with_component(expected, path, NEW) == expected


WORDS = ["deb ", "deb [a=b] ", "http://x ", "trixie ", "main ", "#", "\n", "\r\n", " ", "\t", "./ "]
STANZA = ["Types: deb\n", "Components: main", "Components:", " main", "\n", "#x\n", "Enabled: no\n"]


@given(st.lists(st.sampled_from(WORDS + STANZA)).map("".join), st.sampled_from([LIST, SOURCES]))
def test_an_edit_only_adds_and_settles(text: str, path: str) -> None:
    edited = with_component(text, path, NEW)
    assert edited.replace(f" {NEW}", "") == text
    assert with_component(edited, path, NEW) == edited
    assert [s.suites for s in _read(path, edited)] == [s.suites for s in _read(path, text)]


@given(st.text() | st.text().map(lambda text: frame((TextFile(SOURCES, text),))))
def test_no_text_raises_anything_but_parse_error(text: str) -> None:
    with suppress(ParseError):
        apt_sources.parse(text)
