"""Real apt takes packages from a mirror over TLS, and leaves the host's own sources alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support import mirrored
from tests.support import repository as made
from tests.support.file_server import HERE, Files, serving
from tests.support.repository import TARGET

from apuhost import lockfile, roles
from apuhost.bundle.openpgp import Key
from apuhost.changes import supply
from apuhost.probes import mirror, mirror_answers, model_blobs
from apuhost.probes.mirror import APT_OPTIONS, CERTIFICATES, FOLDER, LOCK, SOURCE

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "gpg", "gpgconf", "openssl"))),
    reason="apt or GnuPG is not here",
)


@dataclass(frozen=True)
class Host:
    """A folder that stands in for /; its own source of packages is out of reach."""

    folder: Path
    files: Files

    def here(self, text: str) -> str:
        """A script for this folder."""
        for path in (SOURCE, FOLDER, CERTIFICATES):
            text = text.replace(path, f"{self.folder}{path}")
        return text

    def sh(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Run it under the real sh."""
        environment = {
            **os.environ, "LC_ALL": "C", "APT_CONFIG": str(self.folder / "apt.conf"),
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
        }  # fmt: skip
        return subprocess.run(
            ["sh", "-c", self.here(text)], env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def put(self, path: str, text: str) -> None:
        """A file here."""
        place = self.folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """It knows the mirror of a bundle that has jq."""
    folder = tmp_path_factory.mktemp("host")
    cache = made.cache()
    lock = cache.lock("jq")
    with tempfile.TemporaryDirectory() as home:
        bundle = made.written(lock, cache, Key(Path(home) / "gnupg"), folder / "bundle")
    served = {
        f"/{path.relative_to(bundle)}": path.read_bytes()
        for path in bundle.rglob("*")
        if path.is_file()
    }
    (folder / "tls").mkdir()
    with serving(folder / "tls") as files:
        files.texts = served
        found = Host(folder, files)
        values = {
            "mirror_url": files.url, "mirror_suite": TARGET.suite, "mirror_address": HERE,
            "mirror_apt_key": f"{bundle}/apt/key.asc", "mirror_certificate": files.certificate,
        }  # fmt: skip
        found.put(SOURCE, roles.render("mirror", SOURCE, values))
        found.put("/etc/apt/sources.list", f"deb http://{HERE}:9/debian trixie main\n")
        found.put("/var/lib/dpkg/status", "")
        found.put(LOCK, lockfile.as_text(lock))
        archives, lists = "var/cache/apt/archives/partial", "var/lib/apt/lists/partial"
        for part in (archives, lists, "etc/apt/apt.conf.d", "etc/apt/preferences.d"):
            (folder / part).mkdir(parents=True)
        found.put(
            "apt.conf",
            f'Dir "{folder}";\nDir::State::status "{folder}/var/lib/dpkg/status";\n'
            f'APT::Architecture "amd64";\nAPT::Architectures "amd64";\nAPT::Sandbox::User "root";\n'
            f"{roles.render('mirror', supply.APT_CONF, values)}",
        )
        yield found


def test_apt_installs_from_the_mirror_alone(host: Host) -> None:
    own = "/var/lib/apt/lists/deb.example_dists_trixie_InRelease"
    host.put(own, "a list of the host's own\n")
    strict = "-o APT::Update::Error-Mode=any"
    outside = host.sh(f"apt-get -q -o Acquire::Retries=0 {strict} update")
    assert outside.returncode
    host.put(own, "a list of the host's own\n")
    done = host.sh(f"apt-get -q {strict} {APT_OPTIONS} update")
    assert (done.returncode, done.stderr) == (0, "")
    assert (host.folder / own.lstrip("/")).exists()
    done = host.sh(f"apt-get -q -y {APT_OPTIONS} install --download-only jq")
    assert done.returncode == 0, done.stderr
    archives = host.folder / "var/cache/apt/archives"
    assert {path.name.partition("_")[0] for path in archives.glob("*.deb")} >= {"jq", "libc6"}


def test_what_apt_knows_of_the_mirror_is_read(host: Host) -> None:
    host.sh(f"apt-get -q {APT_OPTIONS} update")
    found = mirror_answers.parse(host.sh(mirror_answers.COMMAND).stdout)
    assert found.sources == (f"{host.files.url}/apt trixie/main amd64 Packages",)
    assert "jq" in found.candidates
    assert found.candidates.keys() >= {"libc6", "libjq1"}
    assert found.told("CAInfo", HERE) == str(host.files.certificate)
    assert found.told("Verify-Peer", HERE) == found.told("Verify-Host", HERE) == "true"


def test_what_apt_is_told_of_certificates_is_read(host: Host, tmp_path: Path) -> None:
    """No proxy, which may have a password, and no option of another kind."""
    here = Host(tmp_path, host.files)
    here.put(LOCK, "{}")
    here.put(
        "apt.conf",
        'Acquire::https::verify-peer "0";\nacquire::HTTPS::192.0.2.1::CAInfo "/etc/a b";\n'
        'Acquire::https::Proxy "https://me:secret@proxy";\n',
    )
    text = here.sh(mirror_answers.COMMAND).stdout
    assert "secret" not in text
    found = mirror_answers.parse(text)
    assert found.tls == {"verify-peer": "0", "192.0.2.1::cainfo": "/etc/a b"}
    assert found.told("Verify-Peer", "192.0.2.1") == "0"


def test_apts_own_cache_stays_as_it_was(host: Host) -> None:
    host.sh(f"apt-get -q {APT_OPTIONS} update; apt-cache policy")
    kept = host.folder / "var/cache/apt/pkgcache.bin"
    before = kept.stat()
    host.sh(mirror_answers.COMMAND)
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


DOCKER = """#!/bin/sh
[ "$1 $2" = "manifest inspect" ] || exit 1
case "$3" in
*:5000/docker.io/ollama/ollama@sha256:*|*:5000/registry.lan_5001/team/app@sha256:*) echo '{}' ;;
*) echo "no such manifest: $3" >&2; exit 1 ;;
esac
"""


def test_images_are_asked_of_the_registry_that_has_the_mirrors_certificate(host: Host) -> None:
    (one,) = mirrored.lock().images
    other = replace(one, reference=f"registry.lan:5001/team/app:1@{mirrored.digest('app')}")
    lock = mirrored.lock(images=(one, other))
    host.put(LOCK, lockfile.as_text(lock))
    host.put("bin/docker", DOCKER)
    (host.folder / "bin/docker").chmod(0o755)
    host.put(f"{FOLDER}/ca.crt", "the mirror's\n")
    host.put(f"{CERTIFICATES}/192.0.2.1:5000/ca.crt", "the mirror's\n")
    host.put(f"{CERTIFICATES}/other.example/ca.crt", "another's\n")
    found = mirror_answers.parse(host.sh(mirror_answers.COMMAND).stdout)
    digest = lock.images[0].reference.partition("@")[2]
    mirror_of = "192.0.2.1:5000"
    assert found.images == {
        f"{mirror_of}/docker.io/ollama/ollama@{digest}": "there",
        f"{mirror_of}/registry.lan_5001/team/app@{mirrored.digest('app')}": "there",
    }
    host.put(f"{CERTIFICATES}/192.0.2.1:5001/ca.crt", "the mirror's\n")
    found = mirror_answers.parse(host.sh(mirror_answers.COMMAND).stdout)
    assert sorted(found.images.values())[0].startswith("no such manifest: 192.0.2.1:5001/")


def test_without_a_mirror_nobody_is_asked(host: Host, tmp_path: Path) -> None:
    elsewhere = Host(tmp_path, host.files)
    assert elsewhere.sh(mirror_answers.COMMAND).stdout == "end\n"
    assert elsewhere.sh(model_blobs.COMMAND).stdout == "end\n"
    assert mirror.parse(elsewhere.sh(mirror.COMMAND).stdout).files == ()


def test_somebody_elses_hosts_toml_stays_on_the_host(host: Host, tmp_path: Path) -> None:
    here = Host(tmp_path, host.files)
    ours = f"{CERTIFICATES}/docker.io/hosts.toml"
    here.put(ours, f"{mirror.OURS} edits\nserver = 'x'\n")
    here.put(f"{CERTIFICATES}/ghcr.io/hosts.toml", 'Authorization = "secret"\n')
    text = here.sh(mirror.COMMAND).stdout
    assert "secret" not in text
    found = mirror.parse(text)
    assert found.foreign == (f"{tmp_path}{CERTIFICATES}/ghcr.io/hosts.toml",)
    assert found.text(f"{tmp_path}{ours}") == f"{mirror.OURS} edits\nserver = 'x'\n"


STORE_OF = """#!/bin/sh
case "$*" in
*'ps -aq'*) ;;
*'volume inspect'*) echo "$VOLUME" ;;
*) exit 1 ;;
esac
"""


def test_the_bytes_of_models_are_read(host: Host, tmp_path: Path) -> None:
    here = Host(tmp_path, host.files)
    here.put(LOCK, lockfile.as_text(mirrored.lock()))
    volume = tmp_path / "volume"
    here.put("bin/docker", STORE_OF.replace("$VOLUME", str(volume)))
    (tmp_path / "bin/docker").chmod(0o755)
    good = f"sha256-{mirrored.digest('good').partition(':')[2]}"
    bad = f"sha256-{'0' * 64}"
    for name, text in ((good, "good"), (bad, "bad"), ("sha256-partial", "x")):
        here.put(f"volume/models/blobs/{name}", text)
    (volume / f"models/blobs/sha256-{'1' * 64}").symlink_to("/etc/passwd")
    found = model_blobs.parse(here.sh(model_blobs.COMMAND).stdout)
    assert found.digests.keys() == {good, bad}
    assert found.wrong == (bad,)
