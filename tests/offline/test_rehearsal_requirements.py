"""What this machine must have: disk, memory, packages."""

from pathlib import Path

import pytest

from apuhost.rehearsal import requirements

GIB = 1024**3


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
