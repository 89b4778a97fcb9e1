"""`apuhost bundle install` and `prune`, over a real sshd, up to where a deploy takes over."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.support import bundles
from tests.support.bundles import IDENTITY
from tests.support.hosts import settings
from tests.support.sshd import LACKING, Sshd

from apuhost.bundle import placing, serials, signature
from apuhost.bundle.authority import authority
from apuhost.bundle.refusal import DamagedError, RefusedError
from apuhost.commands import deploy, install
from apuhost.commands.install import Asked
from apuhost.probes.mirror import FOLDER
from apuhost.probes.mirror_serving import BUNDLES, MARK

pytestmark = pytest.mark.skipif(bool(LACKING), reason=", ".join(LACKING))

Data = Mapping[str, object]

KEY = {"apt/key.asc": b"the key of its packages"}
MIRROR: Data = {"mirror_address": "192.0.2.1"}
SERVING: Data = {**MIRROR, "mirror_serve": True}
BLOB = "models/blobs/sha256-bb"


@pytest.fixture
def keys(keys: Path, tmp_path: Path) -> Path:
    """In a folder of the test's own, where bundle and inventory come beside them."""
    return Path(shutil.copytree(keys, tmp_path / "keys"))


class Deployed(list[tuple[str, ...]]):
    """Which hosts a deploy was asked for, each time."""

    def run(self, _: Path, limits: Sequence[str], *, yes: bool) -> int:  # noqa: D102
        assert yes
        self.append(tuple(limits))
        return 0


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Deployed:
    """No deploy: it would be one of the machine that runs the tests."""
    found = Deployed()
    monkeypatch.setattr(deploy, "run", found.run)
    return found


def asked(
    box: Sshd, keys: Path, hosts: Mapping[str, Data], *limits: str, reason: str = ""
) -> Asked:
    """A bundle in a folder beside the keys, for these hosts; each is the box, with more data."""
    folder = keys.parent / "the bundle ä"
    if not folder.exists():
        bundles.write(folder, keys / "ours", contents=KEY)
    data = {
        name: {"host_roles": ["mirror", "kernel"], **box.data, **each}
        for name, each in hosts.items()
    }
    site = keys.parent / "site.py"
    site.write_text(f"hosts = {list(data.items())!r}\n")
    return Asked(folder, keys / "signers", site, limits, reason)


