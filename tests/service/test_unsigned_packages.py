"""apt itself, on a host whose own settings let unsigned packages in: from a bundle none comes."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from apuhost.probes import mirror

pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="not installed: apt-get")

PERMISSIVE = """Acquire::AllowInsecureRepositories "true";
Acquire::AllowDowngradeToInsecureRepositories "true";
Acquire::AllowWeakRepositories "true";
APT::Get::AllowUnauthenticated "true";
"""
PACKAGES = """Package: evil
Version: 1
Architecture: all
Maintainer: nobody <nobody@example.org>
Filename: evil_1_all.deb
Size: 1
SHA256: {}
Description: nothing
"""


@dataclass(frozen=True)
class Host:
    """A host's apt that knows one repository, which nobody signed."""

    folder: Path

    @property
    def source(self) -> str:
        """The list of that repository."""
        return str(self.folder / "bundle.sources")

    def apt(self, words: str) -> int:
        """What apt-get ends with."""
        only = f"-o Dir::Etc::sourcelist={self.source} -o Dir::Etc::sourceparts=/dev/null"
        command = ["apt-get", "-q", *only.split(), *words.split()]
        environ = {**os.environ, "APT_CONFIG": str(self.folder / "conf"), "LC_ALL": "C"}
        return subprocess.run(command, env=environ, check=False, capture_output=True).returncode


@pytest.fixture
def host(tmp_path: Path) -> Host:
    repository, packages = tmp_path / "apt", PACKAGES.format(hashlib.sha256(b"x").hexdigest())
    for part in ("apt", "state/lists/partial", "cache/archives/partial"):
        (tmp_path / part).mkdir(parents=True)
    (repository / "Packages").write_text(packages)
    digest = hashlib.sha256(packages.encode()).hexdigest()
    told = f"Date: Mon, 30 Nov 2026 09:00:00 UTC\nSHA256:\n {digest} {len(packages)} Packages\n"
    (repository / "Release").write_text(told)
    (tmp_path / "key.asc").write_text("")
    (tmp_path / "bundle.sources").write_text(
        f"Types: deb\nURIs: file:{repository}\nSuites: ./\nSigned-By: {tmp_path}/key.asc\n"
    )
    (tmp_path / "status").write_text("")
    (tmp_path / "conf").write_text(
        f'Dir::State "{tmp_path}/state"; Dir::State::status "{tmp_path}/status";\n'
        f'Dir::Cache "{tmp_path}/cache"; Dir::Etc::parts "/dev/null";\n'
        f'APT::Sandbox::User "root";\n{PERMISSIVE}'
    )
    return Host(tmp_path)


STRICT = "update -o APT::Update::Error-Mode=any"


def test_what_nobody_signed_is_not_read_whatever_the_host_lets_in(host: Host) -> None:
    assert host.apt(STRICT) == 0, "the host lets it in"
    assert host.apt("install -s evil") == 0
    assert host.apt(f"{mirror.alone(host.source)} {STRICT}") != 0


def test_what_was_read_before_is_not_installed(host: Host) -> None:
    host.apt(STRICT)
    assert host.apt(f"{mirror.alone(host.source)} install -y --download-only evil") != 0
