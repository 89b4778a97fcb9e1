"""Does a bundle fit a host, by its facts: each question good, bad, or not to be told."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK
from tests.offline.test_bundle_wants import FILE, PINNED
from tests.support.hosts import host_facts, settings
from tests.support.rights import ordinary_user

from apuhost import evidence
from apuhost.bundle import debs, files, fit, images, manifest, models, simulation, space, wheels
from apuhost.bundle.fit import Answer, Case
from apuhost.bundle.item import BundleError
from apuhost.bundle.manifest import Entry
from apuhost.bundle.signature import Signer
from apuhost.bundle.simulation import Simulated, Step
from apuhost.bundle.verifying import Bundle
from apuhost.commands import bundle as command
from apuhost.lockfile import Blob, Lock
from apuhost.probes.disk import Disk, Mount
from apuhost.round_trip import Reading

STATUS = "native amd64\nforeign i386\nPackage: bash\nStatus: install ok installed\n\nend\n"
CONFIG = json.dumps({"os": "linux", "architecture": "amd64"}).encode()
NAME = f"docker.io/ollama/ollama:0.34.4@sha256:{'a' * 64}"
DOCKER = Step("docker.io", "", LOCK.debs[0].version)
LISTS = "apt/dists/trixie/main/binary-amd64/Packages"
PACKAGES = f"Package: docker.io\nVersion: {DOCKER.after}\nInstalled-Size: 100\n"
FITTING = {
    "target": "debian/trixie on amd64",
    "packages": "1 to install, 0 to renew, none to remove: 5 B",
    "image": "docker.io/ollama/ollama:0.34.4 for linux/amd64: whole",
    "models": "qwen3:8b: whole",
    "files": "tool: whole",
    "toolkit": (
        "1 wheels for Python 3.13; packages: 0 to install, 0 to renew, none to remove: 0 B"
    ),
}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """All that the lock names is in the manifest; on the disk lies what is looked into."""
    lock = replace(LOCK, files=(FILE,))
    config = tmp_path / "images/blobs/sha256" / ("c" * 64)
    for file, content in ((config, CONFIG), (tmp_path / LISTS, PACKAGES.encode())):
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    return Bundle(tmp_path, listed(lock), lock, Signer("me@site", "SHA256:x"))


def listed(lock: Lock) -> manifest.Manifest:
    found = [item for kind in (images, debs, models, wheels, files) for item in kind.items(lock)]
    entries = [Entry(each.path, each.file.digest.removeprefix("sha256:"), 5) for each in found]
    return manifest.made(lock.serial, lock.created, lock.apuhost, entries)


@pytest.fixture(autouse=True)
def _no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "check", lambda *_: None)


def case(bundle: Bundle, removed: tuple[str, ...] = (), **texts: str) -> Case:
    """A host, and what apt would do there."""
    asked = settings(
        ollama_image=NAME, models_list=[{"name": "qwen3:8b"}], mirror_files=[PINNED],
        host_roles=["docker", "ollama", "models"],
    )  # fmt: skip
    facts = host_facts()
    there = {name: Reading(text, 0) for name, text in {"dpkg_status": STATUS, **texts}.items()}
    facts = replace(facts, readings={**facts.readings, **there})
    found = Case(bundle, asked, facts, Path("/nowhere"))
    plan = Simulated((DOCKER,), removed, ())
    vars(found).update(deployed=plan, controller=Simulated((), (), ()))
    return found


def said(case: Case) -> Mapping[str, Answer]:
    return {each.subject: each for each in fit.answers(case)}


def test_a_bundle_that_has_everything_fits(bundle: Bundle) -> None:
    found = said(case(bundle))
    assert {name: found[name].said for name in FITTING} == FITTING
    assert found["space"].said.startswith("/: ")
    assert "downloads 5 B, packages 102.4 kB, " in found["space"].said
    assert {each.fits for each in found.values()} == {True}


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"os_release": "ID=ubuntu\nVERSION_CODENAME=noble\n"}, "it is ubuntu/noble on amd64"),
        ({"os_release": "ID=debian\nVERSION_CODENAME=forky\n"}, "it is debian/forky on amd64"),
        ({"dpkg_status": STATUS.replace("amd64", "arm64")}, "it is debian/trixie on arm64"),
    ],
)
def test_of_another_target_nothing_more_is_asked(
    bundle: Bundle, texts: dict[str, str], told: str
) -> None:
    (answer,) = said(case(bundle, (), **texts)).values()
    assert answer.fits is False
    assert answer.said == f"{told}, the bundle is for debian/trixie on amd64"


def test_what_the_facts_do_not_hold_cannot_be_told(bundle: Bundle) -> None:
    (answer,) = said(case(bundle, dpkg_status="")).values()
    assert answer.fits is None
    assert answer.said.startswith("cannot be told: dpkg_status: dpkg's database was not printed")


def test_packages_that_would_go_are_named(bundle: Bundle) -> None:
    answer = said(case(bundle, removed=("podman", "docker-ce")))["packages"]
    assert (answer.fits, answer.said) == (False, "apt would remove podman, docker-ce")


def without(bundle: Bundle, part: str) -> Bundle:
    """One whose manifest lacks what lies there."""
    kept = [each for each in bundle.manifest.files if not each.path.startswith(part)]
    return replace(bundle, manifest=replace(bundle.manifest, files=tuple(kept)))


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("packages", "apt/pool/"),
        ("image", f"images/blobs/sha256/{'d' * 64}"),
        ("models", f"models/blobs/sha256-{'2' * 64}"),
        ("files", "files/"),
    ],
)
def test_what_is_not_whole_is_named(bundle: Bundle, subject: str, part: str) -> None:
    found = said(case(without(bundle, part)))
    assert found[subject].said.startswith(f"not in the bundle as the lock has it: {part}")
    assert [each.subject for each in found.values() if not each.fits] == [subject]


@pytest.mark.parametrize(
    ("subject", "lock", "told"),
    [
        ("image", replace(LOCK, images=()), f"not in the bundle: {NAME}"),
        ("models", replace(LOCK, models=()), "not in the bundle: qwen3:8b"),
        ("files", LOCK, f"not in the bundle: tool of the SHA-256 {'8' * 64}"),
    ],
)
def test_what_is_asked_for_and_not_locked_is_named(
    bundle: Bundle, subject: str, lock: Lock, told: str
) -> None:
    answer = said(case(replace(bundle, lock=lock)))[subject]
    assert (answer.fits, answer.said) == (False, told)


def test_an_image_that_two_hosts_know_by_two_names_is_found_by_this_ones(bundle: Bundle) -> None:
    other = replace(LOCK.images[0], reference=NAME.replace(":0.34.4@", ":latest@"))
    lock = replace(bundle.lock, images=(*LOCK.images, other))
    assert said(case(replace(bundle, lock=lock)))["image"].said == FITTING["image"]


def test_an_image_of_another_platform_is_told(bundle: Bundle) -> None:
    config = bundle.folder / "images/blobs/sha256" / ("c" * 64)
    config.write_bytes(CONFIG.replace(b"amd64", b"arm64"))
    answer = said(case(bundle))["image"]
    assert (answer.fits, answer.said) == (
        False,
        f"{NAME} is for linux/arm64, the host is linux/amd64",
    )


def test_wheels_that_pip_does_not_take_are_told(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(folder: Path, target: object) -> None:
        raise BundleError(f"{folder.name}: no wheel")

    monkeypatch.setattr(wheels, "check", check)
    assert said(case(bundle))["toolkit"].fits is False


def test_too_little_room_is_told_with_its_numbers(bundle: Bundle) -> None:
    text = "/dev/sda1 9 9 1000 1% /\n/dev/sdb1 9 9 900000000000 1% /var/lib/docker\n"
    answer = said(case(bundle, disk=text))["space"]
    assert answer.fits is False
    assert answer.said == (
        "too little: /: 102.4 kB needed (downloads 5 B, packages 102.4 kB), 1.0 kB free"
    )


def test_room_is_summed_by_file_system() -> None:
    disk = Disk((Mount("/", "a", 10), Mount("/var", "b", 10)))
    needs = [space.Need("x", "/usr", 4), space.Need("y", "/var/lib", 4), space.Need("z", "/", 7)]
    told, short = space.compared(needs, disk)
    assert told == [
        "/: 11 B needed (x 4 B, z 7 B), 10 B free",
        "/var: 4 B needed (y 4 B), 10 B free",
    ]
    assert short == told[:1]


def test_what_apt_prints_is_read() -> None:
    text = """\
