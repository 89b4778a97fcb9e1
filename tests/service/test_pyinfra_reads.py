"""pyinfra itself reads inventories: right ones, and wrong ones that it only stumbles over."""

from pathlib import Path

import pytest

from apuhost import inventory
from apuhost.inventory import InventoryError


def written(folder: Path, text: str) -> Path:
    path = folder / "site.py"
    path.write_text(text)
    return path


def told(path: Path) -> list[str]:
    with pytest.raises(InventoryError) as raised:
        inventory.load(path)
    return str(raised.value).splitlines()


def test_what_an_inventory_prints_is_passed_over(tmp_path: Path) -> None:
    path = written(
        tmp_path, 'print("[hello", end="")\nhosts = ["box1", ("box2", {"ssh_port": 1})]\n'
    )
    assert [(host.name, host.data) for host in inventory.load(path)] == [
        ("box1", {}),
        ("box2", {"ssh_port": 1}),
    ]


def test_wrong_types_of_every_host_are_told(tmp_path: Path) -> None:
    hosts = '[("a", {"ssh_port": "22"}), ("b", {"ssh_key": Path("k")})]'
    lines = told(written(tmp_path, f"from pathlib import Path\nhosts = {hosts}\n"))
    assert [line.split(": ")[1:3] for line in lines[:2]] == [
        ["a", 'ssh_port is "22"'],
        ["b", 'ssh_key is {"PosixPath"'],
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param('hosts = ["a", "a"]\n', ":1: a is twice in hosts", id="twice"),
        pytest.param('hosts = ["a"] * 2\n', ": a is twice in hosts", id="twice, computed"),
        pytest.param('hosts = [""]\n', ":1: a host's name is empty", id="no name"),
        pytest.param('hosts = [""] * 2\n', ": a host's name is empty", id="no name, computed"),
        pytest.param("import sys\nsys.exit(3)\n", ":2: SystemExit: 3", id="ends itself"),
        pytest.param("import sys\nsys.exit(0)\n", ":2: SystemExit: 0", id="ends itself well"),
        pytest.param(
            "import os\nos.environ['X1Y2']\n", ":2: X1Y2 is not in the env", id="environment"
        ),
        pytest.param("import nosuch\n", ":1: ModuleNotFoundError: No module named", id="import"),
        pytest.param("return\n", ":1: 'return' outside function", id="no function"),
        *[
            pytest.param(
                f'DATA = {data}\nhosts = [("a", DATA)]\n', ": something in it is no host", id=data
            )
            for data in ("5", '"x"', "[1]")
        ],
        pytest.param('hosts = ["@nosuch/x"]\n', ": Invalid connector: nosuch", id="connector"),
    ],
)
def test_what_fails_is_one_line(tmp_path: Path, text: str, sentence: str) -> None:
    (line,) = told(written(tmp_path, text))
    assert line.startswith(f"{tmp_path}/site.py{sentence}")


@pytest.mark.parametrize("hosts", ['["a", 5]', '[["a", {}]]', '[*"a", *(n for n in [1])]'])
def test_a_list_that_pyinfra_passes_over_is_no_list_less(tmp_path: Path, hosts: str) -> None:
    """The hosts of the other list would be deployed alone, without a word."""
    (line,) = told(written(tmp_path, f'site = ["b"]\nhosts = {hosts}\n'))
    assert line.startswith(f"{tmp_path}/site.py:2: hosts holds something that is no host")


def test_group_data_that_fails_is_the_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "group_data").mkdir()
    (tmp_path / "group_data" / "all.py").write_text("a = 1\nb = nosuch\n")
    (line,) = told(written(tmp_path, 'hosts = ["a"]\n'))
    assert line.startswith(
        f"{tmp_path}/group_data/all.py:2: NameError: name 'nosuch' is not defined: a text stands in"
    )


def test_group_data_of_no_group_is_refused(tmp_path: Path) -> None:
    (tmp_path / "group_data").mkdir()
    (tmp_path / "group_data" / "site_b.py").touch()
    (line,) = told(written(tmp_path, 'site_a = ["a"]\n'))
    assert line.startswith(f"{tmp_path}/group_data/site_b.py: no group is called site_b (site_a?)")