def placed(box: Sshd) -> dict[str, bytes]:
    folder = box.path(FOLDER)
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_the_mirror_has_it_whole_and_every_host_knows_its_mirror(
    box: Sshd, keys: Path, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = {"a": SERVING, "b": MIRROR, "c": {"ssh_port": 1}}
    order = asked(box, keys, hosts)
    assert install.install(order, yes=True) == 0
    assert deployed == [("a", "b")]
    assert box.path(f"{BUNDLES}/3{MARK}").exists()
    found = placed(box)
    assert set(found) == {placing.CA, placing.KEY, placing.LOCK}
    assert found[placing.KEY] == KEY["apt/key.asc"]
    assert found[placing.LOCK] == (order.folder / "lock.json").read_bytes()
    assert found[placing.CA].startswith(b"-----BEGIN CERTIFICATE-----")
    assert box.path("/var/lib/apuhost/mirror/ca/ca.key").stat().st_mode & 0o777 == 0o600
    said = capsys.readouterr().out
    assert said.startswith(f"signed by  {IDENTITY}")
    assert "a  has the bundle; every file was hashed there" in said
    assert install.install(order, yes=True) == 0
    assert placed(box) == found


def test_a_mirror_without_openssl_gets_it_from_the_bundle(box: Sshd, tmp_path: Path) -> None:
    """The fake apt-get, in the place of the real one, lets the real openssl be seen again."""
    apt = tmp_path / "apt-get"
    apt.write_text(
        '#!/bin/sh\necho "$*" >>/var/lib/said\n'
        "case $* in *openssl) umount /usr/bin/openssl ;; esac\n"
    )
    apt.chmod(0o755)
    apt_folder = box.path(f"{BUNDLES}/3/apt")
    apt_folder.mkdir(parents=True)
    (apt_folder / "key.asc").write_text("key")
    box.sh(f"mount --bind /dev/null /usr/bin/openssl; mount --bind {apt} /usr/bin/apt-get")
    try:
        made = authority(box.host(), settings(**SERVING).mirror, bundles.locked())
    finally:
        box.sh("umount /usr/bin/apt-get; umount /usr/bin/openssl || true")
    assert made.startswith(b"-----BEGIN CERTIFICATE-----")
    update, install = box.path("/var/lib/said").read_text().splitlines()
    only = "-o Dir::Etc::sourcelist=/run/apuhost/bundle.sources -o Dir::Etc::sourceparts=/dev/null"
    assert only in update
    assert only in install
    source = box.path("/run/apuhost/bundle.sources").read_text()
    assert f"URIs: file:{BUNDLES}/3/apt\nSuites: trixie\n" in source
    assert "trusted" not in source


def test_a_host_that_is_not_reached_is_told_and_the_others_go_on(
    box: Sshd, keys: Path, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = {"a": SERVING, "off": {**MIRROR, "ssh_port": 1}}
    assert install.install(asked(box, keys, hosts), yes=True) == 2
    assert deployed == [("a",)]
    assert capsys.readouterr().err.startswith("off  not reached: connection refused")


@pytest.mark.parametrize("first", ["192.0.2.1", "192.0.2.2"])
def test_a_mirror_that_is_not_reached_ends_no_other_site(
    box: Sshd, keys: Path, deployed: Deployed, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    off, other = {"ssh_port": 1}, {"mirror_address": "192.0.2.2"}
    sites: dict[str, dict[str, Data]] = {
        "192.0.2.1": {"off": {**SERVING, **off}, "a": MIRROR},
        "192.0.2.2": {"b": {**SERVING, **other}, "c": {**MIRROR, **other}},
    }
    hosts = {**sites.pop(first), **sites.popitem()[1]}
    order = asked(box, keys, hosts)
    assert install.install(order, yes=True) == 2
    assert deployed == [("b", "c")]
    assert "off  not reached: connection refused" in capsys.readouterr().err
    box.path("/var/lib/apuhost/mirror/current").symlink_to("bundles/3")
    assert install.prune(order.path, (), yes=True) == 2
    said = capsys.readouterr()
    assert said.out == "b  serves serial 3; no older one is there\n"
    assert said.err.startswith("off  not reached: connection refused")


def flipped(folder: Path) -> None:
    (folder / BLOB).write_bytes(b"X" + (folder / BLOB).read_bytes()[1:])


def other_signer(folder: Path) -> None:
    signature.sign(folder / "manifest.json", bundles.key(folder.parent / "other"))


def unsigned(folder: Path) -> None:
    (folder / "manifest.json.sig").unlink()


def old(folder: Path) -> None:
    serials.settle(bundles.locked(8))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [(flipped, BLOB), (other_signer, "not in"), (unsigned, "not signed"), (old, "older than 8")],
)
def test_what_must_not_be_used_reaches_no_host(
    box: Sshd, keys: Path, deployed: Deployed, spoil: object, told: str
) -> None:
    order = asked(box, keys, {"a": SERVING})
    spoil(order.folder)  # type: ignore[operator]
    with pytest.raises((RefusedError, DamagedError), match=told):
        install.install(order, yes=True)
    assert deployed == []
    assert not box.path("/var/lib/apuhost").exists()
    assert placed(box) == {}


def test_a_host_that_has_a_newer_one_needs_a_reason(
    box: Sshd, keys: Path, deployed: Deployed
) -> None:
    newer = {placing.CA: b"", placing.LOCK: b'{\n "serial": 9,\n}'}
    placing.place(box.host(), newer)
    hosts = {"a": SERVING}
    with pytest.raises(RefusedError, match="a: has serial 9, and this bundle is of serial 3"):
        install.install(asked(box, keys, hosts), yes=True)
    assert deployed == []
    assert not box.path("/var/lib/apuhost").exists()
    assert install.install(asked(box, keys, hosts, reason="9 does not boot"), yes=True) == 0
    assert deployed == [("a",)]


def test_a_mirror_that_is_left_out_must_have_it(
    box: Sshd, keys: Path, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = {"a": SERVING, "b": MIRROR}
    assert install.install(asked(box, keys, hosts, "b"), yes=True) == 1
    assert "a: is the mirror, and has not this bundle" in capsys.readouterr().err
    assert deployed == []
    install.install(asked(box, keys, hosts), yes=True)
    assert install.install(asked(box, keys, hosts, "b"), yes=True) == 0
    assert deployed == [("a", "b"), ("b",)]


def test_prune_takes_what_is_older_than_what_is_served(
    box: Sshd, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for serial in (2, 3):
        box.path(f"{BUNDLES}/{serial}/apt").mkdir(parents=True)
    box.path("/var/lib/apuhost/mirror/current").symlink_to("bundles/3")
    order = asked(box, keys, {"a": SERVING})
    assert install.prune(order.path, (), yes=True) == 0
    assert capsys.readouterr().out.startswith("a  serves serial 3; removed: 2; ")
    assert install.prune(order.path, (), yes=True) == 0
    assert capsys.readouterr().out == "a  serves serial 3; no older one is there\n"
    assert [path.name for path in box.path(BUNDLES).iterdir()] == ["3"]
