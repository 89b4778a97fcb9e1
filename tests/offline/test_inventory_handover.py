"""What pyinfra is handed of hosts in a file that is no Python: that file's groups, no other."""

import io
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from apuhost.inventory import handover
from apuhost.roles import CHECKOUT

Handed = Callable[[str, str], dict[str, list[str]]]

CSV = "name,groups\na,lab\nb,\n"


@pytest.fixture
def handed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Handed:
    """A file's groups as the program that pyinfra runs in its place has them."""

    def groups(name: str, text: str) -> dict[str, list[str]]:
        file = tmp_path / name
        file.write_text(text)
        monkeypatch.setattr("sys.stdin", io.StringIO(handover.given(file).stdin))
        found = runpy.run_path(str(CHECKOUT / handover.SHIM))
        return {key: value for key, value in found.items() if isinstance(value, list)}

    return groups


@pytest.mark.parametrize(
    ("name", "text", "members"),
    [
        pytest.param("site.csv", CSV, ["a", "b"], id="CSV"),
        pytest.param("site.ini", "b\n[lab]\na\n", ["a", "b"], id="INI"),
        pytest.param("site", "b\n[lab]\na\n", ["a", "b"], id="INI without suffix"),
        pytest.param(
            "site.yml", "{all: {hosts: {b: }}, lab: {hosts: {a: }}}", ["a", "b"], id="YAML"
        ),
        pytest.param("site.csv", "name,groups\na,site lab\nb,\n", ["a"], id="the file's own"),
        pytest.param("site.ini", "b\n[site]\na\n[lab]\na\n", ["a"], id="the file's own, INI"),
        pytest.param("site.ini", "b\n[site]\n[lab]\na\n", [], id="the file's own without a host"),
    ],
)
def test_a_file_is_a_group_by_its_name_unless_it_names_that_itself(
    handed: Handed,
    name: str,
    text: str,
    members: list[str],
) -> None:
    found = handed(name, text)
    assert sorted(found["site"]) == members
    assert found["lab"] == ["a"]
    assert found[Path(handover.SHIM).stem] == []  # else pyinfra puts all hosts into it


@pytest.mark.parametrize("name", ["hosts.csv", "hosts", "all.csv"])
def test_a_file_may_be_called_as_a_group_that_is_there_anyway(
    handed: Handed,
    name: str,
) -> None:
    text = CSV if name.endswith(".csv") else "b\n[lab]\na\n"
    found = handed(name, text)
    assert len(found[Path(name).stem]) == len(found["all"]) == 2


def test_the_group_of_a_files_name_wins_as_that_of_a_python_file_does(handed: Handed) -> None:
    assert list(handed("site.csv", CSV))[-1] == "site"


def test_a_group_by_name_alone_is_told_apart(tmp_path: Path) -> None:
    for name, text in (("a.csv", CSV), ("lab.csv", CSV), ("b.ini", "x\n[b]\n"), ("c.py", "c = 1")):
        (tmp_path / name).write_text(text)
    names = ("a.csv", "lab.csv", "b.ini", "c.py")
    assert [handover.by_name(tmp_path / name) for name in names] == ["a", "", "", ""]
