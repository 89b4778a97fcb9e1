"""A command that does not end fails its host alone, and in time."""

import logging
import socket
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from deploy import limits, operations
from pyinfra.connectors.util import CommandOutput, OutputLine

from apuhost import roles
from apuhost.settings.host import HostSettings
from apuhost.steps import script, told


class Connected:
    """A host of pyinfra's, whose commands take so many seconds."""

    def __init__(self, seconds: float = 0, sock: object = None, **data: object) -> None:
        self.name, self.print_prefix = "box1", "[box1] "
        self.data = SimpleNamespace(dict=lambda: data)
        self.seconds = seconds
        self.kept_alive: list[int] = []
        transport = SimpleNamespace(sock=sock, set_keepalive=self.kept_alive.append)
        self.closed: list[bool] = []
        client = SimpleNamespace(
            get_transport=lambda: transport, close=lambda: self.closed.append(True)
        )
        self.connector = SimpleNamespace(client=client)
        self.ran: list[dict[str, object]] = []

    def run_shell_command(self, _: object, **arguments: object) -> limits.Done:
        """Sleep, and say that it is done."""
        self.ran.append(arguments)
        gevent.sleep(self.seconds)
        return True, CommandOutput([OutputLine("stdout", "done")])


def run(command: operations.Bounded, host: Connected) -> limits.Done:
    state: Any = SimpleNamespace(print_input=False, print_output=False)
    asked: Any = host
    return command.execute(state, asked, {})


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings whose limits are a moment, which no inventory may set."""
    brief = HostSettings.model_construct(host_command_timeout_s=0.2, host_pull_timeout_s=0.4)
    monkeypatch.setattr(limits, "_settings", lambda _: brief)


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


def test_somebody_elses_timeout_is_theirs() -> None:
    with pytest.raises(gevent.Timeout), gevent.Timeout(0.1):
        run(COMMANDS[0], Connected(seconds=300))


def test_the_hosts_own_settings_count_and_wrong_ones_do_not() -> None:
    host: Any = Connected(host_command_timeout_s=60)
    assert limits._settings(host).host_command_timeout_s == 60
    wrong: Any = Connected(host_command_timeout_s="60")
    assert limits._settings(wrong) == HostSettings(**roles.defaults("host"))


def test_a_connection_whose_other_end_is_gone_is_ended_by_the_kernel() -> None:
    with socket.socket() as sock:
        host: Any = Connected(sock=sock)
        limits.notice_a_lost(host)
        timeout = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert timeout == limits.LOST_AFTER_S * 1000
    assert host.kept_alive == [limits.ASKED_EVERY_S]


@pytest.mark.parametrize("connector", [SimpleNamespace(), SimpleNamespace(client=None)])
def test_a_host_without_ssh_has_no_connection_to_lose(connector: object) -> None:
    host: Any = SimpleNamespace(connector=connector)
    limits.notice_a_lost(host)


def test_a_channel_of_a_jump_host_is_no_socket() -> None:
    host: Any = Connected(sock=object())
    limits.notice_a_lost(host)
    assert host.kept_alive
