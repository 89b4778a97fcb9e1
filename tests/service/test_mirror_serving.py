"""A mirror's host, really: its CA by openssl, Debian's registry on a tree, nginx on a bundle."""

import hashlib
import json
import os
import shutil
import ssl
import stat
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from tests.support import mirrors, registries
from tests.support.host_root import Done, Root, give
from tests.support.hosts import host_facts
from tests.support.pushing import Pusher
from tests.support.stack import framed

from apuhost import lockfile, roles, web
from apuhost.bundle import images
from apuhost.bundle.cache import fetch
from apuhost.changes import certificate, serving
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock, Target
from apuhost.oci import credentials
from apuhost.oci.manifests import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from apuhost.oci.registry import Registries
from apuhost.probes import mirror_serving
from apuhost.probes.mirror import LOCK
from apuhost.probes.mirror_serving import FILES_CONF, REGISTRY_CONF, STORE, Serving
from apuhost.rehearsal import ports, process
from apuhost.rehearsal.state import Machine
from apuhost.steps.mirror import STOP
from apuhost.steps.serving import INSTALL, NGINX, RETIRE, SERVE, START

pytestmark = registries.NEEDED

LED = ("/run/apuhost", "/var/lib/apuhost", "/etc/apuhost", "/etc/systemd/system")
ADDRESS = "IP:127.0.0.1"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A host's / without a bundle."""
    (tmp_path / "run").mkdir()
    (tmp_path / "var/lib/apuhost").mkdir(parents=True)
    return Root(tmp_path, LED)


def certified(root: Root, address: str = ADDRESS) -> Done:
    done = root.run(certificate.SCRIPT, address)
    assert done.returncode == 0, done.stderr
    return done


def found(root: Root) -> Serving:
    """What the probe tells of it."""
    root.program("systemctl")
    return mirror_serving.parse(root.run(f"PATH=/bin:$PATH\n{mirror_serving.COMMAND}").stdout)


def files(root: Root) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in authority(root).iterdir() if path.is_file()}


def authority(root: Root) -> Path:
    return root.path(f"{STORE}/ca")


def verified(root: Root, *options: str) -> bool:
    folder = authority(root)
    command = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "ca.crt"), *options]
    return subprocess.run([*command, str(folder / "server.crt")], check=False).returncode == 0


def test_the_certificate_is_made_once_and_its_keys_are_roots(root: Root) -> None:
    certified(root)
    before = files(root)
    assert verified(root, "-purpose", "sslserver", "-verify_ip", "127.0.0.1")
    assert not verified(root, "-verify_ip", "127.0.0.2")
    assert stat.S_IMODE(authority(root).stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in authority(root).iterdir()}
    assert {modes["ca.key"], modes["server.key"]} == {0o600}
    assert not [name for name in modes if name.startswith("work")]
    certified(root)
    assert files(root) == before


def test_the_probe_tells_what_the_certificate_is(root: Root) -> None:
    certified(root)
    told = found(root)
    assert told.names == "IP Address:127.0.0.1"
    assert told.signed
    assert told.authority is not None
    assert told.server is not None
    year = 365 * 86_400
    assert told.server.since < time.time() - 0.9 * year
    assert told.authority.until > told.server.until > time.time() + 9 * year
    assert told.authority_digest == hashlib.sha256(files(root)["ca.crt"]).hexdigest()


def test_another_address_gets_another_certificate_of_the_same_ca(root: Root) -> None:
    certified(root)
    before = files(root)
    certified(root, "DNS:mirror.lan")
    assert files(root)["ca.crt"] == before["ca.crt"]
    assert found(root).names == "DNS:mirror.lan"
    assert verified(root, "-verify_hostname", "mirror.lan")


@pytest.mark.parametrize("name", ["ca.key", "server.key", "server.crt"])
@pytest.mark.parametrize("content", [None, b"", b"torn"], ids=["gone", "empty", "torn"])
def test_what_is_damaged_is_made_again(root: Root, name: str, content: bytes | None) -> None:
    certified(root)
    place = authority(root) / name
    place.unlink() if content is None else place.write_bytes(content)
    certified(root)
    assert verified(root, "-verify_ip", "127.0.0.1")


@pytest.mark.parametrize(("name", "kept"), [("ca", False), ("server", True)])
def test_what_soon_ends_is_made_again(root: Root, name: str, kept: bool) -> None:
    certified(root)
    before = files(root)
    life = {"ca": '"20 years"', "server": '"10 years"'}[name]
    (authority(root) / f"{name}.crt").unlink()
    short = root.run(certificate.SCRIPT.replace(life, '"80 days"'), ADDRESS)
    assert short.returncode == 0, short.stderr
    ending = files(root)[f"{name}.crt"]
    certified(root)
    assert files(root)[f"{name}.crt"] != ending
    assert (files(root)["ca.crt"] == before["ca.crt"]) == kept
    assert verified(root, "-verify_ip", "127.0.0.1")