The following packages will be REMOVED:
  old
The following packages will be DOWNGRADED:
  libb liba
0 upgraded, 1 newly installed, 1 downgraded, 1 to remove and 0 not upgraded.
Remv old [1-1]
Inst libc6 [2.41-11] (2.41-12 apuhost:trixie [amd64]) []
Inst libc6:i386 [2.41-11] (2.41-12 apuhost:trixie [i386])
Inst jq (1.7.1-6 apuhost:trixie [amd64])
Conf jq (1.7.1-6 apuhost:trixie [amd64])
"""
    assert simulation.parse(text) == Simulated(
        (
            Step("libc6", "2.41-11", "2.41-12"),
            Step("libc6:i386", "2.41-11", "2.41-12"),
            Step("jq", "", "1.7.1-6"),
        ),
        ("old",),
        ("libb", "liba"),
    )


def test_the_mirrors_host_has_room_for_the_bundle_too(bundle: Bundle) -> None:
    found = case(bundle)
    served = replace(
        found,
        settings=settings(mirror_address="192.0.2.2", mirror_serve=True, host_roles=["mirror"]),
    )
    needs = space.needs(bundle, served.settings, served.facts, Simulated((), (), ()))
    assert needs == (space.Need("bundle", space.MIRROR, bundle.manifest.size),)


def test_blobs_that_the_store_has_need_no_room(bundle: Bundle) -> None:
    store = replace(found := case(bundle)).facts.model_store
    have = {**store.blobs, f"sha256-{'2' * 64}": 5}
    facts = found.facts
    vars(facts)["model_store"] = replace(store, blobs=have)
    needs = space.needs(bundle, found.settings, facts, Simulated((), (), ()))
    assert "models" not in {each.what for each in needs}
    assert Blob(f"sha256:{'2' * 64}", 5) in LOCK.models[0].layers


def test_a_host_whose_facts_may_not_be_read_is_told_and_not_known_to_fit(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "facts" / "box1" / "facts.json"
    index.parent.mkdir(parents=True)
    index.touch(mode=0o000)
    with ordinary_user():
        loaded = evidence.load(tmp_path / "facts")
    assert command.all_fitting(bundle, loaded) == [None]
    told = f"{index}: cannot be read: Permission denied"
    assert capsys.readouterr().out == f"for box1\n?     facts      {told}\n"
