"""Stand-in servers, a registry of tiny models; keys, a small bundle, a host that ssh reaches."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.support import bundles, fake_llama_server, standin_server
from tests.support.bundles import IDENTITY, public
from tests.support.sshd import Sshd, sshd
from tests.support.standin_server import Registry, Server

from apuhost.rehearsal import ports


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """The tiny models over TLS."""
    with standin_server.registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


class Machine:
    """Starts servers on one store, one after the other."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.store = folder / "models"
        self._library = fake_library(folder / "lib")
        (folder / "dri").mkdir()
        (folder / "dri" / "renderD128").touch()
        self._environ = {
            "OLLAMA_MODELS": str(self.store), "SSL_CERT_DIR": str(registry.ca.parent),
            "HOME": str(folder), "OLLAMA_IGPU_ENABLE": "1",
        }  # fmt: skip

    def start(self, **environ: str) -> AbstractContextManager[Server]:
        """A server with these variables."""
        (port,) = ports.free(1)
        host = {"OLLAMA_HOST": f"127.0.0.1:{port}"}
        command = standin_server.from_checkout(self._library, self.folder / "dri")
        log = self.folder / "server.log"
        return standin_server.serving(command, {**self._environ, **host, **environ}, log, port)


def fake_library(folder: Path) -> Path:
    """Ollama's folder of programs, with the fake in llama-server's place."""
    (folder / "vulkan").mkdir(parents=True)
    (folder / "vulkan" / "libggml-vulkan.so").touch()
    text = Path(fake_llama_server.__file__).read_text()
    program = folder / "llama-server"
    program.write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable}", 1))
    program.chmod(0o755)
    return folder


@pytest.fixture
def machine(tmp_path: Path, registry: Registry) -> Machine:
    """With an empty store."""
    return Machine(tmp_path, registry)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys that sign: ours, which is in the list `signers`, another, and one with a passphrase."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ours", "other"):
        bundles.key(folder / name)
    bundles.key(folder / "locked", "a passphrase")
    (folder / "signers").write_text(f"{IDENTITY} {public(folder / 'ours')}\n")
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Path:
    """A small bundle of ours: who changes something takes a copy."""
    folder = tmp_path_factory.mktemp("made")
    bundles.write(folder, keys / "ours")
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """An sshd with a disk of its own."""
    with sshd(tmp_path_factory.mktemp("sshd")) as started:
        yield started


@pytest.fixture
def box(running: Sshd) -> Sshd:
    """A host over ssh that has no bundle and knows no mirror."""
    for folder in ("/var/lib/apuhost", "/etc/apuhost"):
        shutil.rmtree(running.path(folder), ignore_errors=True)
    return running
