"""The toolkit's Python packages for the target's Python: built wheels alone, each by its hash.

pip says which wheel a Python takes, from where this machine's pip has its packages. Of an index
with metadata beside its wheels (PEP 658) nothing more is downloaded for that.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from apuhost.bundle import blobs, lengths
from apuhost.bundle.item import BundleError, Item, Text
from apuhost.lockfile import Blob, Lock, Target, Wheel
from apuhost.web import Get

_FOLDER = "wheels"
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_GLIBC = 36
"""The minor version of Debian 12's, the oldest of the distributions that apuhost runs on."""

_OLDEST_GLIBC = 5  # PEP 600: manylinux_2_5 is manylinux1
_BEFORE_PEP_600 = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_MISSING = re.compile(r"No matching distribution found for (\S+)")
_AT_ONCE = 8


def resolve(target: Target, requirements: Path, cache: Path, get: Get) -> tuple[Wheel, ...]:
    """The wheel of every line of a locked requirements file; the sizes come from its server.

    A wheel of an index in a folder goes to the cache: another machine could not fetch it.

    Raises:
        BundleError: a package has no wheel for that Python, the index's wheel is none of those
            that the requirements' hashes allow, or pip failed: its own words.
    """
    text = requirements.read_text(encoding="utf-8")
    allowed = frozenset(_HASH.findall(text))
    downloads = [record["download_info"] for record in _report(target, plain(text))]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda each: _wheel(each, allowed, cache, get), downloads)
        return tuple(sorted(found, key=lambda each: each.name))


def items(lock: Lock) -> Iterator[Item]:
    """The wheels."""
    for wheel in lock.wheels:
        yield Item(f"{_FOLDER}/{wheel.name}", wheel.file, wheel.url)


def texts(lock: Lock) -> Iterator[Text]:
    """requirements.txt with a hash for each wheel: pip takes no other (--require-hashes)."""
    if lock.wheels:
        lines = "".join(f"{_requirement(wheel)}\n" for wheel in lock.wheels)
        yield Text(f"{_FOLDER}/requirements.txt", lines.encode())


def check(folder: Path, target: Target) -> None:
    """Whether a bundle's wheels can be installed for the target's Python, with no index.

    pip itself resolves them, each by its hash; what a package needs beyond them, it names. Markers
    (PEP 508) count as on this machine's Python: requirements.lock holds for all of them.

    Raises:
        BundleError: pip's own words.
    """
    found = folder / _FOLDER
    done = _pip(
        *(
            "--isolated",
            "install",
            "--quiet",
            "--dry-run",
            "--no-index",
            "--find-links",
            str(found),
        ),
        *("--require-hashes", "--ignore-installed", *_of_target(target)),
        *("-r", str(found / "requirements.txt")),
    )
    if done.returncode:
        raise BundleError(_why(done.stderr, target, f"{found}"))


def platforms(architecture: str) -> tuple[str, ...]:
    """Every tag of a wheel that runs there, the best first: pip itself adds but the older names."""
    machine = _MACHINES[architecture]
    tags = []
    for minor in range(_GLIBC, _OLDEST_GLIBC - 1, -1):
        tags.append(f"manylinux_2_{minor}_{machine}")
        if minor in _BEFORE_PEP_600:
            tags.append(f"{_BEFORE_PEP_600[minor]}_{machine}")
    return (*tags, f"linux_{machine}")


def plain(requirements: str) -> str:
    """The same without hashes: with them pip downloads each wheel to check it."""
    return "".join(f"{name}=={version}\n" for name, version in _REQUIREMENT.findall(requirements))


def _requirement(wheel: Wheel) -> str:
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version} --hash={wheel.file.digest}"


def _report(target: Target, requirements: str) -> list[dict[str, Any]]:
    done = _pip(
        *("install", "--quiet", "--dry-run", "--report", "-", "--no-deps", "--ignore-installed"),
        *(*_of_target(target), "-r", "/dev/stdin"),
        given=requirements,
    )
    if done.returncode:
        raise BundleError(_why(done.stderr, target, "this machine's package index"))
    return list(json.loads(done.stdout)["install"])


def _of_target(target: Target) -> Iterator[str]:
    # pip takes another Python's wheels only with a folder to install them to; nothing goes there.
    yield from ("--only-binary=:all:", "--target", "/nowhere")
    yield from ("--python-version", target.python, "--implementation", "cp")
    for tag in platforms(target.architecture):
        yield from ("--platform", tag)


def _pip(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pip", *words],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def _why(said: str, target: Target, index: str) -> str:
    if missing := _MISSING.search(said):
        return (
            f"{missing[1]} has no wheel for Python {target.python} on {target.architecture} in"
            f" {index}: lock another version of it"
        )
    errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
    return f"pip: {(errors or said.splitlines() or ['it failed'])[-1]}"


def _wheel(download: Mapping[str, Any], allowed: frozenset[str], cache: Path, get: Get) -> Wheel:
    url = str(download["url"])
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    digest = download.get("archive_info", {}).get("hashes", {}).get("sha256")
    if digest not in allowed:
        raise BundleError(f"{url}: its SHA-256 is none of those in the requirements: not trusted")
    if url.startswith("file:"):
        return Wheel(name, url, _kept(url, digest, cache))
    return Wheel(name, url, Blob(f"sha256:{digest}", lengths.told(url, get)))


def _kept(url: str, digest: str, cache: Path) -> Blob:
    blob = blobs.keep(Path(unquote(urlsplit(url).path)), cache)
    if blob.digest != f"sha256:{digest}":
        raise BundleError(f"{url}: its SHA-256 is not what its index says: not trusted")
    return blob
