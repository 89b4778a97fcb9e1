"""A file's signature by an SSH key: ssh-keygen makes and checks it (OpenSSH's PROTOCOL.sshsig).

The namespace keeps a signature that was given for something else from counting here.
"""

import os
import re
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from apuhost.bundle import plain
from apuhost.bundle.item import BundleError
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.refusal import RefusedError

NAMESPACE = "apuhost-bundle"
MOST_BYTES = 64 * 1024
SECONDS = 120
"""A key on a token waits for its owner's touch."""

_FINGERPRINT = re.compile(r" key (SHA256:\S+)$", re.MULTILINE)
_DSA = " with DSA key "
_UNASKED = ("SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY")
"""With no terminal either, ssh-keygen has nothing to ask a passphrase by."""

_SIGNING = {
    "incorrect passphrase": "has a passphrase: let an agent sign (ssh-add {key}); nothing is asked",
    "too open": "others can read this key, so ssh-keygen ignores it: chmod 600 {key}",
    "No private key found": "no private key here and none in an agent: ssh-add it (SSH_AUTH_SOCK)",
    "load public key": "no key in OpenSSH's form: ssh-keygen -t ed25519 makes one",
}
_READING = {
    "namespace does not match": f"signed for another purpose, not as {NAMESPACE}",
    "incorrect signature": "another file than this one was signed, or this one was changed since",
    "Couldn't parse signature": "cut or damaged, no SSH signature",
    "invalid format": "cut or damaged, no SSH signature",
}
_TRUSTING = {
    "Unable to open allowed keys": "{signers}: cannot be read",
    "key has expired": "signed by {key}, whose time in {signers} is over, by this machine's clock",
    "not yet valid": "signed by {key}, whose time in {signers} is to come, by this machine's clock",
    "not permitted for use": "signed by {key}, which {signers} allows for other namespaces only",
    "certificate": "signed by {key}, whose certificate {signers} does not allow",
    "No principal matched": "signed by {key}, which is not in {signers}",
}


@dataclass(frozen=True)
class Signer:
    """Who signed: the name in the list of signers, and the key's fingerprint (`SHA256:...`)."""

    identity: str
    fingerprint: str


@dataclass(frozen=True)
class Signed:
    """The very bytes whose signature was checked: use them, read the file no second time."""

    content: bytes
    signer: Signer


def path_of(file: Path) -> Path:
    """Where the signature of a file is."""
    return file.with_name(f"{file.name}.sig")


def check_key(key: Path) -> None:
    """Sign something with it, so that what is wrong shows before hours of work.

    A key on a token wants its owner's touch here, too.

    Raises:
        BundleError: it does not sign, or not so that every host can check it.
    """
    with TemporaryDirectory() as folder:
        trial = Path(folder) / "trial"
        trial.write_bytes(b"")
        sign(trial, key)
        made = _ssh_keygen(["check-novalidate", "-n", NAMESPACE, "-s", str(path_of(trial))])
    if made.returncode or _DSA in made.stdout:
        raise BundleError(
            f"{key}: hosts do not take its signature (OpenSSH 10 knows no DSA): make another key,"
            " ssh-keygen -t ed25519"
        )


def sign(file: Path, key: Path) -> None:
    """Write the signature beside the file. `key` is private, or public with its agent at hand.

    Raises:
        BundleError: it cannot be done without asking, or at all.
    """
    try:
        path_of(file).unlink(missing_ok=True)  # else ssh-keygen asks whether it may
    except OSError as error:
        raise BundleError(f"{error.filename}: {error.strerror}") from error
    _check_readable(key)
    told = _ssh_keygen(["sign", "-n", NAMESPACE, "-f", str(key.absolute()), str(file.absolute())])
    if told.returncode:
        raise BundleError(f"{key}: {_said(told, _SIGNING, key=key)}")


