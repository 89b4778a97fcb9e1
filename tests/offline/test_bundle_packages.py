"""Packages of a bundle: where they come from, where they lie, and the lists that name them."""

import gzip
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK

from apuhost import debian
from apuhost.bundle import apt, debs, repository, sources
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Blob, Deb, Target

TARGET = Target("debian", "trixie", "amd64", "3.13")
DEB = Deb(
    "libx+1",
    "2:1.0~rc1-3+b1",
    "all",
    "http://deb.example/libx.deb",
    Blob(f"sha256:{'a' * 64}", 5),
    f"sha256:{'e' * 64}",
)
CONTROL = """\
Package: libx+1
Version: 2:1.0~rc1-3+b1
Architecture: all
Description: short
 Version: 9
 .
 long
"""
CREATED = datetime(2026, 11, 30, 9, tzinfo=UTC)


def test_a_package_lies_where_every_file_system_takes_its_name() -> None:
    path = "apt/pool/libx+1_1.0~rc1-3+b1_all.deb"
    upstream = "apt/upstream/deb.example_debian_trixie_InRelease"
    (release,) = LOCK.releases
    assert tuple(debs.items(replace(LOCK, debs=(DEB,)))) == (
        Item(path, DEB.file, DEB.url),
        Item(upstream, release.inrelease, f"{release.uri}/dists/trixie/InRelease"),
    )


def test_a_name_of_apts_is_taken_apart() -> None:
    found = debs.name_version("libx+1_2%3a1.0~rc1-3+b1_all")
    assert found == (DEB.name, DEB.version, DEB.architecture)


def test_a_list_has_the_control_file_and_the_locks_hash() -> None:
    plain, packed = repository.packages_lists({DEB: CONTROL}, TARGET).values()
    assert plain.decode() == (
        f"{CONTROL}Filename: pool/libx+1_1.0~rc1-3+b1_all.deb\nSize: 5\nSHA256: {'a' * 64}\n"
    )
    assert gzip.decompress(packed) == plain
    assert packed[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"  # no name, no time, no system


def test_a_control_file_that_is_not_utf8_stays_as_it_is() -> None:
    control = f"{CONTROL}Maintainer: J\udcfcrgen\n"
    plain = next(iter(repository.packages_lists({DEB: control}, TARGET).values()))
    assert b"\nMaintainer: J\xfcrgen\n" in plain


def test_paragraphs_are_parted_by_one_line() -> None:
    other = replace(DEB, name="liby")
    controls = {DEB: CONTROL, other: CONTROL.replace("libx+1", "liby")}
    plain = next(iter(repository.packages_lists(controls, TARGET).values()))
    assert [part.split(b"\n")[0] for part in plain.split(b"\n\n")] == [
        b"Package: libx+1",
        b"Package: liby",
    ]


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("Package: libx+1\n", "Package: liby\n"),
        ("Version: 2:1.0~rc1-3+b1\n", "Version: 1.0~rc1-3+b1\n"),
        ("Architecture: all\n", ""),
    ],
)
def test_a_package_that_is_another_is_refused(line: str, other: str) -> None:
    with pytest.raises(BundleError, match="make the lock anew"):
        repository.packages_lists({DEB: CONTROL.replace(line, other, 1)}, TARGET)


def test_a_release_names_its_lists_and_the_locks_time() -> None:
    text = repository.release_text({"main/binary-amd64/Packages": b"x"}, TARGET, CREATED).decode()
    assert "Suite: trixie\nCodename: trixie\nDate: Mon, 30 Nov 2026 09:00:00 GMT\n" in text
    digest = hashlib.sha256(b"x").hexdigest()
    assert text.endswith(f"SHA256:\n {digest} 1 main/binary-amd64/Packages\n")
    assert "Valid-Until" not in text


def test_a_source_holds_the_key_and_takes_a_folder_with_blanks(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    (folder / "apt").mkdir(parents=True)
    (folder / "apt/key.asc").write_text("-----BEGIN\n\nmDME\n-----END\n")
    text = repository.source(folder, "trixie")
    assert f"URIs: {folder.as_uri()}/apt\n" in text
    assert "a%20b" in text
    assert text.endswith("Signed-By:\n -----BEGIN\n .\n mDME\n -----END\n")


def test_debians_sources_are_release_updates_and_security(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(debian.VARIABLE, "http://m.example/debian")
    text = sources.of_target(TARGET)
    assert sources.checked(text) == text
    assert "URIs: http://m.example/debian\nSuites: trixie trixie-updates\n" in text
    assert "URIs: http://m.example/debian-security\nSuites: trixie-security\n" in text
    assert text.count(f"Signed-By: {sources.KEYRING}\n") == text.count("Types: deb\n") == 2


def test_another_distributions_sources_must_be_given() -> None:
    with pytest.raises(BundleError, match=r"ubuntu noble: .*: give them as a file"):
        sources.of_target(replace(TARGET, distribution="ubuntu", suite="noble"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Trusted: yes", "Trusted switches off"),
        ("trusted : YES", "trusted switches off"),
        ("Allow-Insecure: yes", "Allow-Insecure switches off"),
        ("Allow-Weak: true", "Allow-Weak switches off"),
        ("Allow-Downgrade-To-Insecure: 1", "Allow-Downgrade-To-Insecure switches off"),
        ("URIs: https://me:word@m.example/", "an address has a login"),
    ],
)
def test_sources_that_nobody_could_trust_are_refused(line: str, told: str) -> None:
    text = f"Types: deb\n{line}\nSuites: trixie\n"
    with pytest.raises(BundleError, match=told) as refused:
        sources.checked(text)
    assert "word@" not in str(refused.value)


@pytest.mark.parametrize("line", ["Trusted: no", "Check-Valid-Until: no"])
def test_sources_that_only_look_so_are_taken(line: str) -> None:
    assert sources.checked(f"Types: deb\n{line}\n")


def test_a_root_is_the_targets_and_lets_nothing_unsigned_in() -> None:
    text = apt.configuration(Path("/r"), replace(TARGET, architecture="arm64"))
    assert 'Dir "/r/";' in text
    assert 'APT::Architectures { "arm64"; };' in text
    for word in ("AllowInsecureRepositories", "AllowWeakRepositories", "AllowUnauthenticated"):
        assert f'{word} "false";' in text


def test_of_this_machines_apt_only_the_way_to_the_network_is_taken_over() -> None:
    kept = (
        'Acquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::https::CaInfo "/etc/ssl/site.pem";\n'
        'Acquire::Check-Valid-Until "false";\n'
    )
    others = (
        'Acquire::AllowInsecureRepositories "1";\n'
        'Acquire::Languages:: "de";\n'
        'APT::Get::AllowUnauthenticated "1";\n'
        'Dir::State::status "/var/lib/dpkg/status";\n'
    )
    assert apt.network(others + kept) == kept
