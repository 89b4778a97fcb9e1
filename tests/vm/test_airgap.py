"""A site without internet: a bundle made outside, then a machine that ssh alone leads to."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apuhost import debian
from apuhost.bundle import sources
from apuhost.rehearsal import image, machine, making, ports, ssh, standin, standin_image, state
from tests.vm.conftest import CHECKOUT, SERVED, WHOLE, Lab

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="no git checkout"),
]

ADDRESS = "192.0.2.1"
"""The mirror's, at the cable to its client; it takes from itself, too."""

CLIENT_ADDRESS = "192.0.2.2"
CLIENT = "client"

# The rehearsal's own inventory, but for the addresses: 10.0.2.2 is this machine in the guest alone,
# and 127.0.0.1 is here where the registries are, and in the guest nobody.
SITE = """
import runpy
from pathlib import Path
from apuhost.rehearsal import state
def outside(name):
    return name.replace(state.REGISTRY_HOST + ":", "127.0.0.1:", 1)
((name, data),) = runpy.run_path({whole!r})["hosts"]
data = {{
    **data,
    "ollama_image": outside(data["ollama_image"]),
    "models_list": [{{**m, "name": outside(m["name"])}} for m in data["models_list"]],
    "docker_site_ca": "",
    "mirror_address": {address!r},
}}
hosts = [(name, {{**data, "mirror_serve": True}})]
client = Path({client!r})
if state.exists(client):
    machine = state.load(client)
    reached = {{
        "ssh_port": machine.port,
        "ssh_key": str(machine.key),
        "ssh_known_hosts_file": str(machine.known_hosts),
    }}
    hosts.append(("client", {{**data, **reached}}))
"""

# The guest's shim wants Mesa of backports, as its own apt has it (the base image's apt.sh).
WITH_BACKPORTS = """
Types: deb
URIs: {debian}
Suites: trixie trixie-backports
Components: main non-free-firmware
Signed-By: {key}
"""
MESA = "Package: src:mesa\nPin: release n=trixie-backports\nPin-Priority: 600\n"

WALK = "## By hand, and on a first host that has nothing"
"""What docs/bundle.md calls the way of a host without apuhost."""

SOURCES = "find /etc/apt/sources.list* /var/lib/apt/lists -type f ! -name lock -exec sha256sum {} +"


def reaches(address: str, port: int) -> str:
    """A command that succeeds where something answers there."""
    return f"timeout 10 bash -c {shlex.quote(f'</dev/tcp/{address}/{port}')}"


@dataclass(frozen=True)
class Alone:
    """A machine that reaches nobody, what is to go there, and what a connected one was like.

    `sources` has the hashes of its own apt sources, and of what apt had read from them before;
    `cable` is the one between it and its client.
    """

    lab: Lab
    site: Path
    bundle: Path
    signers: Path
    connected: dict[str, str]
    sources: str
    cable: tuple[int, int]

    def install(self, name: str = state.HOST_NAME) -> "subprocess.CompletedProcess[str]":
        """As a user does."""
        words = (str(self.bundle), str(self.site), "--signers", str(self.signers), "-y")
        return self.lab.apuhost("bundle", "install", *words, "--limit", name)


def statuses(lab: Lab, inventory: Path, name: str = state.HOST_NAME) -> dict[str, str]:
    told = lab.apuhost("verify", str(inventory), "--limit", name, "--json", "-")
    (host,) = json.loads(told.stdout)["hosts"]
    found = {each["id"]: str(each["status"]) for each in host["verdicts"]}
    del found["boot.unchanged"]  # what earlier reports tell, and each test has a state of its own
    return found


def plug(lab: Lab, address: str) -> None:
    """Give the second network card, whose cable leads to the other machine, its address."""
    text = f"[Match]\nName=eth1\n[Network]\nAddress={address}/24\n"
    lab.root(f"printf %s {shlex.quote(text)} >/etc/systemd/network/eth1.network")
    lab.root(f"networkctl reload; until ip addr show eth1 | grep -q {address}; do sleep 1; done")


