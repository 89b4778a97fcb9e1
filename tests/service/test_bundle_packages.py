"""Real apt solves what a bundle needs on Debian's mirror, and reads the repository made of it."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import repository as made
from tests.support.repository import TARGET, Cache

from apuhost.bundle import apt, blobs, control, copyrights, debs, repository, simulation
from apuhost.bundle.item import BundleError
from apuhost.bundle.openpgp import Key
from apuhost.bundle.simulation import Simulated
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Lock
from apuhost.probes.dpkg_status import DpkgStatus
from apuhost.rehearsal.image import as_root

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "gpg", "gpgconf"))),
    reason="apt or GnuPG is not here",
)

CLOSURE = {"gcc-14-base", "jq", "libc6", "libgcc-s1", "libjq1", "libonig5"}


@pytest.fixture(scope="session")
def cache() -> Cache:
    return made.cache()


@pytest.fixture(scope="session")
def lock(cache: Cache) -> Lock:
    """Jq with all that it depends on."""
    return cache.lock("jq")


@pytest.fixture(scope="session")
def key() -> Iterator[Key]:
    """In a folder with a short name: GnuPG's agent listens on a socket in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Key(Path(folder) / "gnupg")


@pytest.fixture
def bundle(lock: Lock, cache: Cache, key: Key, tmp_path: Path) -> Path:
    """A folder whose name has a blank and a letter beyond ASCII."""
    return made.written(lock, cache, key, tmp_path / "büñdle 1")


def read(bundle: Path, folder: Path, *names: str) -> str:
    """What this machine's apt downloads from the repository, on a host that has nothing."""
    text = repository.source(bundle, TARGET.suite).replace("file:", "copy:")  # else left in place
    with apt.root(folder, TARGET, Sources(text), "") as root:
        root.update()
        return root.run("apt-get", "install", "--download-only", *names)


def test_apt_solves_everything_down_to_libc(lock: Lock, cache: Cache) -> None:
    assert {deb.name for deb in lock.debs} == CLOSURE
    assert lock.debs == tuple(sorted(lock.debs, key=lambda deb: deb.name))
    kept = {release.inrelease.digest: cache.file(release.inrelease) for release in lock.releases}
    assert {deb.release for deb in lock.debs} == set(kept)
    for file in kept.values():
        assert file.read_text().startswith("-----BEGIN PGP SIGNED MESSAGE-----\n")


def test_preferences_choose_between_versions(bundle: Path, tmp_path: Path) -> None:
    given = Sources(
        repository.source(bundle, TARGET.suite), "Package: jq\nPin: release *\nPin-Priority: -1\n"
    )
    with pytest.raises(BundleError, match="jq"):
        debs.resolve(TARGET, ["jq"], given, tmp_path)
    _, found = debs.resolve(TARGET, ["jq"], replace(given, preferences=""), tmp_path)
    assert "jq" in {deb.name for deb in found}


def test_what_the_target_has_is_left_out(
    lock: Lock, cache: Cache, bundle: Path, tmp_path: Path
) -> None:
    there = [deb for deb in lock.debs if deb.name in ("gcc-14-base", "libc6", "libgcc-s1")]
    status = "\n".join(
        f"Status: install ok installed\n{fields(cache.file(deb.file))}" for deb in there
    )
    source = repository.source(bundle, TARGET.suite)
    releases, found = debs.resolve(TARGET, ["jq"], Sources(source), tmp_path, status)
    assert {deb.name for deb in found} == {"jq", "libjq1", "libonig5"}
    (release,) = releases
    signed = bundle / "apt/dists/trixie/InRelease"
    assert blobs.place(release.inrelease, tmp_path).read_bytes() == signed.read_bytes()


