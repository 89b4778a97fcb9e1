"""The command line that runs a script as root on a host."""

import shlex
from pathlib import Path

import pytest

from apuhost.connection import SCRIPT_TIMEOUT_S, ConnectionProblem, as_root, is_local, ssh
from apuhost.inventory import Host


def host(name: str = "box1", **data: object) -> Host:
    return Host(name, (), data)


def options(argv: tuple[str, ...]) -> list[str]:
    """Everything between `ssh` and the destination."""
    return list(argv[1:-1])


def test_an_unknown_host_key_is_never_accepted_and_nothing_is_asked() -> None:
    given = ssh(host(ssh_strict_host_key_checking="no"))
    assert "StrictHostKeyChecking=yes" in given
    assert "BatchMode=yes" in given
    assert "StrictHostKeyChecking=no" not in given


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        pytest.param({"ssh_port": 2222}, ["-p", "2222"], id="port"),
        pytest.param({"ssh_user": "admin"}, ["-l", "admin"], id="user"),
        pytest.param({"ssh_config_file": "/etc/c"}, ["-F", "/etc/c"], id="config: jump hosts"),
        pytest.param(
            {"ssh_key": "~/k"}, ["-i", f"{Path.home()}/k", "-o", "IdentitiesOnly=yes"], id="key"
        ),
        pytest.param(
            {"ssh_known_hosts_file": "/tmp/known"},
            ["-o", 'UserKnownHostsFile="/tmp/known"'],
            id="known hosts",
        ),
    ],
)
def test_pyinfras_data_become_options_of_the_systems_ssh(
    data: dict[str, object], parts: list[str]
) -> None:
    given = options(ssh(Host("box1", (), data)))
    assert given[-len(parts) :] == parts


@pytest.mark.parametrize(
    ("found", "destination"),
    [
        pytest.param(host(), "box1", id="its name"),
        pytest.param(host("@ssh/box1"), "box1", id="with the connector"),
        pytest.param(host(ssh_hostname="192.0.2.10"), "192.0.2.10", id="its address"),
        pytest.param(host(ssh_hostname="fe80::1%eth0"), "fe80::1%eth0", id="IPv6"),
    ],
)
def test_the_destination(found: Host, destination: str) -> None:
    assert ssh(found)[-1] == destination


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(host("@docker/x"), "over ssh, or as @local", id="another connector"),
        pytest.param(host(ssh_hostname="-oProxyCommand=x"), "cannot be a host name", id="option"),
    ],
)
def test_what_apuhost_does_not_reach(found: Host, told: str) -> None:
    with pytest.raises(ConnectionProblem, match=told):
        as_root(found, "true")


SCRIPT = "printf '%s\\n' \"a b\"; echo $HOME"


@pytest.mark.parametrize(
    ("data", "root", "stdin"),
    [
        pytest.param({}, [], "", id="root already"),
        pytest.param({"_sudo": True}, ["sudo", "-n", "--"], "", id="sudo without a password"),
        pytest.param(
            {"_sudo": True, "_sudo_password": "pass word"},
            ["sudo", "-S", "-p", "", "--"],
            "pass word\n",
            id="sudo with one, on standard input only",
        ),
    ],
)
@pytest.mark.parametrize("name", ["box1", "@local"])
def test_root_is_reached_through_sudo(
    name: str, data: dict[str, object], root: list[str], stdin: str
) -> None:
    connection = as_root(host(name, **data), SCRIPT)
    argv = list(connection.argv)
    ran = argv if name == "@local" else shlex.split(argv[-1])
    shell = ["timeout", str(SCRIPT_TIMEOUT_S), "sh", "-c", SCRIPT]
    assert ran == ([*ran[:2], *root, *shell] if root else shell)
    assert connection.stdin == stdin
    assert "pass word" not in " ".join(argv)


def test_who_has_other_seconds_says_them() -> None:
    connection = as_root(host("box1"), "true", seconds=7)
    assert "timeout 7 sh" in connection.argv[-1]
    assert "took longer than 7 s: " in connection.overdue


def test_this_very_machine_needs_no_ssh() -> None:
    assert is_local(host("@local"))
    assert not is_local(host("local"))
    assert "ssh" not in as_root(host("@local"), "true").argv
