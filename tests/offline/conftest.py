"""The offline tier: seconds, no network, no process."""

import socket
import subprocess
from typing import NoReturn

import pytest
from hypothesis import settings

# The same examples in every run, however busy the machine is: a failure is a failure everywhere.
settings.register_profile("offline", deadline=None, derandomize=True)
settings.load_profile("offline")


@pytest.fixture(autouse=True)
def nothing_leaves_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that starts a process or opens a socket belongs to another tier."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the offline tier starts no process and opens no socket")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
