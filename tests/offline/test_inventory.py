"""Hosts as pyinfra gives them: limits, where a key came from, problems in one line each."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.rights import ordinary_user

from apuhost import inventory
from apuhost.errors import ApuhostError
from apuhost.inventory import Host, InventoryError, reading, sources
from apuhost.inventory.reading import Read

HOSTS = (
    Host("box1", ("boxes", "site-a"), {"kernel_gtt_gib": 48}),
    Host("box2", ("boxes",), {}),
    Host("c07.example", ("site-c",), {}),
)


def listed(hosts: tuple[Host, ...], fault: str = "") -> Read:
    """What pyinfra tells of these hosts."""
    entries = ({"name": each.name, "groups": [*each.groups], "data": each.data} for each in hosts)
    return Read(tuple(entries), fault)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory file that pyinfra has read."""
    path = tmp_path / "site.py"
    path.write_text('hosts = ["box1"]\n')
    monkeypatch.setattr(reading, "read", lambda _: listed(HOSTS))
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
        pytest.param(("box[2:9]",), ["box2"], id="a range"),
        pytest.param(("[a:c]0[7:8].*",), ["c07.example"], id="ranges and a pattern"),
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
    monkeypatch.setattr(reading, "read", lambda _: listed(hosts))
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
        pytest.param(("box[3:9]",), "matches no host", id="a range of others"),
        pytest.param(("box[2:1]",), r"box\[2:1\]: \[2:1\] counts down", id="a range of none"),
    ],
)
def test_a_limit_that_matches_nothing_is_an_error(
    file: Path, limits: tuple[str, ...], told: str
) -> None:
    with pytest.raises(ApuhostError, match=told):
        inventory.load(file, limits)


@pytest.mark.parametrize("name", ["nosuch.py", "site.py/inside"])
def test_a_missing_file_is_an_error(file: Path, name: str) -> None:
    with pytest.raises(InventoryError, match="no such inventory file"):
        inventory.load(file.parent / name)


def test_what_is_no_plain_file_is_said_and_not_waited_for(file: Path) -> None:
    os.mkfifo(file.parent / "pipe")
    for path in (file.parent / "pipe", Path("/dev/zero")):
        with pytest.raises(InventoryError, match="is a pipe, a socket or a device, no inventory"):
            inventory.load(path)
    with pytest.raises(InventoryError, match="is a folder, no inventory file"):
        inventory.load(file.parent)
    (file.parent / "group_data").mkdir()
    os.mkfifo(file.parent / "group_data" / "all.py")
    with pytest.raises(InventoryError, match=r"group_data/all\.py: no plain file"):
        inventory.load(file)


def test_a_folder_that_may_not_be_looked_into_is_said(file: Path) -> None:
    file.parent.chmod(0)
    try:
        with (
            ordinary_user(),
            pytest.raises(InventoryError, match="cannot be read: Permission denied"),
        ):
            inventory.load(file)
    finally:
        file.parent.chmod(0o700)


def test_an_inventory_without_hosts_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "read", lambda _: Read(()))
    with pytest.raises(InventoryError, match="no host in it"):
        inventory.load(file)


def test_wrong_keys_are_told_where_pyinfra_only_stumbles(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = (Host("box1", (), {"ssh_port": "22"}), Host("box2", (), {"ssh_key": [1]}))
    monkeypatch.setattr(reading, "read", lambda _: listed(bad, "Invalid connector data"))
    with pytest.raises(InventoryError) as raised:
        inventory.load(file, ("box2",))
    lines = str(raised.value).splitlines()
    assert [line.partition(" is ")[0].split(": ")[1:] for line in lines[:2]] == [
        ["box1", "ssh_port"],
        ["box2", "ssh_key"],
    ]
    assert lines[2] == "2 problems, nothing contacted"


def test_a_fault_of_another_kind_is_told_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "read", lambda _: listed(HOSTS, "site.py:3: NameError: x"))
    with pytest.raises(InventoryError, match=r"^site.py:3: NameError: x$"):
        inventory.load(file)


