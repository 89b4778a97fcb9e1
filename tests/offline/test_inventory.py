"""Hosts as pyinfra gives them: limits, where a key came from, problems in one line each."""

import json
from pathlib import Path
from typing import Any

import pytest

from apuhost import inventory
from apuhost.inventory import Host, InventoryError

HOSTS = (
    Host("box1", ("boxes", "site-a"), {"kernel_gtt_gib": 48}),
    Host("box2", ("boxes",), {}),
    Host("c07.example", ("site-c",), {}),
)


def listed(hosts: tuple[Host, ...]) -> str:
    """What `pyinfra INVENTORY debug-inventory --json` prints."""
    return json.dumps(
        [{"name": host.name, "groups": [*host.groups], "data": host.data} for host in hosts]
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory file that pyinfra has read."""
    path = tmp_path / "site.py"
    path.write_text('hosts = ["box1"]\n')
    monkeypatch.setattr(inventory, "_debug_inventory", lambda _: listed(HOSTS))
    return path


def names(path: Path, *limits: str) -> list[str]:
    return [host.name for host in inventory.load(path, limits)]


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        pytest.param((), ["box1", "box2", "c07.example"], id="no limit"),
        pytest.param(("box2",), ["box2"], id="a host"),
        pytest.param(("boxes",), ["box1", "box2"], id="a group"),
        pytest.param(("box*",), ["box1", "box2"], id="a pattern"),
        pytest.param(("all",), ["box1", "box2", "c07.example"], id="all"),
        pytest.param(("c07.example", "site-a"), ["box1", "c07.example"], id="two, in file order"),
        pytest.param(("box1", "boxes"), ["box1", "box2"], id="one host twice"),
    ],
)
def test_limits_are_names_groups_and_patterns(
    file: Path, limits: tuple[str, ...], found: list[str]
) -> None:
    assert names(file, *limits) == found


def test_a_hosts_name_outweighs_the_group_of_that_name(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stem of the file is such a group: of site.py, pyinfra makes a group site."""
    hosts = (Host("site", ("site",), {}), Host("box1", ("site",), {}))
    monkeypatch.setattr(inventory, "_debug_inventory", lambda _: listed(hosts))
    assert names(file, "site") == ["site"]
    assert names(file, "site", "box*") == ["site", "box1"]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        pytest.param(("box9",), "there are: box1, box2, c07.example", id="no such host"),
        pytest.param(("box1,box2",), "--limit a --limit b", id="two in one"),
        pytest.param(("box1", "box9"), "--limit box9", id="one good, one not"),
        pytest.param(("",), "matches no host", id="empty"),
        pytest.param(("BOX1",), "matches no host", id="capitals"),
    ],
)
def test_a_limit_that_matches_nothing_is_an_error(
    file: Path, limits: tuple[str, ...], told: str
) -> None:
    with pytest.raises(InventoryError, match=told):
        inventory.load(file, limits)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="no such inventory file"):
        inventory.load(tmp_path / "nosuch.py")


def test_an_inventory_without_hosts_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "_debug_inventory", lambda _: "[]")
    with pytest.raises(InventoryError, match="no host in it"):
        inventory.load(file)


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        pytest.param(
            '--> Loading inventory...\n    Traceback (most recent call last):\n  File "x.py"\n'
            "NameError: name 'hots' is not defined\n\n",
            "name 'hots' is not defined",
            id="a traceback",
        ),
        pytest.param(
            "pyinfra.api.exceptions.PyinfraError: No hosts\n", "No hosts", id="a dotted name"
        ),
        pytest.param("--> Loading\n\n", "pyinfra could not read it", id="no word"),
        pytest.param("", "pyinfra could not read it", id="nothing"),
    ],
)
def test_the_sentence_that_matters_in_what_pyinfra_says(stderr: str, sentence: str) -> None:
    assert inventory._last_error(stderr) == sentence


SOURCES = {
    "site.py": 'hosts = [("box1", {"kernel_gtt_gib": 48}), ("box2", dict(ssh_port=22))]\n',
    "group_data/all.py": "_sudo = True\nkernel_gtt_gib = 32\nkernel_amd_iommu = 'on'\n",
    "group_data/boxes.py": "# ssh_user\nkernel_extra_args = ['quiet']\n",
    "group_data/site-a.py": "kernel_extra_args = ['nosmt']\n",
    "group_data/broken.py": "kernel_remove_args = [\n",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An inventory with group data beside it."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "site.py"


@pytest.mark.parametrize(
    ("key", "file"),
    [
        pytest.param("kernel_gtt_gib", "site.py", id="the host's own value wins"),
        pytest.param("ssh_port", "site.py", id="as a keyword"),
        pytest.param("kernel_amd_iommu", "group_data/all.py", id="site-wide"),
        pytest.param("kernel_extra_args", "group_data/site-a.py", id="the last group"),
        pytest.param("ssh_user", "site.py", id="a comment gives nothing"),
        pytest.param("kernel_remove_args", "site.py", id="nowhere: the inventory itself"),
    ],
)
def test_the_file_that_a_key_came_from(site: Path, key: str, file: str) -> None:
    host = Host("box1", ("broken", "boxes", "site-a"), {})
    assert inventory.origin(site, host, key) == site.parent / file


def told(path: Path, *data: dict[str, Any]) -> list[str]:
    hosts = [Host(f"box{number}", (), each) for number, each in enumerate(data, 1)]
    with pytest.raises(InventoryError) as raised:
        inventory.settings(path, hosts)
    return str(raised.value).splitlines()


def test_problems_are_told_with_file_host_and_key(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site.parent)
    bad = {"kernel_gtt_gb": 1, "kernel_amd_iommu": "on"}
    lines = told(site, bad, {"kernel_amd_iommu": "on"}, {})
    assert len(lines) == 3
    assert lines[0] == "site.py: box1: kernel_gtt_gb is not a setting (kernel_gtt_gib?)"
    assert lines[1].startswith('group_data/all.py: box1, box2: kernel_amd_iommu is "on": off')
    assert lines[2] == "2 problems, nothing contacted"


@pytest.mark.parametrize(
    ("hosts", "who"), [pytest.param(1, "box1", id="one"), pytest.param(2, "all hosts", id="all")]
)
def test_a_problem_of_all_hosts_is_told_once(site: Path, hosts: int, who: str) -> None:
    lines = told(site, *[{"zzz": 1}] * hosts)
    assert lines[0].endswith(f": {who}: zzz is not a setting")
    assert lines[1] == "1 problem, nothing contacted"


def test_right_settings_come_by_host(site: Path) -> None:
    found = inventory.settings(site, HOSTS)
    assert found["box1"].kernel.kernel_gtt_gib == 48
    assert found["box2"].kernel.kernel_gtt_gib == "auto"
