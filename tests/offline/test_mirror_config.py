"""What containerd and kubespray are told of a mirror, read by real parsers of TOML and YAML."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, StrictUndefined
from tests.support import mirrors
from tests.support.hosts import settings

from apuhost import inventory, lockfile
from apuhost.bundle import foreign
from apuhost.commands import mirror_config
from apuhost.commands.mirror_config import Asked, MirrorConfigError
from apuhost.oci import hosts_toml
from apuhost.oci.reference import parse
from apuhost.oci.storage import namespaced
from apuhost.probes.mirror import CERTIFICATE

MIRROR = settings(mirror_address="192.0.2.2", mirror_registry_port=5001).mirror
AT = "192.0.2.2:5001"
SOURCES = ["docker.io", "registry.lan:5000"]


def toml(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


@pytest.mark.parametrize("registry", SOURCES)
def test_a_registry_is_led_to_the_mirror_and_to_nobody_else(registry: str) -> None:
    found = toml(hosts_toml.text(registry, AT, CERTIFICATE))
    told = {"capabilities": ["pull", "resolve"], "ca": CERTIFICATE, "override_path": True}
    server = found.pop("server")
    assert found == {**told, "host": {server: told}}
    repository = parse(f"{registry}/team/app:1").repository
    assert server == f"https://{AT}/v2/{namespaced(repository).removesuffix('/team/app')}"


def test_containerd_has_a_folder_for_each_registry_and_for_the_mirror() -> None:
    found = foreign.containerd(MIRROR, SOURCES)
    assert sorted(found) == [
        "certs.d/192.0.2.2_5001_/hosts.toml",
        "certs.d/docker.io/hosts.toml",
        "certs.d/registry.lan_5000_/hosts.toml",
        "config-version-2.toml",
        "config-version-3.toml",
    ]
    own = toml(found["certs.d/192.0.2.2_5001_/hosts.toml"])
    assert own["server"] == f"https://{AT}"
    assert (own["ca"], own["capabilities"]) == (CERTIFICATE, ["pull", "resolve"])


@pytest.mark.parametrize(
    ("version", "plugin"), [(2, "io.containerd.grpc.v1.cri"), (3, "io.containerd.cri.v1.images")]
)
def test_containerds_configuration_names_the_folder_and_no_registry(
    version: int, plugin: str
) -> None:
    found = toml(foreign.containerd(MIRROR, SOURCES)[f"config-version-{version}.toml"])
    registry = {"config_path": "/etc/containerd/certs.d"}
    assert found == {"version": version, "plugins": {plugin: {"registry": registry}}}


OF_KUBESPRAY = {
    "kube_version": "1.34.1", "image_arch": "amd64", "cni_version": "1.7.1",
    "etcd_version": "3.6.5",
    "crictl_version": "1.34.0", "calico_ctl_version": "3.30.3", "helm_version": "3.18.4",
    "runc_version": "1.3.1", "crun_version": "1.24", "containerd_version": "2.1.4",
    "nerdctl_version": "2.1.6", "cri_dockerd_version": "0.3.20", "cilium_cli_version": "0.18.7",
}  # fmt: skip


def variables() -> dict[str, Any]:
    found = yaml.safe_load(foreign.kubespray(MIRROR, SOURCES)["offline.yml"])
    assert isinstance(found, dict)
    return found


def rendered(values: dict[str, Any], key: str) -> str:
    """A variable as Ansible gives it: what it names is put in until nothing is named."""
    environment = Environment(undefined=StrictUndefined, autoescape=True)
    text = str(values[key])
    while "{{" in text:
        text = environment.from_string(text).render({**OF_KUBESPRAY, **values})
    return text


@pytest.mark.parametrize(
    ("key", "registry"),
    [
        pytest.param(key, registry, id=registry)
        for key, registry in {**foreign.REPOSITORIES, "pod_infra_image_repo": "pause"}.items()
    ],
)
def test_kubespray_finds_an_image_where_the_mirror_has_it(key: str, registry: str) -> None:
    source = "registry.k8s.io/pause" if registry == "pause" else f"{registry}/team/app"
    below = "" if registry == "pause" else "/team/app"
    path = namespaced(parse(f"{source}:1").repository)
    assert rendered(variables(), key) + below == f"{AT}/{path}"


def test_kubespray_finds_a_file_by_its_own_name() -> None:
    values = variables()
    keys = [key for key in values if key.endswith("_download_url")]
    assert {"kubeadm_download_url", "containerd_download_url"} <= set(keys)
    for key in keys:
        assert re.fullmatch(r"https://192\.0\.2\.2:8443/files/[\w.-]+", rendered(values, key)), key
    wanted = "https://192.0.2.2:8443/files/containerd-2.1.4-linux-amd64.tar.gz"
    assert rendered(values, "containerd_download_url") == wanted


def test_kubesprays_containerd_asks_the_mirror_alone() -> None:
    values = variables()
    entries = values["containerd_registries_mirrors"]
    own, *led = entries
    assert own["prefix"] == "{{ registry_host }}"
    assert {each["prefix"] for each in led} == {*SOURCES, *foreign.REPOSITORIES.values()}
    for entry in entries:
        (mirror,) = entry["mirrors"]
        assert entry["server"] == mirror["host"]
        assert mirror["host"].startswith(f"https://{AT}")
        assert mirror["override_path"] is (entry is not own)
        assert (mirror["skip_verify"], mirror["ca"]) == (False, CERTIFICATE)


SITE = {
    "a": settings(mirror_address="192.0.2.2"),
    "b": settings(mirror_address="192.0.2.3"),
    "c": settings(),
}


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mirrors' hosts and one that has none, without the process that reads an inventory."""
    monkeypatch.setattr(inventory, "load", lambda _, limits: tuple(limits or SITE))
    monkeypatch.setattr(
        inventory, "settings", lambda _, hosts: {each: SITE[each] for each in hosts}
    )


def asked(folder: Path, kind: str, *limits: str, output: bool = True) -> Asked:
    (folder / "lock.json").write_text(lockfile.as_text(mirrors.lock()))
    place = folder / "out" if output else None
    return Asked(kind, folder / "site.py", limits, folder / "lock.json", place)


def test_files_are_written_below_a_folder(tmp_path: Path) -> None:
    assert mirror_config.run(asked(tmp_path, "containerd", "a")) == 0
    found = tomllib.loads((tmp_path / "out/certs.d/docker.io/hosts.toml").read_text())
    assert found["server"] == "https://192.0.2.2:5000/v2/docker.io"


def test_one_file_may_go_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mirror_config.run(asked(tmp_path, "kubespray", "a", output=False)) == 0
    said = capsys.readouterr()
    assert yaml.safe_load(said.out)["registry_host"] == "192.0.2.2:5000"
    assert "no image of registry.k8s.io, gcr.io, quay.io, ghcr.io" in said.err


@pytest.mark.parametrize(
    ("kind", "limits", "output", "words"),
    [
        pytest.param("containrd", ("a",), True, r"\(containerd\?\)", id="a misspelt program"),
        pytest.param("containerd", ("a",), False, "-o DIR", id="several files to stdout"),
        pytest.param("containerd", (), True, "--limit", id="two mirrors"),
        pytest.param("containerd", ("c",), True, "mirror_address", id="no mirror"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, kind: str, limits: tuple[str, ...], output: bool, words: str
) -> None:
    with pytest.raises(MirrorConfigError, match=words):
        mirror_config.run(asked(tmp_path, kind, *limits, output=output))
    assert not (tmp_path / "out").exists()
