"""The registries of a rehearsal: who reaches them, how they are known, what is pushed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apuhost.rehearsal import certificates, registries, stock
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import REGISTRY_HOST, Machine

DIGEST = f"sha256:{'ab' * 32}"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, 2222, "operator", tmp_path / "base", 5000, 5001)


def test_only_this_machine_reaches_them(machine: Machine) -> None:
    images = json.dumps(registries.images_configuration(machine))
    assert '"addr": "127.0.0.1:5000"' in images
    assert "127.0.0.1:5001" in registries.models_command(machine)


def test_what_was_pushed_stays(machine: Machine) -> None:
    assert "delete" not in json.dumps(registries.images_configuration(machine))


def test_they_are_known_whatever_their_ports(machine: Machine) -> None:
    without_record = replace(machine, images_port=1, models_port=1)
    for theirs, ours in zip(registries.of(machine), registries.of(without_record), strict=True):
        assert str(ours.mark) in theirs.command
        assert theirs.command[0] == ours.command[0]


def test_the_server_has_its_address_for_the_guest_and_here(tmp_path: Path) -> None:
    command = certificates.server_command(tmp_path / "a.pem", tmp_path / "a.key")
    assert f"subjectAltName=IP:{REGISTRY_HOST},IP:127.0.0.1" in command
    assert "basicConstraints=critical,CA:FALSE" in command


def test_a_push_keeps_the_digest_and_checks_the_certificate(machine: Machine) -> None:
    command = stock.push_command(Path("/layout"), machine, "ollama/ollama", "1")
    assert "--preserve-digests" in command
    assert command[command.index("--dest-cert-dir") + 1] == str(machine.ca.parent)
    assert not [word for word in command if "tls-verify" in word or "insecure" in word]
    assert command[-2:] == ["oci:/layout", "docker://127.0.0.1:5000/ollama/ollama:1"]


def write(layout: Path, index: object) -> Path:
    (layout / "index.json").write_text(json.dumps(index))
    return layout


def test_the_digest_of_a_layout(tmp_path: Path) -> None:
    layout = write(tmp_path, {"manifests": [{"digest": DIGEST}]})
    assert stock.layout_digest(layout) == DIGEST


@pytest.mark.parametrize(
    "index",
    [{}, [], None, "", {"manifests": []}, {"manifests": [{}]}, {"manifests": [{"digest": "a"}] * 2},
     {"manifests": 7}],
)  # fmt: skip
def test_a_layout_that_is_not_one_image_is_named(tmp_path: Path, index: object) -> None:
    with pytest.raises(RehearsalError, match="one image expected"):
        stock.layout_digest(write(tmp_path, index))
    with pytest.raises(RehearsalError, match="one image expected"):
        stock.layout_digest(tmp_path / "absent")