@pytest.fixture(scope="module")
def connected(lab: Lab, first_serving: object) -> dict[str, str]:
    """Every verdict of the machine with a network; it is cut off afterwards: one at a time."""
    lab.restore(SERVED)
    lab.root(reaches(state.REGISTRY_HOST, lab.machine.images_port))
    found = statuses(lab, WHOLE)
    machine.kill(lab.machine)
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, connected: dict[str, str]) -> Iterator[Alone]:
    """The isolated machine, as it first booted, and the bundle of its inventory."""
    folder = tmp_path_factory.mktemp("airgap")
    cache = state.cache_directory()
    near, far = ports.free(2)
    made = making.create(folder / "machine", image.ensure(cache))
    try:
        machine.isolate(made, (near, far))
        machine.start(made)
        started = making.supply(made, standin_image.ensure(cache).directory, standin.VERSION)
        machine.wait_for_ssh(started)
        lab = Lab(started)
        plug(lab, ADDRESS)
        site, signers = told(folder), build(lab, folder)
        found = (connected, lab.root(SOURCES), (near, far))
        yield Alone(lab, site, folder / "the bundle ä", signers, *found)
    finally:
        making.destroy(folder / "machine")


@pytest.fixture(scope="module")
def client(alone: Alone) -> Iterator[Lab]:
    """A machine that reaches nobody but the mirror."""
    folder = alone.site.parent / CLIENT
    near, far = alone.cable
    made = making.create(folder, image.ensure(state.cache_directory()))
    try:
        machine.isolate(made, (far, near))
        started = machine.start(made)
        machine.wait_for_ssh(started)
        lab = Lab(started)
        plug(lab, CLIENT_ADDRESS)
        yield lab
    finally:
        making.destroy(folder)


def told(folder: Path) -> Path:
    """The site's inventory; it has the client from when there is one."""
    (folder / "group_data").mkdir()
    shared = (WHOLE.parent / "group_data" / "all.py").read_text()
    (folder / "group_data" / "all.py").write_text(shared)
    text = SITE.format(whole=str(WHOLE), address=ADDRESS, client=str(folder / CLIENT))
    (folder / "site.py").write_text(text)
    return folder / "site.py"


def build(lab: Lab, folder: Path) -> Path:
    """Lock and build outside, from what is committed here; the list of who signed."""
    checkout, key = folder / "checkout", folder / "key"
    run("git", "clone", "-q", str(CHECKOUT), str(checkout))
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    signers = folder / "signers"
    public = key.with_suffix(".pub").read_text()
    signers.write_text(f'me@example.org namespaces="apuhost-bundle" {public}')
    environ = {
        **lab.environment,
        "PYTHONPATH": str(checkout / "src"),
        "SSL_CERT_FILE": str(trusted(lab, folder / "trusted.pem")),
    }
    bundle = (sys.executable, "-m", "apuhost.cli", "bundle")
    site, lock = str(folder / "site.py"), str(folder / "site.lock.json")
    lists, pins = folder / "with-backports.sources", folder / "mesa"
    lists.write_text(WITH_BACKPORTS.format(debian=debian.debian_mirror(), key=sources.KEYRING))
    pins.write_text(MESA)
    found = ("--sources", str(lists), "--preferences", str(pins))
    run(*bundle, "lock", site, "--target", "debian/trixie", *found, "-o", lock, **environ)
    run(*bundle, "build", lock, "-o", str(folder / "the bundle ä"), "--key", str(key), **environ)
    return signers


def trusted(lab: Lab, into: Path) -> Path:
    """The machine's own registries, beside whom this machine trusts already."""
    known = [Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))]
    texts = [path.read_text() for path in (lab.machine.ca, *known) if path.is_file()]
    into.write_text("\n".join(texts))
    return into


