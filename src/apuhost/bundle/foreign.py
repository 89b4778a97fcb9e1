"""What programs that are not apuhost's read, to take images and files from a site's mirror. Pure.

containerd (docs/cri/registry.md): config.toml names the folder of hosts.toml files and nothing else
of registries, since with `registry.mirrors` beside it the CRI plugin does not load. kubespray
(inventory/sample/group_vars/all/offline.yml, roles/kubespray_defaults): Ansible's variables.
"""

from collections.abc import Iterable, Mapping

import yaml

from apuhost.oci import hosts_toml
from apuhost.oci.storage import namespace
from apuhost.probes.mirror import CERTIFICATE
from apuhost.settings.mirror import MirrorSettings

CERTS = "/etc/containerd/certs.d"
_WIDEST = 10_000  # no value is folded

_PLUGINS = {2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.images"}
"""The plugin that pulls images, by the version of config.toml: of containerd 1.x, of 2.x."""

REPOSITORIES = {
    "kube_image_repo": "registry.k8s.io",
    "gcr_image_repo": "gcr.io",
    "docker_image_repo": "docker.io",
    "quay_image_repo": "quay.io",
    "github_image_repo": "ghcr.io",
}
"""kubespray's variables that images' names begin with, and the registry that each means."""

_FILES = {
    "kubeadm_download_url": "kubeadm",
    "kubectl_download_url": "kubectl",
    "kubelet_download_url": "kubelet",
    "cni_download_url": "cni-plugins-linux-{{ image_arch }}-v{{ cni_version }}.tgz",
    "crictl_download_url": "crictl-v{{ crictl_version }}-linux-{{ image_arch }}.tar.gz",
    "etcd_download_url": "etcd-v{{ etcd_version }}-linux-{{ image_arch }}.tar.gz",
    "calicoctl_download_url": "calicoctl-linux-{{ image_arch }}",
    "calico_crds_download_url": "crds.yaml",
    "ciliumcli_download_url": "cilium-linux-{{ image_arch }}.tar.gz",
    "helm_download_url": "helm-v{{ helm_version }}-linux-{{ image_arch }}.tar.gz",
    "runc_download_url": "runc.{{ image_arch }}",
    "crun_download_url": "crun-{{ crun_version }}-linux-{{ image_arch }}",
    "containerd_download_url": (
        "containerd-{{ 'static-' if containerd_static_binary | default(false) }}"
        "{{ containerd_version }}-linux-{{ image_arch }}.tar.gz"
    ),
    "nerdctl_download_url": "nerdctl-{{ nerdctl_version }}-linux-{{ image_arch }}.tar.gz",
    "cri_dockerd_download_url": "cri-dockerd-{{ cri_dockerd_version }}.{{ image_arch }}.tgz",
}
"""kubespray's downloads by the last part of their addresses: so `files/` has them."""

_HEAD = """\
# Written by apuhost bundle mirror-config kubespray: inventory/NAME/group_vars/all/offline.yml.
# An image is at the mirror below the registry that it came from, a file by its own name.
# Every node must trust the mirror's certificate: {certificate},
# in /usr/local/share/ca-certificates too (as *.crt), then update-ca-certificates.
"""


def containerd(asked: MirrorSettings, registries: Iterable[str]) -> dict[str, str]:
    """Files below /etc/containerd by their paths, and what config.toml must have."""
    led = {
        _hosts_toml(each): hosts_toml.text(each, asked.registry, CERTIFICATE) for each in registries
    }
    return {
        **led,
        _hosts_toml(asked.registry): _itself(asked),
        **{f"config-version-{version}.toml": _config(version) for version in _PLUGINS},
    }


def kubespray(asked: MirrorSettings, registries: Iterable[str]) -> dict[str, str]:
    """The file of variables that kubespray has for a site without internet."""
    led = sorted({*registries, *REPOSITORIES.values()})
    images = {
        key: f"{{{{ registry_host }}}}/{namespace(registry)}"
        for key, registry in REPOSITORIES.items()
    }
    values = {
        "registry_host": asked.registry,
        "files_repo": f"{asked.files}/files",
        **images,
        "pod_infra_image_repo": "{{ kube_image_repo }}/pause",
        "local_path_provisioner_helper_image_repo": "{{ docker_image_repo }}/library/busybox",
        **{key: f"{{{{ files_repo }}}}/{name}" for key, name in _FILES.items()},
        "containerd_registries_mirrors": [
            _mirrored("{{ registry_host }}", f"https://{asked.registry}"),
            *(_mirrored(each, hosts_toml.url(each, asked.registry)) for each in led),
        ],
    }
    text = yaml.safe_dump(values, sort_keys=False, width=_WIDEST)
    return {"offline.yml": f"{_HEAD.format(certificate=CERTIFICATE)}---\n{text}"}


def absent(registries: Iterable[str]) -> tuple[str, ...]:
    """Registries that kubespray takes images from, of which there is none."""
    there = set(registries)
    return tuple(each for each in REPOSITORIES.values() if each not in there)


def _hosts_toml(registry: str) -> str:
    """Where containerd looks first (remotes/docker/config/hosts.go); it can be on any disk."""
    host, colon, port = registry.partition(":")
    return f"certs.d/{host}{f'_{port}_' if colon else ''}/{hosts_toml.FILE}"


def _itself(asked: MirrorSettings) -> str:
    """For images whose names begin with the mirror's."""
    return (
        "# Written by apuhost bundle mirror-config containerd.\n"
        f'server = "https://{asked.registry}"\n'
        'capabilities = ["pull", "resolve"]\n'
        f'ca = "{CERTIFICATE}"\n'
    )


def _config(version: int) -> str:
    return (
        "# What /etc/containerd/config.toml must have; no registry.mirrors beside it.\n"
        f"version = {version}\n\n"
        f'[plugins."{_PLUGINS[version]}".registry]\n'
        f'config_path = "{CERTS}"\n'
    )


def _mirrored(prefix: str, server: str) -> Mapping[str, object]:
    """An entry of kubespray's hosts.toml files: what stands as `server` is asked last."""
    mirror = {
        "host": server,
        "capabilities": ["pull", "resolve"],
        "skip_verify": False,
        "override_path": server.count("/") > len("//"),
        "ca": CERTIFICATE,
    }
    return {"prefix": prefix, "server": server, "mirrors": [mirror]}
