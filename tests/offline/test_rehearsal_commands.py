"""The command lines and files that the rehearsal's machine is made and reached by."""

import base64
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from apuhost.rehearsal import image, keys, qemu, ssh
from apuhost.rehearsal.process import printable, tail
from apuhost.rehearsal.state import Machine

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "a, b", 2222, "operator", tmp_path / "base", 5000, 5001)


def option(command: list[str], name: str) -> list[str]:
    return [value for flag, value in pairwise(command) if flag == name]


def test_only_this_machine_reaches_the_guest(machine: Machine) -> None:
    command = qemu.start_command(machine, qemu.EMULATION)
    assert option(command, "-netdev") == ["user,id=net,hostfwd=tcp:127.0.0.1:2222-:22"]


def test_an_isolated_guest_is_reached_and_reaches_nobody(machine: Machine) -> None:
    command = qemu.start_command(replace(machine, isolated=True), qemu.EMULATION)
    assert option(command, "-netdev") == ["user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:2222-:22"]


def test_a_cable_leads_to_one_other_machine_from_both_ends(machine: Machine) -> None:
    ends = [
        qemu.start_command(replace(machine, isolated=True, cable=cable), qemu.EMULATION)
        for cable in ((6001, 6002), (6002, 6001))
    ]
    assert [option(each, "-netdev")[1] for each in ends] == [
        "socket,id=cable,udp=127.0.0.1:6002,localaddr=127.0.0.1:6001",
        "socket,id=cable,udp=127.0.0.1:6001,localaddr=127.0.0.1:6002",
    ]
    cards = [option(each, "-device")[2] for each in ends]
    assert cards[0] != cards[1]  # each with an address of its own


def test_both_writable_drives_can_hold_snapshots(machine: Machine) -> None:
    drives = option(qemu.start_command(machine, qemu.EMULATION), "-drive")
    assert all("format=qcow2" in drive for drive in drives if "readonly=on" not in drive)
    assert not any("cache=unsafe" in drive for drive in drives)  # flushed data outlives SIGKILL


def test_a_comma_in_a_path_ends_no_option(machine: Machine) -> None:
    drives = option(qemu.start_command(machine, qemu.EMULATION), "-drive")
    assert all("a,, b" in drive for drive in drives if "readonly=on" not in drive)


def test_keys_travel_in_a_file_not_on_the_command_line(machine: Machine) -> None:
    fw_cfg = option(qemu.start_command(machine, qemu.EMULATION), "-fw_cfg")
    assert fw_cfg == [
        "name=opt/io.systemd.credentials/tmpfiles.extra,file="
        + str(machine.credentials).replace(",", ",,")
    ]


def test_our_qemu_is_known_by_its_disk(machine: Machine, tmp_path: Path) -> None:
    other = replace(machine, directory=tmp_path / "other")
    arguments = ["/usr/bin/qemu-system-x86_64", *qemu.start_command(machine, ())[1:]]
    assert qemu.is_ours(arguments, machine)
    assert not qemu.is_ours(arguments, other)
    assert not qemu.is_ours(["/bin/cat", *arguments[1:]], machine)
    assert not qemu.is_ours([], machine)


@pytest.mark.parametrize("name", ["bare", "deployed-2", "b"])
def test_snapshot_names(name: str) -> None:
    assert qemu.snapshot_command("savevm", name) == f"savevm {name}"


