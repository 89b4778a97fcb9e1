"""Ctrl-C, or an end that is asked for, while a host hangs: one line, and nothing goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FAKE_SSH = """#!/bin/sh
echo $$ >> "$SSH_PIDS"
exec sleep 300
"""


def alive(pid: int) -> bool:
    """Whether a process of that number still runs (a zombie does not)."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("verb", ["plan", "verify"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_it_and_its_ssh(tmp_path: Path, verb: str, number: signal.Signals) -> None:
    ssh, pids = tmp_path / "ssh", tmp_path / "pids"
    ssh.write_text(FAKE_SSH)
    ssh.chmod(0o755)
    site = tmp_path / "site.py"
    site.write_text('hosts = [(name, {"ssh_hostname": "127.0.0.1"}) for name in "abc"]\n')
    with subprocess.Popen(
        [sys.executable, "-m", "apuhost.cli", verb, str(site)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SSH_PIDS": str(pids)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs the tests in a script's background has it ignored, and so would every child.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        until = time.monotonic() + 120
        while not pids.exists() or len(pids.read_text().split()) < 3:
            assert time.monotonic() < until, "ssh was never started"
            time.sleep(0.1)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said == "interrupted; run it again to go on\n"
    time.sleep(0.5)
    assert [pid for pid in map(int, pids.read_text().split()) if alive(pid)] == []