def test_without_openssl_the_bundles_own_is_named(root: Root) -> None:
    give(root.path(f"{STORE}/bundles/7/apt/pool"), {"openssl_3_amd64.deb": ""})
    script = certificate.SCRIPT.replace("command -v openssl", "command -v no-openssl")
    done = root.run(script, ADDRESS)
    assert done.returncode == 1
    assert f"{STORE}/bundles/7/apt/pool/openssl_3_amd64.deb" in done.stderr


@dataclass(frozen=True)
class Site:
    """A bundle on a mirror's disk, in `root`; `pins` are its images' digests by their paths."""

    root: Root
    lock: Lock
    pins: Mapping[str, str]
    source: str

    @property
    def facts(self) -> HostFacts:
        """A host that knows its lock."""
        return host_facts(mirror=framed({LOCK: lockfile.as_text(self.lock)}))

    def path(self, name: str) -> Path:
        """A file of the bundle."""
        return self.root.path(f"{STORE}/bundles/{self.lock.serial}/{name}")

    def serve(self, listing: str = "") -> Done:
        """Make its tree and its link, as a deploy does."""
        names = (serving.tree(self.lock), str(self.lock.serial))
        return self.root.run(SERVE, *names, stdin=listing or serving.listing(self.lock))

    def configuration(self, path: str, **data: object) -> Path:
        """A file that a deploy renders, for this folder."""
        asked = mirrors.asked(mirror_address="127.0.0.1", **data)
        values = serving.values(derive(asked, self.facts), self.lock)
        text = self.root.here(roles.render("mirror", path, values), {})
        for unit in mirrors.UNITS:
            text = text.replace(f"/run/credentials/{unit}", str(authority(self.root)))
        place = self.root.path(path)
        give(place.parent, {place.name: text})
        return place


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The registry outside."""
    with registries.started(tmp_path_factory.mktemp("outside")) as found:
        yield found


@pytest.fixture
def site(source: Machine, root: Root, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Two images of two platforms, of which the bundle has one: OCI's form and Docker's."""
    monkeypatch.setenv("SSL_CERT_FILE", str(source.ca))
    monkeypatch.setenv("DOCKER_CONFIG", str(root.folder / "docker"))
    registry = f"127.0.0.1:{source.images_port}"
    pins = {
        path: _pushed(f"https://{registry}/v2/{path}/", *kinds)
        for path, kinds in {
            "team/app": (OCI_INDEX, OCI_MANIFEST),
            "team/old": (DOCKER_LIST, DOCKER_MANIFEST),
        }.items()
    }
    target = Target("debian", "trixie", "amd64", "3.13")
    with Registries(credentials.read()) as asked:
        names = [f"{registry}/{path}:1@{pin}" for path, pin in pins.items()]
        resolved = images.resolve(names, target, asked)
        locked = Lock(7, "2026-11-30T09:00:00+00:00", "0.1.0", target, images=resolved)
        made = Site(root, locked, pins, registry)
        for item in images.items(locked):
            made.path(item.path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fetch(root.folder / "cache", item, asked.get), made.path(item.path))
    texts = {"lock.json": lockfile.as_text(locked), "apt/dists/trixie/InRelease": "signed"}
    give(made.path(""), {**texts, "models/blobs/sha256-aa": "weights" * 1000})
    give(made.path("").parent, {"7.whole": "manifest's digest\n"})
    return made


def _pushed(base: str, index: str, manifest: str) -> str:
    with web.client() as client:
        client.base_url = httpx.URL(base)
        pusher = Pusher(client)
        theirs = pusher.image("arm64", b"theirs", manifest)
        return pusher.index(index, theirs, pusher.image("amd64", base.encode(), manifest), tag="1")


