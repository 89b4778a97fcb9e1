"""The registries of a rehearsal, really started: TLS, digests, ports that stay, none left over."""

import hashlib
import json
import signal
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.registries import NEEDED, started

from apuhost.rehearsal import certificates, daemon, registries, state, stock
from apuhost.rehearsal.daemon import Daemon
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine

OCI = "application/vnd.oci.image"
pytestmark = NEEDED


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with started(tmp_path) as found:
        yield found


def known(machine: Machine) -> list[Daemon]:
    """Both, as a machine whose record is lost still knows them."""
    lost = replace(machine, images_port=1, models_port=1)
    return [registries._daemon(lost, registry) for registry in registries.of(lost)]


def fetch(machine: Machine, url: str) -> bytes:
    trust = ssl.create_default_context(cafile=machine.ca)
    request = urllib.request.Request(url, headers={"Accept": f"{OCI}.manifest.v1+json, */*"})
    with urllib.request.urlopen(request, context=trust, timeout=10) as answer:
        return bytes(answer.read())


def layout(folder: Path) -> Path:
    """The smallest image: no layer."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def add(content: object, kind: str) -> dict[str, object]:
        data = json.dumps(content).encode()
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"{OCI}.{kind}.v1+json",
                "digest": f"sha256:{digest}", "size": len(data)}  # fmt: skip

    system = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}
    manifest = {"schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json",
                "config": add(system, "config"), "layers": []}  # fmt: skip
    index = {"schemaVersion": 2, "manifests": [add(manifest, "manifest")]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def test_a_pushed_image_is_named_and_served_by_the_layouts_digest(machine: Machine) -> None:
    image = layout(machine.directory / "layout")
    for _ in range(2):  # the second finds it there
        name = stock.push(image, machine, "ollama/ollama", "1")
    digest = stock.layout_digest(image)
    assert name == f"{state.REGISTRY_HOST}:{machine.images_port}/ollama/ollama:1@{digest}"
    served = fetch(machine, f"https://127.0.0.1:{machine.images_port}/v2/ollama/ollama/manifests/1")
    assert f"sha256:{hashlib.sha256(served).hexdigest()}" == digest
    assert (machine.directory / "push.log").read_text().count("skopeo copy") == 1


def test_the_model_is_served_as_its_digest_says(machine: Machine) -> None:
    served = fetch(
        machine, f"https://127.0.0.1:{machine.models_port}/v2/library/tiny/manifests/latest"
    )
    assert hashlib.sha256(served).hexdigest() == machine.model_digest


def test_without_the_ca_nobody_trusts_them(machine: Machine) -> None:
    for port in (machine.images_port, machine.models_port):
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(f"https://127.0.0.1:{port}/v2/", timeout=10)


def test_a_dead_one_is_started_again_and_a_running_one_is_left(machine: Machine) -> None:
    images, models = known(machine)
    before = daemon.pid(images)
    daemon.end(models, signal.SIGKILL)
    registries.start(machine)
    assert daemon.pid(images) == before
    assert daemon.pid(models) is not None
    assert fetch(machine, f"https://127.0.0.1:{machine.models_port}/v2/") == b"{}"


def test_what_was_pushed_outlives_a_restart(machine: Machine) -> None:
    image = layout(machine.directory / "layout")
    stock.push(image, machine, "ollama/ollama", "1")
    registries.end(machine)
    assert [daemon.pid(each) for each in known(machine)] == [None, None]
    registries.start(machine)
    assert fetch(machine, f"https://127.0.0.1:{machine.images_port}/v2/ollama/ollama/tags/list")


def test_they_end_though_the_record_is_lost(machine: Machine) -> None:
    registries.end(replace(machine, images_port=1, models_port=1))
    assert [daemon.pid(each) for each in known(machine)] == [None, None]


def test_a_taken_port_is_named(machine: Machine) -> None:
    other = machine.directory / "other"
    other.mkdir()
    second = replace(machine, directory=other)
    certificates.make(second)
    with pytest.raises(RehearsalError, match=f"images \\(port {machine.images_port}\\) did not"):
        registries.start(second)
    registries.end(second)


def test_somebody_elses_process_is_left_alone(machine: Machine) -> None:
    images, models = known(machine)
    number, own = daemon.pid(images), models.pid_file.read_text()
    models.pid_file.write_text(f"{number}\n")
    daemon.end(models)
    assert daemon.pid(images) == number
    models.pid_file.write_text(own)
