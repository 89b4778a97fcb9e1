"""What this machine must have: the mirror, disk, memory, packages."""

from pathlib import Path

import pytest

from apuhost.rehearsal import mirror, requirements

GIB = 1024**3


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
    assert mirror.uris(text, deb822=True)[0] == "http://m.example/debian"


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
    assert mirror.uris(line, deb822=False) == found


def test_mirror_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "other.list").write_text("deb http://x.example/ nodistro main\n")
    with pytest.raises(mirror.NoMirrorError, match="no Debian mirror"):
        mirror.debian_mirror(tmp_path)
    (tmp_path / "sources.list").write_text("deb http://m.example/debian trixie main\n")
    assert mirror.debian_mirror(tmp_path) == "http://m.example/debian"


def test_too_little_disk_names_the_folder() -> None:
    (problem,) = requirements.disk_problems({Path("/a"): 5 * GIB, Path("/b"): 6 * GIB})
    assert problem.startswith("/a has 5.0 GiB free, 6 GiB are needed: ")


@pytest.mark.parametrize(
    ("meminfo", "problems"),
    [
        ("MemTotal: 4000000 kB\nMemAvailable:    2097152 kB\n", 1),
        ("MemAvailable: 3145728 kB\n", 0),
        ("MemAvailable: lots\n", 0),
        ("", 0),
    ],
)
def test_memory(meminfo: str, problems: int) -> None:
    found = requirements.memory_problems(requirements.available_memory(meminfo))
    assert len(found) == problems


def test_apt_asks_nothing_and_waits_for_another_apt() -> None:
    update, install = requirements.apt_commands(["ovmf"])
    assert update[-1] == "update"
    assert install[-1] == "ovmf"
    assert all("DPkg::Lock::Timeout=300" in command for command in (update, install))
    assert requirements.install_line(["a", "b"]) == "sudo apt-get install a b"
