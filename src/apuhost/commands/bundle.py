"""`apuhost bundle`: what a site without internet needs, locked, built, checked and listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from apuhost import evidence, inventory, places, roles
from apuhost.bundle import (
    difference,
    fit,
    joining,
    listing,
    locking,
    manifest,
    reading,
    signature,
    sizes,
    splitting,
)
from apuhost.bundle import verifying as checking
from apuhost.bundle.fit import Case
from apuhost.bundle.item import BundleError
from apuhost.bundle.locking import Asked
from apuhost.bundle.manifest import Entry
from apuhost.bundle.sources import Sources
from apuhost.bundle.verifying import Bundle
from apuhost.commands import output
from apuhost.commands.progress import progress
from apuhost.evidence import Loaded
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock, Target
from apuhost.lockfile import as_text as lock_text
from apuhost.report import visible
from apuhost.settings import Settings

_MOST_BYTES = 1024 * 1024
"""Of a file for apt."""

_MARKS = {True: "ok", False: "FAIL", None: "?"}


@dataclass(frozen=True)
class Locked:
    """What `lock` writes: the file, for which hosts' target and from which package sources.

    Without a `target` it is that of the file that is there, without `sources` they are Debian's.
    Of `kinds` alone is asked anew; with none of everything.
    """

    file: Path
    target: str = ""
    sources: Path | None = None
    preferences: Path | None = None
    kinds: Sequence[str] = ()


def lock(path: Path, limits: Sequence[str], wanted: Locked) -> int:
    """Write the lock of an inventory's hosts; what changed against the file that was there."""
    output.check({"output": str(wanted.file)})
    before = reading.read(wanted.file) if wanted.file.exists() or wanted.kinds else None
    asked = _asked(path, limits, wanted, before)
    if before and wanted.kinds:
        found = locking.updated(asked, before, wanted.kinds)
    else:
        found = locking.made(asked, before.serial + 1 if before else 1)
    for line in difference.lines(before or _nothing(found), found):
        print(line)
    for problem in output.write({str(wanted.file): lock_text(found)}):
        raise BundleError(problem)
    return 0


def _asked(path: Path, limits: Sequence[str], wanted: Locked, before: Lock | None) -> Asked:
    target = _target(wanted, before)
    if wanted.kinds and before and target != before.target:
        raise BundleError(f"{wanted.file}: for another target: lock it whole, without --update")
    settings = inventory.settings(path, inventory.load(path, limits))
    given = Sources(*(_text(each) if each else "" for each in (wanted.sources, wanted.preferences)))
    return Asked(tuple(settings.values()), target, roles.CHECKOUT, _cache(), given)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise BundleError(f"{file}: no text, but apt's files are") from error


def _target(wanted: Locked, before: Lock | None) -> Target:
    if wanted.target:
        return locking.target(wanted.target)
    if before:
        return before.target
    raise BundleError(f"{wanted.file}: no lock yet: say --target, e.g. debian/trixie")


def verify(folder: Path, signers: Path, reason: str, hosts: Sequence[Path]) -> int:
    """Signature, then every hash, then whether it fits hosts by the facts that were saved of them.

    Exit 1: it must not be used, or does not fit; 2: of some host that cannot be told.
    """
    loaded = [evidence.load(path) for path in hosts]
    bundle = checked(folder, signers, reason)
    found = [each for facts in loaded for each in all_fitting(bundle, facts)]
    return 1 if False in found else 2 if None in found else 0


def checked(folder: Path, signers: Path, reason: str) -> Bundle:
    """The bundle in a folder, judged by its signature and every hash; says what it finds.

    Raises:
        RefusedError: it must not be used.
        BundleError: what it takes to judge it is not there.
    """
    listed, signer = checking.signed(folder, signers)
    total = sum(each.size for each in listed.files)
    print(visible(f"signed by  {signer.identity} ({signer.fingerprint})"))
    count = len(listed.files)
    about = f"serial {listed.serial}, locked {listed.created}"
    print(f"           {about}, {sizes.shown(total)}, {count} files")
    with progress("hashed", total) as told:
        bundle = checking.verified(folder, signers, told, reason)
    print(f"hashes     {count} of {count} good")
    return bundle


def all_fitting(bundle: Bundle, loaded: Loaded) -> list[bool | None]:
    """Whether it fits each host; of one whose facts may not be read, that it cannot be told."""
    for name, why in loaded.closed.items():
        print(visible(f"for {name}"))
        print(visible(f"{_MARKS[None]:4}  facts      {why}"))
    answers = [
        each for name, host in loaded.hosts.items() for each in _fitting(bundle, name, *host)
    ]
    return [*answers, *(None for _ in loaded.closed)]


def _fitting(bundle: Bundle, name: str, settings: Settings, facts: HostFacts) -> list[bool | None]:
    """Print whether it fits a host, a line for each question."""
    print(visible(f"for {name}, as of {facts.gathered}"))
    with TemporaryDirectory() as scratch:
        answers = list(fit.answers(Case(bundle, settings, facts, Path(scratch))))
    for each in answers:
        print(visible(f"{_MARKS[each.fits]:4}  {each.subject:9}  {each.said}"))
    return [each.fits for each in answers]


def carried(folder: Path, signers: Path) -> int:
    """Print the carry-in list of a signed bundle."""
    listed, _ = checking.signed(folder, signers)
    stated = checking.licences(folder, listed)
    for line in listing.lines([*listed.files, *_own(folder)], stated):
        print(line)
    return 0


def split(folder: Path, output: Path, size: str) -> int:
    """Write a bundle as volumes for sticks or discs."""
    limit = sizes.parse(size)
    with progress("written", _size(folder)) as told:
        volumes = splitting.split(folder, output, told, limit)
    for each in volumes:
        print(f"{each}  {sizes.shown(_size(each))}")
    print(f"to put them together: apuhost bundle join VOLUME... -o {folder.resolve().name}")
    return 0


def join(volumes: Sequence[Path], folder: Path) -> int:
    """Copy volumes to their bundle; 2 while some are missing."""
    with progress("copied", sum(map(_size, volumes))) as told:
        missing = joining.join(volumes, folder, told)
    if missing:
        numbers = ", ".join(map(str, missing))
        print(f"missing yet: volume {numbers}: apuhost bundle join VOLUME... -o {folder} goes on")
        return 2
    print(f"{folder}  whole; to check it: apuhost bundle verify {folder} --signers FILE")
    return 0


def changes(old: Path, new: Path) -> int:
    """Print what changes from one lock, or bundle's folder, to another."""
    for line in difference.lines(reading.read(old), reading.read(new)):
        print(line)
    return 0


def _own(folder: Path) -> list[Entry]:
    files = (folder / manifest.NAME, signature.path_of(folder / manifest.NAME))
    return [manifest.entry(file.name, file.read_bytes()) for file in files]


def _size(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def _cache() -> Path:
    return places.cache_directory() / "bundles"


def _nothing(found: Lock) -> Lock:
    """What there was before the first lock."""
    return Lock(found.serial, found.created, found.apuhost, found.target)
