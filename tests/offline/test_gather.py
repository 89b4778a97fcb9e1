"""Why a host gave no facts, in a sentence that says what to do."""

import subprocess

import pytest

from apuhost.gather import gather, reason
from apuhost.inventory import Host

CHANGED = (
    "@@@@@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
    "Host key verification failed.\n"
)


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        pytest.param(CHANGED, "ssh-keygen -R", id="another host key"),
        pytest.param(
            "No ED25519 host key is known for box1 and you have requested strict checking.\n"
            "Host key verification failed.\n",
            "connect once by hand",
            id="unknown host key",
        ),
        pytest.param(
            "admin@box1: Permission denied (publickey).\n", "ssh-copy-id", id="login refused"
        ),
        pytest.param(
            "ssh: Could not resolve hostname box1: Name or service not known\n",
            "does not resolve",
            id="no such name",
        ),
        pytest.param(
            "ssh: connect to host box1 port 22: Connection refused\n", "sshd", id="no sshd"
        ),
        pytest.param(
            "ssh: connect to host box1 port 22: Connection timed out\n",
            "switched on",
            id="switched off",
        ),
        pytest.param(
            "ssh: connect to host box1 port 22: No route to host\n", "network", id="no route"
        ),
        pytest.param("sudo: a password is required\n", "NOPASSWD", id="sudo asks"),
        pytest.param(
            "sudo: 1 incorrect password attempt\n", "_sudo_password", id="sudo: wrong password"
        ),
        pytest.param(
            "admin is not in the sudoers file.\n", "group sudo", id="no right to use sudo"
        ),
        pytest.param("env: 'sudo': No such file or directory\n", "no sudo", id="no sudo"),
        pytest.param(
            "env: \u2018sudo\u2019: No such file or directory\n", "no sudo", id="no sudo, UTF-8"
        ),
        pytest.param("Banner\n\nsomething else\n\n", "something else", id="their own last word"),
        pytest.param("", "exit 255", id="no word"),
    ],
)
def test_a_failed_connection_says_what_to_do(stderr: str, told: str) -> None:
    sentence = reason(255, stderr)
    assert told in sentence
    assert "\n" not in sentence


def test_nobody_asked_gives_no_facts() -> None:
    assert gather([]) == {}


def test_a_host_that_cannot_be_reached_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_ssh(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "ssh")

    monkeypatch.setattr(subprocess, "Popen", no_ssh)
    hosts = [Host("box1", (), {}), Host("@docker/x", (), {})]
    found = gather(hosts)
    assert "apt-get install openssh-client" in str(found["box1"])
    assert "over ssh" in str(found["@docker/x"])
