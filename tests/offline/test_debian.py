"""The Debian archives that a machine installs from, read in its apt sources."""

from pathlib import Path

import pytest

from apuhost import debian


@pytest.mark.parametrize(
    "text",
    [
        "Types: deb\nURIs: http://m.example/debian/\nSuites: bookworm bookworm-updates\n"
        "Components: main\nSigned-By: /k.gpg\n",
        "# a comment\n\nTypes: deb-src\nURIs: http://src.example/\nSuites: trixie\n"
        "Components: main\n\nTypes: deb\n# within\nURIs:\n http://m.example/debian\n"
        "Suites: trixie\nComponents: main contrib\n",
        "Enabled: no\nTypes: deb\nURIs: http://off.example/\nSuites: trixie\nComponents: main\n"
        "\nTypes: deb deb-src\nURIs: http://m.example/debian\nSuites: sid\nComponents: main\n",
    ],
)
def test_mirror_of_deb822_sources(text: str) -> None:
    assert debian.uris(text, deb822=True)[0] == "http://m.example/debian"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("deb http://m.example/debian trixie main", ["http://m.example/debian"]),
        ("deb [arch=amd64 signed-by=/k] https://m.example/debian/ stable main non-free",
         ["https://m.example/debian"]),
        ("# deb http://m.example/debian trixie main", []),
        ("deb-src http://m.example/debian trixie main", []),
        ("deb http://m.example/debian-security trixie-security main", []),
        ("deb http://m.example/ubuntu noble main", []),
        ("deb http://m.example/debian trixie contrib", []),
        ("deb", []),
        ("", []),
    ],
)  # fmt: skip
def test_mirror_of_one_line_sources(line: str, found: list[str]) -> None:
    assert debian.uris(line, deb822=False) == found


def test_mirror_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(debian.VARIABLE, raising=False)
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "other.list").write_text("deb http://x.example/ nodistro main\n")
    with pytest.raises(debian.NoMirrorError, match="no Debian mirror"):
        debian.debian_mirror(tmp_path)
    (tmp_path / "sources.list").write_text("deb http://m.example/debian trixie main\n")
    assert debian.debian_mirror(tmp_path) == "http://m.example/debian"


def test_security_updates_are_where_the_sources_say_or_beside_the_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(debian.VARIABLE, raising=False)
    (tmp_path / "sources.list").write_text("deb http://m.example/debian trixie main\n")
    assert debian.security_mirror(tmp_path) == "http://m.example/debian-security"
    with (tmp_path / "sources.list").open("a") as lines:
        lines.write("deb http://s.example/security bookworm-security main\n")
    assert debian.security_mirror(tmp_path) == "http://s.example/security"
    monkeypatch.setenv(debian.VARIABLE, "http://own.example/debian/")
    assert debian.security_mirror(tmp_path) == "http://own.example/debian-security"