def test_group_data_of_a_group_that_has_no_host_yet_is_taken(tmp_path: Path) -> None:
    (tmp_path / "group_data").mkdir()
    (tmp_path / "group_data" / "site_b.py").touch()
    path = written(tmp_path, 'site_a = ["a"]\nsite_b = []\n')
    assert [host.name for host in inventory.load(path)] == ["a"]


def test_a_module_beside_the_inventory_that_fails_is_the_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "boxes.py").write_text("a = 1\nb = 1 / 0\n")
    beside = "import os, sys\nsys.path.append(os.path.dirname(__file__))\nfrom boxes import a\n"
    (line,) = told(written(tmp_path, beside))
    assert line == f"{tmp_path}/boxes.py:2: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hosts.csv", "name,ssh_port,groups\nbox1,2222,lab\nbox2,,\n"),
        ("hosts.ini", "box2\n[lab]\nbox1 ansible_port=2222\n"),
        ("hosts.yml", "lab: {hosts: {box1: {ansible_port: 2222}}}\nall: {hosts: {box2: }}\n"),
    ],
)
def test_hosts_of_other_files_have_groups_and_the_group_data_beside_them(
    tmp_path: Path, name: str, text: str
) -> None:
    beside = tmp_path / "group_data"
    beside.mkdir()
    (beside / "all.py").write_text("_sudo = True\nssh_port = 22\n")
    (beside / "lab.py").write_text("kernel_gtt_gib = 48\nssh_port = 23\n")
    (tmp_path / name).write_text(text)
    found = {host.name: host for host in inventory.load(tmp_path / name)}
    assert found["box1"].data == {"_sudo": True, "kernel_gtt_gib": 48, "ssh_port": 2222}
    assert found["box2"].data == {"_sudo": True, "ssh_port": 22}
    assert [host.name for host in inventory.load(tmp_path / name, ("lab",))] == ["box1"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("site.csv", "name\nbox1\n"), ("site.ini", "box1\n"), ("site.py", 'some = ["box1"]\n')],
)
def test_every_file_is_a_group_of_its_own_and_no_other_files(
    tmp_path: Path, name: str, text: str
) -> None:
    beside = tmp_path / "group_data"
    beside.mkdir()
    (beside / "site.py").write_text("ssh_port = 23\n")
    (beside / "hosts.py").write_text("kernel_gtt_gib = 48\n")
    (tmp_path / "hosts.py").write_text('others = ["box2"]\n')
    (tmp_path / name).write_text(text)
    (found,) = inventory.load(tmp_path / name, ("site",))
    assert "hosts" not in found.groups
    assert found.data == {"ssh_port": 23}


def test_wrong_values_of_other_files_and_of_group_data_are_told_where_each_stands(
    tmp_path: Path,
) -> None:
    beside = tmp_path / "group_data"
    beside.mkdir()
    (beside / "all.py").write_text('_sudo = "no"\n')
    (tmp_path / "hosts.csv").write_text("name,ssh_port\nbox1,x\n-box2,22\n")
    lines = told(tmp_path / "hosts.csv")
    assert [line.removeprefix(f"{tmp_path}/").split(": ")[:3] for line in lines[:3]] == [
        ["hosts.csv:2", "box1", 'ssh_port is "x"'],
        ["group_data/all.py", "box1", '_sudo is "no"'],
        ["hosts.csv:3", "-box2", "cannot be a host's name"],
    ]


def test_group_data_of_a_neighbours_group_is_meant(tmp_path: Path) -> None:
    beside = tmp_path / "group_data"
    beside.mkdir()
    (beside / "lab.py").write_text("kernel_gtt_gib = 48\n")
    (tmp_path / "hosts.csv").write_text("name,groups\nbox1,lab\n")
    assert [host.name for host in inventory.load(written(tmp_path, 'hosts = ["a"]\n'))] == ["a"]
    (tmp_path / "hosts.csv").write_text("name,groups\nbox1,rack\n")
    with pytest.raises(InventoryError, match=r"lab\.py: no group is called lab"):
        inventory.load(tmp_path / "hosts.csv")
