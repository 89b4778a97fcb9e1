"""A target's packages with all that they depend on, as apt itself solves it for that target."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from apuhost.bundle import apt, blobs
from apuhost.bundle.apt import Root
from apuhost.bundle.item import BundleError, Item
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Blob, Deb, Lock, Release, Target

_INDEX = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(METAKEY)|$(FILENAME)"
_URI = re.compile(
    r"'(?P<url>[^']+)' (?P<file>\S+)\.deb (?P<size>\d+) SHA256:(?P<digest>[0-9a-f]{64})"
)
_MADISON = re.compile(r" *(\S+) \| +(\S+) \| +(\S+) (\S+)/\S+ \S+ Packages")
_NO_PATH = re.compile(r"[^A-Za-z0-9.-]+")


def resolve(
    target: Target, names: Iterable[str], sources: Sources, cache: Path, status: str = ""
) -> tuple[tuple[Release, ...], tuple[Deb, ...]]:
    """Packages that a host with this dpkg status lacks for `names`, and the lists that name them.

    With no status, all of it down to libc: enough for every host of that suite. Recommended
    packages stay out, as in a deploy. The lists' signed files go to the cache: their addresses
    have others soon.

    Raises:
        BundleError: a list could not be had or is not signed, a package is not in them, or its
            dependencies cannot be met: apt's own words.
    """
    folder = cache / "apt" / f"{target.distribution}-{target.suite}-{target.architecture}"
    with apt.root(folder, target, sources, status) as root:
        root.update()
        releases = _releases(root, cache)
        found = tuple(_debs(root, names, releases))
    used = {deb.release for deb in found}
    kept = (release for release in releases if release.inrelease.digest in used)
    return (
        tuple(sorted(kept, key=lambda each: (each.uri, each.suite))),
        tuple(sorted(found, key=lambda each: (each.name, each.version))),
    )


def items(lock: Lock) -> Iterator[Item]:
    """The packages, and the signed files of the lists that they came from."""
    for deb in lock.debs:
        yield Item(f"apt/{pool_path(deb)}", deb.file, deb.url)
    for release in lock.releases:
        url = f"{release.uri}/dists/{release.suite}/InRelease"
        yield Item(f"apt/upstream/{_plain(release)}_InRelease", release.inrelease, url)


def pool_path(deb: Deb) -> str:
    """Where a package lies in the repository; without the epoch, as in Debian's own."""
    version = deb.version.partition(":")[2] or deb.version
    return f"pool/{deb.name}_{version}_{deb.architecture}.deb"


def _plain(release: Release) -> str:
    return _NO_PATH.sub("_", f"{release.uri.partition('://')[2]}_{release.suite}")


def _releases(root: Root, cache: Path) -> tuple[Release, ...]:
    """What the sources name, each with the file whose signature apt has verified."""
    components: dict[tuple[str, str, Path], list[str]] = {}
    for line in root.run("apt-get", "indextargets", "--format", _INDEX).splitlines():
        uri, suite, component, key, file = line.split("|")
        # apt names a list by its address, with _ for /: they differ in what follows the suite.
        inrelease = Path(file.rpartition(key.replace("/", "_"))[0] + "InRelease")
        components.setdefault((uri.rstrip("/"), suite, inrelease), []).append(component)
    return tuple(
        Release(uri, suite, tuple(dict.fromkeys(each)), _kept(file, cache, uri))
        for (uri, suite, file), each in components.items()
    )


def _kept(inrelease: Path, cache: Path, uri: str) -> Blob:
    try:
        return blobs.keep(inrelease, cache)
    except FileNotFoundError as error:
        raise BundleError(f"{uri} has no InRelease: a bundle keeps that as its origin") from error


def _debs(root: Root, names: Iterable[str], releases: tuple[Release, ...]) -> Iterator[Deb]:
    printed = root.run("apt-get", "-qq", "install", "--print-uris", "--", *sorted(names))
    uris = [_matched(line) for line in printed.splitlines() if line.startswith("'")]
    versions = {name_version(match["file"]): match for match in uris}
    origins = _origins(root, sorted({name for name, _, _ in versions}))
    for (name, version, architecture), match in versions.items():
        url = match["url"]
        named = {
            (release.uri, release.suite): release.inrelease.digest
            for release in releases
            if url.startswith(f"{release.uri}/")
        }
        known = [named[each] for each in origins.get((name, version), ()) if each in named]
        if not known:
            raise BundleError(f"{url}: no signed list of packages names it")
        file = Blob(f"sha256:{match['digest']}", int(match["size"]))
        yield Deb(name, version, architecture, url, file, known[0])


def _matched(line: str) -> re.Match[str]:
    if match := _URI.fullmatch(line.strip()):
        return match
    raise BundleError(f"apt names a package without its SHA-256: {line}")


def name_version(file: str) -> tuple[str, str, str]:
    """Name, version and architecture of a package, from the file name that apt gives it."""
    name, version, architecture = map(unquote, file.split("_"))
    return name, version, architecture


def _origins(root: Root, names: list[str]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """By name and version, the archives and suites that have it, as apt prefers them."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for line in root.run("apt-cache", "madison", "--", *names).splitlines() if names else ():
        if match := _MADISON.fullmatch(line):
            found.setdefault((match[1], match[2]), []).append((match[3].rstrip("/"), match[4]))
    return found
