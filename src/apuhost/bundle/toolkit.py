"""This checkout, as its last commit has it: what a host without internet installs apuhost from."""

import io
import subprocess
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from apuhost.bundle.item import BundleError, Text
from apuhost.lockfile import Lock


def version(checkout: Path) -> str:
    """What a lock names the toolkit by: 0.1.0+COMMIT.

    Raises:
        BundleError: it is no git checkout, or has changes that no commit holds.
    """
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no").decode()
    if changed:
        raise BundleError(
            f"{checkout}: {changed.splitlines()[0][3:]} has changes that no commit holds: a"
            " bundle takes a commit along: commit them, or git stash"
        )
    return f"{metadata.version('apuhost')}+{_git(checkout, 'rev-parse', 'HEAD').decode().strip()}"


def check(lock: Lock, checkout: Path) -> None:
    """Whether the checkout is of the lock's commit.

    Raises:
        BundleError: of another one.
    """
    if (here := version(checkout)) != lock.apuhost:
        raise BundleError(
            f"{checkout} is {here}, the lock is for {lock.apuhost}: git checkout"
            f" {lock.apuhost.rpartition('+')[2]}, or make the lock anew"
        )


def texts(lock: Lock, checkout: Path) -> Iterator[Text]:
    """The commit's files, sorted.

    Raises:
        BundleError: the checkout is of another commit than the lock, or holds a link.
    """
    check(lock, checkout)
    packed = io.BytesIO(_git(checkout, "archive", "--format=tar", "HEAD"))
    with tarfile.open(fileobj=packed) as archive:
        for member in sorted(archive.getmembers(), key=lambda each: each.name):
            if not member.isdir():
                yield Text(f"toolkit/{member.name}", _content(archive, member))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member) if member.isfile() else None
    if stream is None:
        raise BundleError(f"{member.name} is a link: a bundle holds plain files alone")
    return stream.read()


def _git(checkout: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *words],
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise BundleError("git is not here: apt-get install git") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise BundleError(f"{checkout}: git: {said}")
    return done.stdout