@contextmanager
def running(port: int, ca: Path, *command: str) -> Iterator[httpx.Client]:
    """A server, until it answers, and who asks it."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            with httpx.Client(
                base_url=f"https://127.0.0.1:{port}",
                verify=ssl.create_default_context(cafile=ca),
                trust_env=False,
            ) as client:
                _await(client, server)
                yield client
        finally:
            server.terminate()


def _await(client: httpx.Client, server: "subprocess.Popen[str]") -> None:
    for _ in range(200):
        assert server.poll() is None, server.stderr.read() if server.stderr else ""
        try:
            client.get("/")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("it does not answer")


@pytest.fixture
def registry(site: Site) -> Iterator[httpx.Client]:
    """Debian's registry on the bundle's tree."""
    certified(site.root)
    assert site.serve().returncode == 0
    (port,) = ports.free(1)
    configuration = site.configuration(REGISTRY_CONF, mirror_registry_port=port)
    command = ("docker-registry", "serve", str(configuration))
    with running(port, authority(site.root) / "ca.crt", *command) as client:
        yield client


def skopeo(site: Site, *words: str) -> str:
    folder = site.root.folder / "trusted"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(authority(site.root) / "ca.crt", folder / "ca.crt")
    option = {"inspect": "--cert-dir", "copy": "--src-cert-dir"}[words[0]]
    asked = ["skopeo", "--override-os=linux", "--override-arch=amd64", words[0]]
    done = subprocess.run(
        [*asked, option, str(folder), *words[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", ["team/app", "team/old"])
@pytest.mark.parametrize("below", ["its registry", "nothing"])
def test_a_sparse_index_is_pulled_by_its_pin(
    site: Site, registry: httpx.Client, path: str, below: str, tmp_path: Path
) -> None:
    folder = f"{site.source.replace(':', '_')}/" if below == "its registry" else ""
    name = f"docker://{registry.base_url.netloc.decode()}/{folder}{path}"
    pin = site.pins[path]
    raw = skopeo(site, "inspect", "--raw", f"{name}@{pin}")
    assert f"sha256:{hashlib.sha256(raw.encode()).hexdigest()}" == pin
    assert len(json.loads(raw)["manifests"]) == 2
    skopeo(site, "copy", f"{name}@{pin}", f"dir:{tmp_path}/pulled")
    (image,) = (each for each in site.lock.images if pin in each.reference)
    pulled = hashlib.sha256((tmp_path / "pulled" / "manifest.json").read_bytes()).hexdigest()
    assert f"sha256:{pulled}" == image.chain[1].digest
    layer = image.layers[0].digest.removeprefix("sha256:")
    assert hashlib.sha256((tmp_path / "pulled" / layer).read_bytes()).hexdigest() == layer
    assert json.loads(skopeo(site, "inspect", f"{name}:1"))["Digest"] == pin


def test_nobody_pushes_and_nothing_more_is_there(site: Site, registry: httpx.Client) -> None:
    assert registry.post("/v2/team/app/blobs/uploads/").status_code == 405
    manifest = {"Content-Type": OCI_MANIFEST}
    put = registry.put("/v2/team/app/manifests/2", content=b"{}", headers=manifest)
    assert put.status_code == 405
    assert registry.delete(f"/v2/team/app/manifests/{site.pins['team/app']}").status_code == 405
    assert registry.get("/v2/team/app/manifests/2").status_code == 404
    host = site.source.replace(":", "_")
    known = {"team/app", "team/old", f"{host}/team/app", f"{host}/team/old"}
    assert set(registry.get("/v2/_catalog").json()["repositories"]) == known


def test_without_the_ca_nobody_trusts_it(registry: httpx.Client) -> None:
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(str(registry.base_url), timeout=10)


def test_the_tree_is_made_once_and_takes_no_room(site: Site) -> None:
    assert site.serve().returncode == 0
    told = found(site.root)
    assert told.trees == (serving.tree(site.lock),)
    assert told.current == "bundles/7"
    assert told.bundles == {"7": hashlib.sha256(site.path("lock.json").read_bytes()).hexdigest()}
    tree = site.root.path(f"{STORE}/registry/{serving.tree(site.lock)}")
    data = [path for path in tree.rglob("data") if path.is_symlink()]
    assert len(data) == len(list(images.items(site.lock)))
    assert all(path.resolve().is_relative_to(site.path("images")) for path in data)
    inode = tree.stat().st_ino
    assert site.serve().returncode == 0
    assert tree.stat().st_ino == inode


def test_a_list_that_was_cut_gives_no_tree(site: Site) -> None:
    cut = serving.listing(site.lock)[:-100]
    done = site.serve(cut)
    assert done.returncode == 1
    assert "did not arrive whole" in done.stderr
    assert found(site.root).trees == ()
    assert not site.root.path(f"{STORE}/current").is_symlink()


def test_a_bundle_that_lacks_a_blob_is_not_served(site: Site) -> None:
    gone = site.lock.images[0].layers[0].digest.removeprefix("sha256:")
    site.path(f"images/blobs/sha256/{gone}").unlink()
    done = site.serve()
    assert (done.returncode, f"bundle 7 has no {gone}" in done.stderr) == (1, True)
    assert found(site.root).trees == ()


def test_a_bundle_that_is_not_whole_is_not_served(site: Site) -> None:
    site.root.path(f"{STORE}/bundles/7.whole").unlink()
    assert "not whole here any more" in site.serve().stderr
    assert found(site.root).current == ""


def test_the_next_bundle_takes_the_links_place_and_the_old_tree_goes(site: Site) -> None:
    assert site.serve().returncode == 0
    old = serving.tree(site.lock)
    second = replace(site, lock=replace(site.lock, serial=8))
    shutil.copytree(site.path(""), second.path(""))
    give(second.path("").parent, {"8.whole": "digest\n"})
    assert second.serve().returncode == 0
    assert str(site.root.path(f"{STORE}/current").readlink()) == "bundles/8"
    assert set(found(site.root).trees) == {old, serving.tree(second.lock)}
    assert site.root.run(RETIRE, old).returncode == 0
    assert found(site.root).trees == (serving.tree(second.lock),)


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its program; where it is not installed, out of its package, so that no service starts."""
    if installed := shutil.which("nginx", path=process.search_path()):
        return installed
    folder = tmp_path_factory.mktemp("nginx")
    download = ["apt-get", "-q", "download", "nginx"]
    if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("nginx is not installed, and apt has none")
    (package,) = folder.glob("nginx_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    return str(folder / "usr/sbin/nginx")


@pytest.fixture
def shared(site: Site, nginx: str) -> Iterator[httpx.Client]:
    """Nginx on the bundle, which sends one model at a time."""
    certified(site.root)
    assert site.serve().returncode == 0
    (port,) = ports.free(1)
    configuration = site.configuration(FILES_CONF, mirror_files_port=port, mirror_downloads=1)
    site.root.path("/run/apuhost-files").mkdir()
    # Else root's would become nobody, who may not enter a test's folder.
    same = ("-g", "user root;") if os.geteuid() == 0 else ()
    command = (nginx, "-e", "stderr", *same, "-c", str(configuration))
    with running(port, authority(site.root) / "ca.crt", *command) as client:
        yield client


def test_files_are_given_and_folders_are_not(site: Site, shared: httpx.Client) -> None:
    assert shared.get("/apt/dists/trixie/InRelease").text == "signed"
    part = shared.get("/models/blobs/sha256-aa", headers={"Range": "bytes=7-13"})
    assert (part.status_code, part.text) == (206, "weights")
    for path in ("/", "/lock.json", "/apt/", "/models/blobs/", "/apt/../lock.json", "/images/"):
        assert shared.get(path).status_code in (403, 404), path
    assert shared.put("/apt/new", content=b"x").status_code == 405
    assert "nginx/" not in shared.get("/").headers["Server"]


def test_the_next_bundle_is_given_without_a_restart(site: Site, shared: httpx.Client) -> None:
    second = replace(site, lock=replace(site.lock, serial=8))
    shutil.copytree(site.path(""), second.path(""))
    give(second.path("").parent, {"8.whole": "", "8/apt/dists/trixie/InRelease": "newer"})
    assert second.serve().returncode == 0
    assert shared.get("/apt/dists/trixie/InRelease").text == "newer"


def test_who_comes_when_others_are_served_asks_again(site: Site, shared: httpx.Client) -> None:
    give(site.path("models"), {"blobs/sha256-large": "x" * 64_000_000})
    with shared.stream("GET", "/models/blobs/sha256-large") as first:
        assert first.status_code == 200
        assert shared.get("/models/blobs/sha256-aa").status_code == 503
        assert shared.get("/apt/dists/trixie/InRelease").status_code == 200
    for _ in range(50):
        if shared.get("/models/blobs/sha256-aa").status_code == 200:
            return
        time.sleep(0.1)
    raise AssertionError("still busy")


def checked(site: Site, nginx: str, text: str) -> Done:
    """What the deploy's check says of a new nginx.conf."""
    certified(site.root)
    folder = site.root.path("/etc/apuhost/mirror")
    give(folder, {"nginx.conf.apuhost-new": site.root.here(text, {})})
    site.root.program("nginx", f'exec {nginx} "$@"')
    new = str(folder / "nginx.conf.apuhost-new")
    quoted = NGINX.replace("'", "'\\''")
    return site.root.run(f"PATH=/bin:$PATH\nsh -c '{quoted}' check \"$1\"", new)


def test_a_configuration_is_looked_at_by_nginx_itself(site: Site, nginx: str) -> None:
    text = roles.render("mirror", FILES_CONF, served_at(site))
    assert checked(site, nginx, text).returncode == 0
    wrong = checked(site, nginx, text.replace("sendfile", "sendfiel"))
    assert (wrong.returncode, "sendfiel" in wrong.stderr) == (1, True)


def served_at(site: Site) -> dict[str, object]:
    (port,) = ports.free(1)
    asked = mirrors.asked(mirror_address="127.0.0.1", mirror_files_port=port)
    return serving.values(derive(asked, site.facts), site.lock)


def installed(root: Root, *packages: str) -> Done:
    """Install them by a bundle that has packages."""
    root.path("/etc/systemd/system").mkdir(parents=True, exist_ok=True)
    give(root.path(f"{STORE}/bundles/7/apt"), {"key.asc": "key"})
    for name in ("dpkg", "systemctl"):
        root.program(name)
    root.program("apt-get", f"cat {root.folder}/run/apuhost/bundle.sources >>{root.folder}/read")
    return root.run(INSTALL, "7", "trixie", *packages)


def test_packages_come_from_the_bundle_and_their_services_stay_off(root: Root) -> None:
    done = installed(root, "nginx", "openssl")
    assert done.returncode == 0, done.stderr
    calls = [line for line in root.said if not line.startswith("dpkg")]
    assert calls[0].endswith("update -o APT::Update::Error-Mode=any")
    assert calls[1] == "systemctl mask --quiet -- nginx.service"
    assert calls[2].endswith("install -y --no-install-recommends --no-remove -- nginx openssl")
    only = "-o Dir::Etc::sourceparts=/dev/null -o APT::Get::List-Cleanup=0"
    assert len(calls) == 3
    assert all(only in call for call in (calls[0], calls[2]))
    bundle = root.path(f"{STORE}/bundles/7/apt")
    source = f"Types: deb\nURIs: file:{bundle}\nSuites: trixie\nComponents: main\n"
    read = (root.folder / "read").read_text()
    assert read == f"{source}Signed-By: {bundle}/key.asc\n" * 2


@pytest.mark.parametrize("of", ["a file", "a link to nowhere"])
def test_a_unit_of_the_operators_own_is_left_and_ends_nothing(root: Root, of: str) -> None:
    """`systemctl mask` fails where a file of that name lies."""
    unit = root.path("/etc/systemd/system/nginx.service")
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n") if of == "a file" else unit.symlink_to("/nowhere.service")
    assert installed(root, "docker-registry", "nginx").returncode == 0
    masked = [line for line in root.said if line.startswith("systemctl")]
    assert masked == ["systemctl mask --quiet -- docker-registry.service"]


def test_a_bundle_without_packages_is_told_before_apt_is_asked(root: Root) -> None:
    done = root.run(INSTALL, "7", "trixie", "nginx")
    assert (done.returncode, done.stderr) == (
        *(1, "bundle 7 has no packages: lock and build it anew\n"),
    )


@pytest.mark.parametrize("file", [True, False], ids=["whole", "its file is gone"])
def test_what_must_not_listen_any_more_is_stopped_and_disabled(root: Root, file: bool) -> None:
    """`systemctl disable` fails for a unit without a file, which runs on all the same."""
    root.path("/etc/systemd/system").mkdir(parents=True)
    if file:
        give(root.path("/etc/systemd/system"), dict.fromkeys(mirrors.UNITS, "[Service]\n"))
    root.program("systemctl")
    assert root.run(STOP, *mirrors.UNITS).returncode == 0
    each = ("stop --", "disable --quiet --") if file else ("stop --",)
    assert root.said == [f"systemctl {do} {unit}" for unit in mirrors.UNITS for do in each]


def started(root: Root, port: int, *name: str) -> Done:
    for program in ("systemctl", "journalctl", "sleep"):
        root.program(program)
    return root.run(START, "apuhost-files.service", str(port), "127.0.0.1", *name)


def test_a_unit_counts_as_started_when_it_shows_its_certificate(
    site: Site, shared: httpx.Client
) -> None:
    port = shared.base_url.port or 0
    assert started(site.root, port, "-verify_ip", "127.0.0.1").returncode == 0
    other = started(site.root, port, "-verify_hostname", "mirror.lan")
    assert other.returncode == 1
    assert "does not answer at 127.0.0.1:" in other.stderr


def test_a_unit_that_does_not_answer_is_told_with_its_journal(root: Root) -> None:
    (port,) = ports.free(1)
    done = started(root, port, "-verify_ip", "127.0.0.1")
    assert done.returncode == 1
    assert f"apuhost-files.service does not answer at 127.0.0.1:{port}: is that" in done.stderr
    assert "journalctl -u apuhost-files.service -b -n 10 --no-pager -o cat" in root.said