@pytest.mark.parametrize("name", ["", "two words", "-a", "1", "a;quit", "a\nquit", "é", "a/b"])
def test_the_monitor_gets_plain_words_only(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits and - only"):
        qemu.snapshot_command("savevm", name)


def test_names_of_snapshots() -> None:
    text = (
        "List of snapshots present on all disks:\r\n"
        "ID        TAG               VM SIZE                DATE     VM CLOCK     ICOUNT\r\n"
        "--        bare              512 MiB 2026-01-02 03:04:05 00:00:41.000           0\r\n"
        "2         deployed          512 MiB 2026-01-02 03:05:05 00:01:41.000           0\r\n"
    )
    assert qemu.snapshot_names(text) == ["bare", "deployed"]
    assert qemu.snapshot_names("There is no snapshot available.\r\n") == []


def test_credentials_are_tmpfiles_lines_that_bring_the_keys() -> None:
    text = keys.credentials(
        user="operator",
        host_key=SECRET,
        host_public_key="ssh-ed25519 HOST rehearsal\n",
        client_public_key="ssh-ed25519 CLIENT me\n",
    )
    lines = {fields[1]: fields for fields in map(str.split, text.splitlines())}
    host_key = lines["/etc/ssh/ssh_host_ed25519_key"]
    assert host_key[:5] == ["f~", "/etc/ssh/ssh_host_ed25519_key", "0600", "root", "root"]
    assert base64.b64decode(host_key[-1]).decode() == SECRET
    login = lines["/home/operator/.ssh/authorized_keys"]
    assert login[2:5] == ["0600", "operator", "operator"]
    assert base64.b64decode(login[-1]) == b"ssh-ed25519 CLIENT me\n"


def test_the_host_key_is_pinned_under_address_and_port() -> None:
    assert keys.known_hosts(2222, "ssh-ed25519 AAAA rehearsal\n") == (
        "[127.0.0.1]:2222 ssh-ed25519 AAAA\n"
    )


def test_ssh_never_accepts_another_host_key(machine: Machine) -> None:
    lines = [line.strip() for line in keys.ssh_config(machine).splitlines()]
    assert "StrictHostKeyChecking yes" in lines
    assert f'UserKnownHostsFile "{machine.known_hosts}"' in lines
    assert "GlobalKnownHostsFile /dev/null" in lines


def test_words_reach_the_guest_as_they_are(machine: Machine) -> None:
    words = ["sh", "-c", "echo 'a  b' $HOME; :"]
    command = ssh.batch_command(machine, words)
    assert shlex.split(command[-1]) == words
    assert "BatchMode=yes" in command


def test_debian_is_verified_by_its_own_keyring() -> None:
    command = image.tree_command(Path("/t"), "http://mirror.example/debian")
    assert "trusted" not in " ".join(command)
    main, backports = command[-2:]
    assert main == (
        f"deb [signed-by={image.KEYRING}] http://mirror.example/debian trixie"
        " main non-free-firmware"
    )
    assert f"signed-by={image.KEYRING} " in backports


def test_what_a_deploy_installs_is_downloaded_and_never_installed() -> None:
    command = image.tree_command(Path("/t"), "http://mirror.example/debian")
    (installed,) = (word for word in command if word.startswith("--include="))
    assert not set(image.DOWNLOADED) & set(installed.removeprefix("--include=").split(","))
    assert any(word.endswith(" ".join(image.DOWNLOADED)) for word in command)


def test_partitions_and_file_systems_have_the_same_places() -> None:
    _, parted, fat, ext4 = image.disk_commands(Path("/d"), Path("/t"))
    assert parted[parted.index("fat32") + 1] == "1MiB"
    assert "--offset=2048" in fat  # sectors of 512 bytes
    start = parted[parted.index("ext4") + 1]
    assert f"offset={int(start.removesuffix('MiB')) * 1024**2}" in ext4
    end = int(parted[-1].removesuffix("MiB"))
    assert end < image.DISK_MIB
    assert ext4[-1] == f"{(end - int(start.removesuffix('MiB'))) * 1024}k"


def test_another_mirror_is_another_image() -> None:
    one, other = "http://one.example/debian", "http://other.example/debian"
    assert image.key(one) == image.key(one) != image.key(other)


def test_a_console_is_shown_without_its_escapes(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    console.write_bytes(b"\x1b[2J\x1b[01;01H\x1b[=3hLoading\r\n\n\x1b[0mlogin: \xff\n")
    assert tail(console) == ["Loading", "login: \ufffd"]
    assert tail(console, 1) == ["login: \ufffd"]
    assert tail(tmp_path / "absent") == []
    assert printable("a\tb\x00\x1b[31mred") == "abred"
