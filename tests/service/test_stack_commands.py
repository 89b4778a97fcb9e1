"""The stack's probes under the real shell: bare, with programs of the tests' own, and no secret."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apuhost.probes import (
    ParseError,
    accounts,
    apt_sources,
    nodes,
    ollama_log,
    packages,
    runners,
    vulkaninfo,
)

pytestmark = pytest.mark.service

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _run(command: str, programs: Path | None = None, path: str = PATH) -> str:
    done = subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=30,
        env={"LC_ALL": "C", "PATH": f"{programs}:{path}" if programs else path},
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def _program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_this_machines_packages_accounts_sources_and_nodes() -> None:
    assert "dpkg" in packages.parse(_run(packages.COMMAND)).installed
    assert "root" in accounts.parse(_run(accounts.COMMAND)).users
    assert apt_sources.parse(_run(apt_sources.COMMAND)).sources
    assert all(node.path for node in nodes.parse(_run(nodes.COMMAND)).nodes)


POLICY = "printf 'firmware-amd-graphics:\\n  Installed: (none)\\n  Candidate: 1-2\\n'"


@pytest.mark.parametrize(
    ("status", "candidates"),
    [
        pytest.param("ii ", {}, id="installed"),
        pytest.param("hi ", {}, id="held"),
        pytest.param("iiR", {"firmware-amd-graphics": "1-2"}, id="broken"),
        pytest.param("rc ", {"firmware-amd-graphics": "1-2"}, id="removed"),
        pytest.param("", {"firmware-amd-graphics": "1-2"}, id="unknown"),
    ],
)
def test_apt_is_asked_of_firmware_that_is_to_come(
    tmp_path: Path, status: str, candidates: dict[str, str]
) -> None:
    _program(tmp_path, "dpkg-query", f"printf '%s' '{status}'")
    _program(tmp_path, "apt-cache", POLICY)
    assert apt_sources.parse(_run(apt_sources.COMMAND, tmp_path)).candidates == candidates


@pytest.mark.parametrize("probe", [packages, accounts])
def test_without_its_programs_a_list_is_not_read(probe: object, tmp_path: Path) -> None:
    bare = _bare(tmp_path)
    with pytest.raises(ParseError):
        probe.parse(_run(probe.COMMAND, path=str(bare)))  # type: ignore[attr-defined]


def _bare(folder: Path) -> Path:
    """A folder with the few programs that every host has."""
    for name in ("head", "sed", "cut", "cat", "tr", "timeout", "sh", "grep", "awk", "wc"):
        (folder / name).symlink_to(next(f"/{at}/{name}" for at in ("usr/bin", "bin")))
    return folder


def test_without_vulkaninfo_and_docker_there_is_nothing(tmp_path: Path) -> None:
    bare = str(_bare(tmp_path))
    assert vulkaninfo.parse(_run(vulkaninfo.COMMAND, path=bare)).error is not None
    assert ollama_log.parse(_run(ollama_log.COMMAND, path=bare)).server_starts == 0
    assert nodes.parse(_run(nodes.COMMAND, path=bare)) is not None


def test_vulkaninfo_that_fails_says_why(tmp_path: Path) -> None:
    _program(tmp_path, "vulkaninfo", "echo 'Cannot create Vulkan instance.' >&2; exit 1")
    assert vulkaninfo.parse(_run(vulkaninfo.COMMAND, tmp_path)).error == (
        "Cannot create Vulkan instance."
    )


SECRETS = ("topsecret", "pa@ss", "key1")
ENVIRONMENT = {
    "PATH": PATH,
    "OLLAMA_HOST": "http://ada:topsecret@box:11434",
    "OLLAMA_API_KEY": "key1",
    "HTTPS_PROXY": "ada:pa@ss@proxy.lan:3128",
    "no_proxy": "localhost,.lan",
    "LLAMA_TWO": "first\nsecond",
    "HOME": "/topsecret",
}


@contextmanager
def _running(folder: Path) -> Iterator[int]:
    """A process named llama-server that waits for its standard input."""
    program = folder / "llama-server"
    program.symlink_to("/bin/bash")
    arguments = ["read x; read y", "--model", "a b\nprocess 1", "--api-key", "topsecret", "-c", "8"]
    with subprocess.Popen(
        [str(program), "-c", *arguments], stdin=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        try:
            time.sleep(0.2)  # until it is bash no more that stands in /proc, but llama-server
            yield process.pid
        finally:
            process.kill()


def test_a_runners_words_and_variables_leave_the_host_without_secrets(tmp_path: Path) -> None:
    with _running(tmp_path) as pid:
        text = _run(runners.COMMAND)
    assert not [secret for secret in SECRETS if secret in text]
    (process,) = [found for found in runners.parse_processes(text).processes if found.pid == pid]
    assert process.runner is not None
    assert (process.runner.model, process.argv[-1]) == ("a b\nprocess 1", "8")
    assert process.environment == {
        "OLLAMA_HOST": "http://***@box:11434",
        "OLLAMA_API_KEY": "***",
        "HTTPS_PROXY": "***@proxy.lan:3128",
        "no_proxy": "localhost,.lan",
        "LLAMA_TWO": "first\nsecond",
    }


CONTAINER = """case "$1 $2" in
  "ps -aq") printf '%064d\\n' 7 ;;
  "inspect --type") printf '%064d\\ttrue\\t/ollama\\tollama\\tollama/ollama\\n' 7 ;;
  "inspect --format") echo 2026-01-01T00:00:00.1Z ;;"""


def test_a_long_log_keeps_its_beginning_and_its_end_but_no_settings(tmp_path: Path) -> None:
    _program(
        tmp_path,
        "docker",
        f"""{CONTAINER}
  "logs --since")
    echo 'msg="server config" env="map[HTTPS_PROXY:http://ada:topsecret@proxy]"' >&2
    echo 'time=1 level=INFO msg="Listening on [::]:11434 (version 0.34.1)"' >&2
    for n in $(seq 2000); do
      echo "load_tensors: offloaded $n/2000 layers to GPU"
      echo "slot update_slots: nothing to see"
    done ;;
esac""",
    )
    text = _run(ollama_log.COMMAND, tmp_path)
    assert "topsecret" not in text
    assert "slot" not in text
    read = ollama_log.parse(text)
    assert (read.server_starts, read.version) == (1, "0.34.1")
    assert read.layers == ollama_log.Layers(2000, 2000)


def test_a_log_that_docker_cannot_read_is_refused(tmp_path: Path) -> None:
    refusal = 'echo "Error response from daemon: no such driver" >&2; exit 1'
    _program(tmp_path, "docker", f'{CONTAINER}\n  "logs --since") {refusal} ;;\nesac')
    with pytest.raises(ParseError, match="no such driver"):
        ollama_log.parse(_run(ollama_log.COMMAND, tmp_path))