def fields(file: Path) -> str:
    done = subprocess.run(["dpkg-deb", "-f", file], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def status_of(*paragraphs: str, foreign: tuple[str, ...] = ()) -> DpkgStatus:
    """A host that has these packages."""
    text = "\n".join(f"Status: install ok installed\n{each.strip()}\n" for each in paragraphs)
    return DpkgStatus(TARGET.architecture, foreign, text)


@pytest.fixture
def libraries(lock: Lock, cache: Cache) -> tuple[str, ...]:
    """What every host has of jq's dependencies."""
    names = ("gcc-14-base", "libc6", "libgcc-s1")
    return tuple(fields(cache.file(deb.file)) for deb in lock.debs if deb.name in names)


def simulated(bundle: Path, folder: Path, status: DpkgStatus) -> Simulated:
    with simulation.root(folder, bundle, TARGET, status) as root:
        return simulation.simulated(root, ["jq"])


def test_a_host_takes_what_it_lacks(
    bundle: Path, libraries: tuple[str, ...], tmp_path: Path
) -> None:
    found = simulated(bundle, tmp_path, status_of(*libraries))
    assert {each.name for each in found.installed} == {"jq", "libjq1", "libonig5"}
    assert {each.before for each in found.installed} == {""}
    assert (found.removed, found.downgraded) == ((), ())


OWN = "Package: own\nVersion: 1\nArchitecture: all\nMaintainer: me\nDescription: x\n"


def test_a_package_that_would_go_is_named(
    bundle: Path, libraries: tuple[str, ...], tmp_path: Path
) -> None:
    status = status_of(*libraries, f"{OWN}Conflicts: libjq1\n")
    assert simulated(bundle, tmp_path, status).removed == ("own",)


def older(paragraph: str, architecture: str = "amd64") -> str:
    text = re.sub(r"^Version: .*", "Version: 2.0", paragraph, flags=re.MULTILINE)
    return text.replace("Architecture: amd64", f"Architecture: {architecture}")


def test_a_library_of_two_architectures_would_break_one(
    bundle: Path, libraries: tuple[str, ...], tmp_path: Path
) -> None:
    """The bundle has the newer one for amd64 alone, and both must be the same (Multi-Arch)."""
    (libc,) = (each for each in libraries if "Package: libc6\n" in each)
    bare = re.sub(r"^(?:Pre-)?(?:Depends|Breaks): .*\n", "", libc, flags=re.MULTILINE)
    status = status_of(older(bare), older(bare, "i386"), foreign=("i386",))
    assert simulated(bundle, tmp_path, status).removed == ("libc6:i386",)


def test_a_package_that_is_held_keeps_others_away(
    bundle: Path, libraries: tuple[str, ...], tmp_path: Path
) -> None:
    held = OWN.replace("own", "libjq1").replace("all", "amd64")
    status = status_of(*libraries, held)
    text = status.text.replace(
        "install ok installed\nPackage: libjq1", "hold ok installed\nPackage: libjq1"
    )
    with pytest.raises(BundleError, match="libjq1"):
        simulated(bundle, tmp_path, replace(status, text=text))


def test_this_machines_apt_reads_the_repository(bundle: Path, tmp_path: Path) -> None:
    printed = read(bundle, tmp_path / "root", "jq")
    assert "6 newly installed" in printed
    archives = tmp_path / "root/var/cache/apt/archives"
    assert {file.name.partition("_")[0] for file in archives.glob("*.deb")} == CLOSURE


def test_debian_13s_apt_reads_it_with_sqv(bundle: Path, cache: Cache, tmp_path: Path) -> None:
    root = unpacked(cache.lock("apt", "dpkg"), cache, tmp_path / "trixie")
    assert (root / "usr/lib/apt/methods/sqv").exists()
    shutil.copytree(bundle / "apt", root / "apt")
    text = repository.source(bundle, TARGET.suite).replace(bundle.as_uri(), "copy:")
    (root / "etc/apt/sources.list.d/bundle.sources").write_text(text)
    for words in (["update"], ["install", "-y", "--download-only", "jq"]):
        done = in_root(root, *words)
        assert (done.returncode, "W:" in done.stdout) == (0, False), done.stdout
    archives = root / "var/cache/apt/archives"
    assert {file.name.partition("_")[0] for file in archives.glob("*.deb")} == CLOSURE
    flipped(root / "apt/dists/trixie/InRelease", b"apuhost")
    assert "Message has been manipulated" in in_root(root, "update").stdout


def unpacked(lock: Lock, cache: Cache, root: Path) -> Path:
    """Packages as a root for chroot(8)."""
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for deb in lock.debs:
        subprocess.run(["dpkg-deb", "-x", cache.file(deb.file), root], check=True)
    for empty in ("dev/null", "tmp/none", "var/lib/dpkg/status"):
        (root / empty).parent.mkdir(parents=True, exist_ok=True)
        (root / empty).touch()
    return root


def in_root(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    options = ["-o", "APT::Sandbox::User=root", "-o", "APT::Update::Error-Mode=any"]
    return subprocess.run(
        [*as_root(), "chroot", str(root), "apt-get", *options, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip


def test_the_same_lock_and_key_give_the_same_bytes(lock: Lock, cache: Cache, key: Key) -> None:
    first, second = (tuple(repository.texts(lock, cache.file, key)) for _ in range(2))
    assert first == second
    later = replace(lock, created="2026-11-30T09:00:01Z")
    differing = {
        mine.path.rpartition("/")[2]
        for mine, theirs in zip(first, repository.texts(later, cache.file, key), strict=True)
        if mine != theirs
    }
    assert differing == {"InRelease", "Release"}


def test_each_package_is_opened_once(
    lock: Lock, cache: Cache, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = {deb.file: tmp_path / str(number) for number, deb in enumerate(lock.debs)}
    for blob, copy in copies.items():
        copy.write_bytes(cache.file(blob).read_bytes())
    first = tuple(repository.texts(lock, copies.__getitem__, key))
    monkeypatch.setattr(control, "subprocess", None)
    assert tuple(repository.texts(lock, copies.__getitem__, key)) == first


def test_a_package_names_its_licences(lock: Lock, cache: Cache) -> None:
    (jq,) = (deb for deb in lock.debs if deb.name == "jq")
    file = cache.file(jq.file)
    file.with_name(f"{file.name}.licences").unlink(missing_ok=True)
    for _ in range(2):
        assert "Expat" in copyrights.of(file, "jq", control.of(file)).split("; ")


def test_the_key_is_its_owners_alone_and_its_agent_gone(key: Key) -> None:
    public = key.public()
    assert b"PUBLIC KEY BLOCK" in public
    assert key.home.stat().st_mode & 0o777 == 0o700
    assert key.public() == public
    until = time.monotonic() + 30  # it was told to end, and does when it gets its turn
    while list(key.home.glob("S.gpg-agent")) and time.monotonic() < until:
        time.sleep(0.1)
    assert not list(key.home.glob("S.gpg-agent"))


def flipped(file: Path, word: bytes) -> None:
    content = file.read_bytes()
    at = content.index(word)
    file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def other_key(bundle: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (bundle / "apt/key.asc").write_bytes(Key(Path(folder)).public())


def no_signature(bundle: Path) -> None:
    (bundle / "apt/dists/trixie/InRelease").unlink()


def first_word(bundle: Path) -> None:
    flipped(bundle / "apt/dists/trixie/InRelease", b"apuhost")


def a_package(bundle: Path) -> None:
    (file,) = (bundle / "apt/pool").glob("jq_*")
    flipped(file, b"data.tar")


def lists(bundle: Path) -> None:
    folder = bundle / "apt/dists/trixie/main/binary-amd64"
    flipped(folder / "Packages", b"jq")
    (folder / "Packages.gz").unlink()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        pytest.param(first_word, "signatures were invalid: BADSIG", id="a signed word"),
        pytest.param(other_key, "NO_PUBKEY", id="another key"),
        pytest.param(no_signature, "is not signed", id="no signature"),
        pytest.param(lists, "Hash Sum mismatch", id="lists"),
        pytest.param(a_package, "Hash Sum mismatch", id="a package"),
    ],
)
def test_what_was_tampered_with_is_refused(
    harm: Callable[[Path], None], told: str, bundle: Path, tmp_path: Path
) -> None:
    harm(bundle)
    with pytest.raises(BundleError, match=told):
        read(bundle, tmp_path / "root", "jq")


def test_a_package_that_is_nowhere_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="apt-get: Unable to locate package no-such"):
        read(bundle, tmp_path / "root", "no-such")


def test_a_dependency_that_is_nowhere_is_named(
    lock: Lock, cache: Cache, key: Key, tmp_path: Path
) -> None:
    cut = replace(lock, debs=tuple(deb for deb in lock.debs if deb.name != "libonig5"))
    bundle = made.written(cut, cache, key, tmp_path / "bundle")
    with pytest.raises(BundleError, match="libjq1 : Depends: libonig5"):
        read(bundle, tmp_path / "root", "jq")


def test_a_file_that_is_no_package_is_told(lock: Lock, key: Key, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("<html>")
    with pytest.raises(BundleError, match="no Debian package"):
        tuple(repository.texts(lock, lambda _: tmp_path / "x", key))