def _check_readable(key: Path) -> None:
    """ssh-keygen calls every file that it cannot read one that is not there, and waits for some."""
    try:
        if not stat.S_ISREG(key.stat().st_mode):
            raise BundleError(f"{key}: no plain file: a key is one")
        key.open("rb").close()
    except OSError as error:
        raise BundleError(f"{key}: {error.strerror}") from error


def verify(file: Path, signers: Path, most: int) -> Signed:
    """The file's bytes (`most` at most) and who signed them, by a list of allowed signers.

    Raises:
        BundleError: the list is not there, or lies beside what it should vouch for.
        RefusedError: not signed, or by nobody of them; or the file is not what was signed.
    """
    _check_place(signers, file.parent)
    where = path_of(file)
    content = _content(file, most)
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "sig"  # one reading of it for all three questions
        kept.write_bytes(_content(where, MOST_BYTES))
        return Signed(content, _signer(content, kept, signers, where))


def _signer(content: bytes, kept: Path, signers: Path, where: Path) -> Signer:
    """Three questions, so that each fault has its name; the last alone decides."""
    sig, allowed = ["-s", str(kept)], ["-f", str(signers.absolute())]
    read = _ssh_keygen(["check-novalidate", "-n", NAMESPACE, *sig], content)
    if read.returncode:
        raise RefusedError(f"{where}: {_said(read, _READING)}")
    key = _fingerprint(read)
    found = _ssh_keygen(["find-principals", *sig, *allowed])
    names = [name for name in found.stdout.splitlines() if not name.startswith("!")]
    if found.returncode or not names:
        raise RefusedError(f"{where}: {_said(found, _TRUSTING, key=key, signers=signers)}")
    judged = _ssh_keygen(["verify", "-n", NAMESPACE, "-I", names[0], *sig, *allowed], content)
    if judged.returncode:
        raise RefusedError(f"{where}: {_said(judged, _TRUSTING, key=key, signers=signers)}")
    return Signer(names[0], _fingerprint(judged))


def _check_place(signers: Path, folder: Path) -> None:
    """Who can write the bundle could else name himself as its signer."""
    try:
        place = signers.resolve(strict=True)
        inside = any(each.samefile(folder) for each in place.parents)
    except OSError as error:
        raise BundleError(f"{error.filename or signers}: {error.strerror}") from error
    if not place.is_file():
        raise BundleError(f"{signers}: no file of allowed signers")
    if inside:
        raise BundleError(f"{signers}: lies within the bundle: take a list that came another way")


def _content(path: Path, most: int) -> bytes:
    try:
        return plain.content(path, most)
    except NotPlainError as error:
        hint = ": the bundle is not signed" if path.suffix == ".sig" else ""
        raise RefusedError(f"{path}: {error}{hint}") from error


def _ssh_keygen(words: Sequence[str], content: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run it with no terminal and nothing else to ask by."""
    environ = {name: value for name, value in os.environ.items() if name not in _UNASKED}
    try:
        done = subprocess.run(
            ["ssh-keygen", "-Y", *words], input=content, capture_output=True, check=False,
            env={**environ, "SSH_ASKPASS_REQUIRE": "never"}, start_new_session=True,
            timeout=SECONDS,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise BundleError("ssh-keygen is not on this machine: install openssh-client") from error
    except subprocess.TimeoutExpired as error:
        raise BundleError(f"ssh-keygen -Y {words[0]}: no answer in {SECONDS} s") from error
    out, err = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _fingerprint(done: subprocess.CompletedProcess[str]) -> str:
    found = _FINGERPRINT.search(done.stdout)
    return found[1] if found else "an unnamed key"


def _said(
    done: subprocess.CompletedProcess[str], sentences: dict[str, str], **names: object
) -> str:
    """The sentence for what ssh-keygen said, or what it said itself."""
    known = [each.format(**names) for words, each in sentences.items() if words in done.stderr]
    lines = done.stderr.strip().splitlines() or [f"ssh-keygen -Y ended with {done.returncode}"]
    return known[0] if known else lines[-1]
