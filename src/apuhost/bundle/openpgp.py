"""The key that signs a bundle's apt repository: made on first use, for nothing else.

apt checks OpenPGP signatures alone. The bundle's own signature covers this key's public half.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from apuhost import places
from apuhost.bundle.item import BundleError
from apuhost.locks import exclusive

_NAME = "apuhost bundle"
# An Ed25519 signature tells its time: with a clock that is told, the same text has the same bytes.
# The key is older than every lock, since a signature from before its key is none.
_MADE = "20260101T000000"
_TIME = "%Y%m%dT%H%M%S"


def home() -> Path:
    """GnuPG's folder for this key alone."""
    return places.config_directory() / "bundle-gnupg"


@dataclass(frozen=True)
class Key:
    """An Ed25519 key in a folder of GnuPG's of its own."""

    home: Path

    def public(self) -> bytes:
        """For Signed-By: ASCII, so its file's name ends in .asc (sources.list(5))."""
        return self._gpg("--armor", "--export-options", "export-minimal", "--export")

    def clearsigned(self, text: bytes, created: datetime) -> bytes:
        """The text with its signature, as of `created`: the same twice."""
        at = created.strftime(_TIME)
        return self._gpg(*_clock(at), "--digest-algo", "SHA512", "--clear-sign", given=text)

    def _gpg(self, *words: str, given: bytes = b"") -> bytes:
        with _agent(self.home):
            if not _output(self.home, ("--list-secret-keys", "--with-colons")):
                _output(self.home, _MAKING)
            return _output(self.home, words, given)


def _clock(at: str) -> tuple[str, str]:
    return ("--faked-system-time", f"{at}!")


_MAKING = (
    *_clock(_MADE), "--cert-digest-algo", "SHA512", "--quick-generate-key", _NAME, "ed25519",
    "sign", "never",
)  # fmt: skip


@contextmanager
def _agent(folder: Path) -> Iterator[None]:
    """GnuPG's agent for one turn: it would stay for ever."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    with exclusive(folder / "apuhost.lock"):
        try:
            yield
        finally:
            _run(("gpgconf", "--homedir", str(folder), "--kill", "gpg-agent"), b"")


def _output(folder: Path, words: tuple[str, ...], given: bytes = b"") -> bytes:
    options = ("--homedir", str(folder), "--batch", "--no-tty", "--quiet", "--no-options")
    nobody_asked = ("--pinentry-mode", "loopback", "--passphrase", "")
    done = _run(("gpg", *options, *nobody_asked, *words), given)
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise BundleError(f"{folder}: gpg: {said}")
    return done.stdout


def _run(command: tuple[str, ...], given: bytes) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(command, input=given, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise BundleError(f"{command[0]} is not here: apt-get install gnupg") from error
