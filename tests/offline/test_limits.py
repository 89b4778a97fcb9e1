"""A command that does not end fails its host alone, and in time."""

import logging
import socket
from types import SimpleNamespace
from typing import Any, cast

import gevent
import pytest
from deploy import limits, operations
from paramiko import SSHException
from pyinfra.api.exceptions import PyinfraError
from pyinfra.connectors.util import CommandOutput, OutputLine

from apuhost import roles
from apuhost.steps import script, told


class Connected:
    """A host of pyinfra's, whose commands take so many seconds."""

    def __init__(self, seconds: float = 0, sock: object = None, **data: object) -> None:
        self.name, self.print_prefix = "box1", "[box1] "
        self.data = SimpleNamespace(dict=lambda: data)
        self.seconds = seconds
        self.error: Exception | None = None
        self.active = self.stays = True
        self.kept_alive: list[int] = []
        transport = SimpleNamespace(
            sock=sock, set_keepalive=self.kept_alive.append, is_active=lambda: self.active
        )
        self.closed: list[bool] = []
        client = SimpleNamespace(
            get_transport=lambda: transport, close=lambda: self.closed.append(True)
        )
        self.connector = SimpleNamespace(client=client)
        self.ran: list[dict[str, object]] = []

    def run_shell_command(self, _: object, **arguments: object) -> limits.Done:
        """Sleep, and say that it is done, unless the connection does not last so long."""
        self.ran.append(arguments)
        gevent.sleep(self.seconds)
        self.active = self.stays
        if self.error:
            raise self.error
        return self.active, CommandOutput([OutputLine("stdout", "done")])


def run(command: operations.Bounded, host: Connected) -> limits.Done:
    state: Any = SimpleNamespace(print_input=False, print_output=False)
    asked: Any = host
    return command.execute(state, asked, {})


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings whose limits are a moment, which no inventory may set."""
    brief = {"host_command_timeout_s": 0.2, "host_pull_timeout_s": 0.4}
    monkeypatch.setattr(limits, "allowed", lambda _, key: brief[key])


COMMANDS = [operations.root_script(make("sleep 300")) for make in (script, told)]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("command", COMMANDS, ids=["a command", "a pull"])
def test_a_command_without_an_end_fails_and_says_which_setting_gives_it_more(
    command: operations.Bounded, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    host = Connected(seconds=300)
    with gevent.Timeout(30):
        done, said = run(command, host)
    assert (done, said.output, host.closed) == (False, "", [True])
    assert f"[box1] no end to it within 0 s ({command.limit})" in caplog.text


@pytest.mark.usefixtures("short")
def test_a_host_that_hangs_lets_another_one_go_on() -> None:
    hosts = [gevent.spawn(run, COMMANDS[0], Connected(seconds=each)) for each in (300, 0)]
    with gevent.Timeout(30):
        gevent.joinall(hosts)
    assert [each.value[0] for each in hosts] == [False, True]


def test_a_command_that_ends_in_time_is_as_it_was() -> None:
    host = Connected()
    done, said = run(operations.root_script(script("true", stdin="x")), host)
    assert (done, said.output, host.ran[0]["_stdin"]) == (True, "done", "x")


@pytest.mark.parametrize(
    ("error", "stays", "sentence"),
    [
        pytest.param(EOFError(), True, limits.LOST, id="a channel that opens"),
        pytest.param(None, False, limits.LOST, id="while it ran"),
        pytest.param(SSHException("SSH session not active"), False, limits.LOST, id="before"),
        pytest.param(OSError(9, "Bad file descriptor"), False, limits.LOST, id="its socket"),
        pytest.param(SSHException("Timeout opening channel."), True, "Timeout opening", id="slow"),
        pytest.param(PyinfraError("no space:\n/tmp"), True, "no space: /tmp", id="pyinfra's own"),
        pytest.param(TimeoutError(), True, "TimeoutError()", id="without a word"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS, ids=["a command", "a pull"])
def test_a_command_that_cannot_be_run_to_its_end_fails_in_one_line(
    command: operations.Bounded,
    error: Exception | None,
    stays: bool,
    sentence: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    host = Connected()
    host.error, host.stays = error, stays
    done, _ = run(command, host)
    assert not done
    (line,) = caplog.messages
    assert line.startswith(f"[box1] {sentence}")


def test_nothing_is_run_over_a_connection_that_is_lost() -> None:
    host = Connected()
    host.active = False
    assert not run(COMMANDS[0], host)[0]
    assert host.ran == []


def test_a_sentence_needs_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    host: Any = Connected()
    host.error = EOFError()
    command = operations.fails("no GRUB: install it")
    state: Any = SimpleNamespace()
    assert command.execute(state, host, {}) is False
    assert caplog.messages == ["[box1] no GRUB: install it"]


def test_somebody_elses_timeout_is_theirs() -> None:
    with pytest.raises(gevent.Timeout), gevent.Timeout(0.1):
        run(COMMANDS[0], Connected(seconds=300))


def test_the_hosts_own_settings_count_and_wrong_ones_do_not() -> None:
    host: Any = Connected(host_command_timeout_s=60)
    assert limits.allowed(host, "host_command_timeout_s") == 60
    wrong: Any = Connected(host_command_timeout_s="60")
    assert (
        limits.allowed(wrong, "host_pull_timeout_s")
        == roles.defaults("host")["host_pull_timeout_s"]
    )


def test_a_connection_whose_other_end_is_gone_is_ended_by_the_kernel() -> None:
    with socket.socket() as sock:
        host: Any = Connected(sock=sock)
        limits.notice_a_lost(host)
        timeout = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert timeout == limits.LOST_AFTER_S * 1000
    assert host.kept_alive == [limits.ASKED_EVERY_S]


def test_a_socket_that_is_closed_is_nothing_to_set() -> None:
    sock = socket.socket()
    sock.close()
    limits.notice_a_lost(cast("Any", Connected(sock=sock)))


@pytest.mark.parametrize("connector", [SimpleNamespace(), SimpleNamespace(client=None)])
def test_a_host_without_ssh_has_no_connection_to_lose(connector: object) -> None:
    host: Any = SimpleNamespace(connector=connector)
    limits.notice_a_lost(host)


def test_a_channel_of_a_jump_host_is_no_socket() -> None:
    host: Any = Connected(sock=object())
    limits.notice_a_lost(host)
    assert host.kept_alive
