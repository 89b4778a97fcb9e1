"""Docker: its settings, what it says of itself, its container and image."""

import json
from collections.abc import Mapping
from typing import Any

from apuhost import roles
from tests.support.stack.frames import framed
from tests.support.stack.system import RENDER, VIDEO

IMAGE = str(roles.defaults("ollama")["ollama_image"])
IMAGE_DIGEST = IMAGE.partition("@")[2]
IMAGE_ID = f"sha256:{'1d' * 32}"
COMPOSE_FILE = "/etc/apuhost/ollama/compose.yaml"
VOLUME = "/var/lib/docker/volumes/ollama/_data"
SERVER_PID = 4711

ENVIRONMENT: Mapping[str, str] = {
    "LLAMA_ARG_CACHE_RAM": "6144",
    "OLLAMA_CONTEXT_LENGTH": "0",
    "OLLAMA_IGPU_ENABLE": "1",
    "OLLAMA_KEEP_ALIVE": "-1",
    "OLLAMA_NO_CLOUD": "1",
    "OLLAMA_NUM_PARALLEL": "1",
    "OLLAMA_VULKAN": "1",
}
"""What the role writes into the compose file where nobody says otherwise."""


def without(variables: Mapping[str, str], *names: str) -> dict[str, str]:
    """Variables less some of them."""
    return {name: value for name, value in variables.items() if name not in names}


DAEMON_JSON: Mapping[str, Any] = {
    "log-driver": "json-file",
    "log-opts": {"max-size": "10m", "max-file": "3"},
    "live-restore": True,
}


def daemon_json(values: Mapping[str, Any] = DAEMON_JSON, /, **files: str) -> str:
    """daemon.json with these settings; `files` by their whole paths besides."""
    return framed({"/etc/docker/daemon.json": json.dumps(values, indent=2) + "\n", **files})


INFO: Mapping[str, Any] = {
    "Driver": "overlay2",
    "DriverStatus": [["Backing Filesystem", "extfs"]],
    "RegistryConfig": {"InsecureRegistryCIDRs": ["::1/128"], "IndexConfigs": {}, "Mirrors": None},
    "DockerRootDir": "/var/lib/docker",
    "HttpProxy": "",
    "HttpsProxy": "",
    "NoProxy": "",
    "ServerVersion": "26.1.5+dfsg1",
    "LiveRestoreEnabled": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"],
    "ClientInfo": {"Plugins": [{"Name": "compose", "Version": "2.26.1-4"}]},
}
DOCKER_DOWN = (
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
    "Is the docker daemon running?"
)


def docker(*, active: str = "active", enabled: str = "enabled", **info: Any) -> str:  # noqa: ANN401
    """The engine, other in some members of `docker info`."""
    return (
        "tool_docker=/usr/bin/docker\ntool_dockerd=/usr/sbin/dockerd\n"
        f"LoadState=loaded\nActiveState={active}\nUnitFileState={enabled}\n"
        "ExecStart=/usr/sbin/dockerd\nclient=Docker version 26.1.5+dfsg1, build a72d7cd\n"
        f"info={json.dumps({**INFO, **info})}\n\nend=\n"
    )


def docker_down() -> str:
    """The engine's client alone answers."""
    stopped = docker(active="inactive", ServerVersion="", LiveRestoreEnabled=False)
    return stopped.replace("\n\nend=", f"\n\nsaid={DOCKER_DOWN}\nend=")


NO_DOCKER = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nend=\n"

CONTAINER: Mapping[str, Any] = {
    "id": "a" * 64,
    "name": "/ollama",
    "image_id": IMAGE_ID,
    "image": IMAGE,
    "running": True,
    "status": "running",
    "pid": SERVER_PID,
    "health": "healthy",
    "started_at": "2026-11-29T09:10:00.413429107Z",
    "restart_count": 0,
    "restart_policy": "unless-stopped",
    "devices": [
        {"PathOnHost": "/dev/dri", "PathInContainer": "/dev/dri", "CgroupPermissions": "rwm"}
    ],
    "group_add": [str(RENDER), str(VIDEO)],
    "ports": {"11434/tcp": [{"HostIp": "127.0.0.1", "HostPort": "11434"}]},
    "published": {"11434/tcp": [{"HostIp": "127.0.0.1", "HostPort": "11434"}]},
    "mounts": [
        {
            "Type": "volume",
            "Name": "ollama",
            "Source": VOLUME,
            "Destination": "/root/.ollama",
            "Driver": "local",
            "Mode": "z",
            "RW": True,
            "Propagation": "",
        }
    ],
    "network_mode": "ollama_default",
    "privileged": False,
    "addresses": ["172.18.0.2", "", None],
}
IMAGES_OWN = {"OLLAMA_HOST": "0.0.0.0:11434"}
MADE_FROM = "of the file that the reference host has"
"""Stands for what `hosts.host_facts` puts in its place."""

LABELS = {
    "apuhost.made-from": MADE_FROM,
    "com.docker.compose.project": "ollama",
    "com.docker.compose.project.config_files": COMPOSE_FILE,
    "com.docker.compose.project.working_dir": COMPOSE_FILE.rpartition("/")[0],
    "com.docker.compose.service": "ollama",
}


def at(address: str, port: int = 11434) -> dict[str, Any]:
    """Members of a container that is published there, and nowhere else."""
    bound = {"11434/tcp": [{"HostIp": address, "HostPort": str(port)}]}
    return {"ports": bound, "published": bound}


def container(
    environment: Mapping[str, str] = ENVIRONMENT,
    labels: Mapping[str, str] = LABELS,
    **changes: Any,  # noqa: ANN401
) -> str:
    """The container, other in some members."""
    variables = (f"{name}={value}" for name, value in {**IMAGES_OWN, **environment}.items())
    return "".join(
        (
            f"container {json.dumps({**CONTAINER, **changes})}\n",
            *(f"env {json.dumps(variable)}\n" for variable in variables),
            *(f"label {json.dumps([name, value])}\n" for name, value in labels.items()),
        )
    )


def image(digest: str = IMAGE_DIGEST, image_id: str = IMAGE_ID) -> str:
    """An image that was pulled by this digest."""
    shown = {
        "id": image_id,
        "repo_digests": [f"ollama/ollama@{digest}"],
        "repo_tags": [],
        "architecture": "amd64",
    }
    return f"image {json.dumps(shown)}\n"


def containers(*blocks: str) -> str:
    """The answer of docker: these containers and images; without any, the healthy ones."""
    return f"{''.join(blocks or (container(), image()))}volume ollama\nend\n"


def container_packages(mesa: str = "25.2.8-0ubuntu0.24.04.1") -> str:
    """What the container's own list of packages has of Mesa and Vulkan."""
    return f"package libvulkan1 1.3.275.0-1build1\npackage mesa-vulkan-drivers {mesa}\nend\n"