@pytest.mark.parametrize(
    ("name", "groups", "told"),
    [
        pytest.param("box1", ["hosts", "site"], "", id="once"),
        pytest.param("box1", ["hosts", "boxes", "site"], "", id="in two groups"),
        pytest.param("box1", ["hosts", "hosts", "site"], "box1 is twice in hosts", id="twice"),
        pytest.param("@local", ["hosts", "site", "@local"] * 2, "", id="a connector, once"),
        pytest.param("@local", ["hosts"] * 4, "@local is twice in hosts", id="a connector, twice"),
    ],
)
def test_a_host_that_is_twice_in_a_list_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, groups: list[str], told: str
) -> None:
    entry = {"name": name, "groups": groups, "data": {}}
    monkeypatch.setattr(reading, "read", lambda _: Read((entry,)))
    if told:
        with pytest.raises(InventoryError, match=told):
            inventory.load(file)
    else:
        assert inventory.load(file)[0].groups == tuple(dict.fromkeys(groups))


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        pytest.param("@docker/x", {"docker_identifier": "x"}, "not @docker", id="docker"),
        pytest.param("@chroot/x", {"chroot_directory": "/x"}, "not @chroot", id="chroot"),
        pytest.param("-oProxyCommand=x", {}, "no - before it", id="an option of ssh"),
        pytest.param("box 1", {}, "letters, digits", id="a blank"),
        pytest.param("box 1", {"ssh_hostname": "192.0.2.1"}, "letters", id="a blank, an address"),
        pytest.param("site/box1", {"ssh_hostname": "192.0.2.1"}, "letters", id="a slash"),
        pytest.param("..", {"ssh_hostname": "192.0.2.1"}, "letters", id="a folder above"),
        pytest.param("box1:22", {}, 'write ("box1", {"ssh_port": 22})', id="a port"),
        pytest.param("me@box1", {}, 'write ("box1", {"ssh_user": "me"})', id="a user"),
        pytest.param("ssh://box1", {}, 'write "box1"', id="a URL"),
        pytest.param("@ssh/me@box1", {}, 'write ("box1", {"ssh_user": "me"})', id="ssh, a user"),
        pytest.param("bøx_1.example", {}, "", id="a name"),
        pytest.param("2001:db8::1", {}, "", id="an address"),
        pytest.param("@ssh/box1", {"ssh_hostname": "box1"}, "", id="ssh"),
        pytest.param("@local", {}, "", id="local"),
    ],
)
def test_a_host_that_cannot_be_reached_is_one_line(
    file: Path, name: str, data: dict[str, Any], told: str
) -> None:
    host = Host(name, (), data)
    if not told:
        assert name in inventory.settings(file, [host])
        return
    with pytest.raises(InventoryError) as raised:
        inventory.settings(file, [host])
    (line, _) = str(raised.value).splitlines()
    assert f": {name}: " in line
    assert told in line


@pytest.mark.parametrize(
    ("name", "who"),
    [
        pytest.param("a" * 300, f"{'a' * 40}... (300 letters)", id="long"),
        pytest.param("b\x1b[2Jx\n", r"b\x1b[2Jx\n", id="control characters"),
    ],
)
def test_a_host_that_no_terminal_could_show_is_one_line(file: Path, name: str, who: str) -> None:
    with pytest.raises(InventoryError) as raised:
        inventory.settings(file, [Host(name, (), {"ssh_hostname": "192.0.2.1"})])
    (line, _) = str(raised.value).splitlines()
    assert f": {who}: cannot be a host's name: " in line


KEY = "there is no such file on this machine"