def run(*words: str, **environ: str) -> None:
    done = subprocess.run(
        words, env=environ or os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_it_reaches_nobody(alone: Alone) -> None:
    lab = alone.lab
    assert lab.root("ip route show default") == ""
    assert lab.root("getent hosts deb.debian.org || echo unknown") == "unknown"
    for address, port in (
        (state.REGISTRY_HOST, lab.machine.images_port),
        (state.REGISTRY_HOST, lab.machine.models_port),
        ("1.1.1.1", 53),
        ("127.0.0.1", lab.machine.images_port),
    ):
        found = lab.root(f"{reaches(address, port)} 2>/dev/null && echo reached || echo nobody")
        assert found == "nobody", (address, port)


def test_ssh_alone_brings_everything_and_it_boots_with_it(alone: Alone) -> None:
    before = alone.lab.boot_id()
    done = alone.install()
    assert done.returncode == 0, done.stdout + done.stderr
    assert alone.lab.boot_id() != before


def test_the_verdicts_are_those_of_a_connected_machine_and_the_mirrors(alone: Alone) -> None:
    found = statuses(alone.lab, alone.site)
    mirrors = {name: each for name, each in found.items() if name.startswith("mirror.")}
    assert {name: each for name, each in found.items() if name not in mirrors} == alone.connected
    assert mirrors
    assert set(mirrors.values()) <= {"pass", "skip"}


def test_it_is_accepted_cut_off_for_a_boot_and_free_again(alone: Alone) -> None:
    before = alone.lab.boot_id()
    words = ("bundle", "accept", str(alone.site), "--limit", state.HOST_NAME, "-y")
    done = alone.lab.apuhost(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accept.outbound" in done.stdout
    assert alone.lab.boot_id() != before
    assert "APUHOST-CUT" not in alone.lab.root("iptables-save; ip6tables-save")
    assert "fail" not in statuses(alone.lab, alone.site).values()


def test_installing_it_again_changes_nothing(alone: Alone) -> None:
    before = alone.lab.boot_id()
    done = alone.install()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no operations changed something" in done.stdout
    assert alone.lab.boot_id() == before


def test_the_hosts_own_sources_and_lists_are_as_they_were(alone: Alone) -> None:
    check = f"sha256sum -c --quiet <<'END'\n{alone.sources}\nEND"
    assert alone.lab.root(check) == ""


def test_a_host_that_has_nothing_installs_apuhost_as_the_docs_say(alone: Alone) -> None:
    lab = alone.lab
    lab.root(
        "mkdir -p /media/stick /elsewhere && ln -sfn /var/lib/apuhost/mirror/bundles/1"
        f" /media/stick/mybox && printf %s {shlex.quote(alone.signers.read_text())}"
        " >/elsewhere/signers"
    )
    check, install = walk()
    done = ssh.run(lab.machine, ["sh", "-ec", f"{check}\n{install}"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Good "apuhost-bundle" signature for me@example.org' in done.stdout
    judged = ["sh", "-c", "cd apuhost && .venv/bin/apuhost verify --from examples/broken"]
    found = ssh.run(lab.machine, judged)
    assert "FAIL   kernel.gtt" in found.stdout
    assert found.returncode == 1


def walk() -> tuple[str, str]:
    """The commands of the docs that check a bundle, and those that install from it."""
    _, _, text = (CHECKOUT / "docs" / "bundle.md").read_text().partition(WALK)
    blocks = text.partition("\n## ")[0].split("```sh\n")[1:]
    check, install = (block.partition("```")[0] for block in blocks)
    return check, install


def test_a_client_that_reaches_only_the_mirror_is_deployed_through_it(
    alone: Alone, client: Lab
) -> None:
    gone = client.root(f"{reaches(state.REGISTRY_HOST, alone.lab.machine.images_port)} || echo no")
    assert gone.endswith("no")
    done = alone.install(CLIENT)
    assert done.returncode == 0, done.stdout + done.stderr
    found = statuses(alone.lab, alone.site, CLIENT)
    mirrors = {name: each for name, each in found.items() if name.startswith("mirror.")}
    assert {name: each for name, each in found.items() if name not in mirrors} == alone.connected
    assert set(mirrors.values()) <= {"pass", "skip"}
    assert f"{ADDRESS}:8443" in client.root("cat /etc/apt/sources.list.d/apuhost-mirror.sources")