@pytest.mark.parametrize(
    ("name", "key", "told"),
    [
        pytest.param("box1", "{home}/id", "", id="there"),
        pytest.param("box1", "~/id", "", id="at home"),
        pytest.param("box1", "{home}/nosuch", f"ssh_key is {{home}}/nosuch: {KEY}", id="not there"),
        pytest.param("box1", "~/nosuch", f"ssh_key is ~/nosuch: {KEY}", id="not at home"),
        pytest.param("box1", "{home}", f"ssh_key is {{home}}: {KEY}", id="a folder"),
        pytest.param("@local", "/nosuch", "", id="this machine needs none"),
    ],
)
def test_a_key_that_is_not_there_is_told_before_any_contact(  # noqa: PLR0913, PLR0917
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, key: str, told: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "id").touch()
    host = Host(name, (), {"ssh_key": key.format(home=tmp_path)})
    if not told:
        assert name in inventory.settings(file, [host])
        return
    with pytest.raises(InventoryError) as raised:
        inventory.settings(file, [host])
    (line, _) = str(raised.value).splitlines()
    assert line.endswith(f": {name}: {told.format(home=tmp_path)}")


def test_a_configuration_of_ssh_that_is_not_there_is_told_and_none_is_none(file: Path) -> None:
    with pytest.raises(InventoryError, match=f"ssh_config_file is /nosuch: {KEY}"):
        inventory.settings(file, [Host("box1", (), {"ssh_config_file": "/nosuch"})])
    for named in ("none", "/dev/null"):
        assert inventory.settings(file, [Host("box1", (), {"ssh_config_file": named})])


@pytest.mark.parametrize("key", ["ssh_key", "ssh_config_file", "ssh_known_hosts_file"])
def test_a_file_for_ssh_that_may_not_be_read_is_told_before_any_contact(
    file: Path, tmp_path: Path, key: str
) -> None:
    named = tmp_path / "mine"
    named.touch(mode=0o000)
    with ordinary_user(), pytest.raises(InventoryError) as raised:
        inventory.settings(file, [Host("box1", (), {key: str(named)})])
    (line, _) = str(raised.value).splitlines()
    assert line.endswith(f": box1: {key} is {named}: Permission denied")
    assert inventory.settings(file, [Host("box1", (), {"ssh_known_hosts_file": "/nosuch"})])


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o600])
def test_group_data_that_may_not_be_read_is_one_line(tmp_path: Path, mode: int) -> None:
    site, folder = tmp_path / "site.py", tmp_path / "group_data"
    site.write_text('hosts = ["box1"]\n')
    folder.mkdir()
    (folder / "all.py").write_text("_sudo = True\n")
    folder.chmod(mode)
    with ordinary_user(), pytest.raises(InventoryError, match=r"group_data.*: Permission denied$"):
        inventory.load(site)


SOURCES = {
    "site.py": (
        'hosts = [("box1", {"kernel_gtt_gib": 48}), ("box2", dict(ssh_port=22)), "box3",\n'
        '         ("box4", data("kernel_gtt_gib")), ("box5", {**{"kernel_gtt_gib": 1}})]\n'
    ),
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
    ("name", "key", "file"),
    [
        pytest.param("box1", "kernel_gtt_gib", "site.py", id="the host's own value wins"),
        pytest.param("box2", "kernel_gtt_gib", "group_data/all.py", id="another host's own"),
        pytest.param("box3", "kernel_gtt_gib", "group_data/all.py", id="a host without data"),
        pytest.param("box4", "kernel_gtt_gib", "site.py", id="perhaps its own"),
        pytest.param("box5", "kernel_gtt_gib", "site.py", id="perhaps among its own"),
        pytest.param("box9", "kernel_gtt_gib", "site.py", id="a computed host"),
        pytest.param("box2", "ssh_port", "site.py", id="as a keyword"),
        pytest.param("box1", "kernel_amd_iommu", "group_data/all.py", id="site-wide"),
        pytest.param("box1", "kernel_extra_args", "group_data/site-a.py", id="the last group"),
        pytest.param("box1", "ssh_user", "site.py", id="a comment gives nothing"),
        pytest.param("box1", "kernel_remove_args", "site.py", id="nowhere: the inventory itself"),
    ],
)
def test_the_file_that_a_key_came_from(site: Path, name: str, key: str, file: str) -> None:
    found = sources.origin(site, name, ("broken", "boxes", "site-a"), key)
    assert found == site.parent / file


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
