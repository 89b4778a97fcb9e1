"""What a healthy host's programs print of Docker, Ollama and its models; every part can be another.

The host has one container and one model, as the reference inventory asks for them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apuhost import roles
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_names import manifest_path
from apuhost.probes.model_store import KEPT

GIB = 1024**3
IMAGE = str(roles.defaults("ollama")["ollama_image"])
IMAGE_DIGEST = IMAGE.partition("@")[2]
IMAGE_ID = f"sha256:{'1d' * 32}"
VERSION = IMAGE.partition("@")[0].rpartition(":")[2]
COMPOSE_FILE = "/etc/apuhost/ollama/compose.yaml"
VOLUME = "/var/lib/docker/volumes/ollama/_data"
BLOBS = "/root/.ollama/models/blobs"
RENDER, VIDEO = 992, 44
SERVER_PID, RUNNER_PID = 4711, 4822
FOREVER = "2319-03-11T10:00:00.854775807Z"

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


def framed(files: Mapping[str, str]) -> str:
    """Files as a probe frames them."""
    return frame(tuple(TextFile(path, text) for path, text in files.items()))


def rendered(role: str, path: str, values: Mapping[str, object]) -> str:
    """A file of a role, from these variables and the role's defaults."""
    return roles.render(role, path, {**roles.defaults(role), **values})


def without(variables: Mapping[str, str], *names: str) -> dict[str, str]:
    """Variables less some of them."""
    return {name: value for name, value in variables.items() if name not in names}


# Packages, groups, device nodes, Vulkan.

PACKAGES = {
    "mesa-vulkan-drivers": "25.0.7-2",
    "vulkan-tools": "1.4.309.0+dfsg1-1",
    "firmware-amd-graphics": "20250410-2",
    "docker.io": "26.1.5+dfsg1-9",
    "docker-cli": "26.1.5+dfsg1-9",
    "docker-compose": "2.26.1-4",
}


def packages(*lacking: str, broken: str = "") -> str:
    """The list of dpkg without some packages, and perhaps with one that was left half-way."""
    lines = [
        f"ii |{name}|{version}|amd64\n"
        for name, version in PACKAGES.items()
        if name not in (*lacking, broken)
    ]
    halfway = f"iF |{broken}|1|amd64\n" if broken else ""
    return f"native amd64\n{''.join(lines)}{halfway}end\n"


def accounts(*, render: int = RENDER, members: str = "admin", docker: str = "") -> str:
    """The groups that count, and the users root and admin."""
    return (
        f"group render:x:{render}:{members}\ngroup video:x:{VIDEO}:{members}\n"
        f"group docker:x:997:{docker}\nuser root\nuser admin\nend\n"
    )


def nodes(*, mode: str = "660", gid: int = RENDER, group: str = "render", kfd: bool = True) -> str:
    """The device nodes of one GPU."""
    rocm = f"node {mode} 0 {gid} {group} /dev/kfd\n" if kfd else ""
    return (
        f"node 660 0 {VIDEO} video /dev/dri/card0\n"
        f"node {mode} 0 {gid} {group} /dev/dri/renderD128\n{rocm}"
    )


BANNER = (
    "==========\nVULKANINFO\n==========\n\nVulkan Instance Version: 1.4.309\n\nDevices:\n========\n"
)
RADV = (
    "GPU0:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n"
    "\tvendorID           = 0x1002\n\tdeviceID           = 0x1900\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU\n"
    "\tdeviceName         = AMD Radeon 780M Graphics (RADV PHOENIX)\n"
    "\tdriverID           = DRIVER_ID_MESA_RADV\n\tdriverName         = radv\n"
    "\tdriverInfo         = Mesa 25.0.7-2\n\tconformanceVersion = 1.4.0.0\n"
)
LLVMPIPE = (
    "GPU1:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n"
    "\tvendorID           = 0x10005\n\tdeviceID           = 0x0000\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU\n"
    "\tdeviceName         = llvmpipe (LLVM 19.1.7, 256 bits)\n"
    "\tdriverID           = DRIVER_ID_MESA_LLVMPIPE\n\tdriverName         = llvmpipe\n"
    "\tdriverInfo         = Mesa 25.0.7-2 (LLVM 19.1.7)\n\tconformanceVersion = 1.3.1.1\n"
)


def vulkaninfo(*devices: str) -> str:
    """The summary of these devices."""
    return f"{BANNER}{''.join(devices)}"


# The engine.

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

# The container.

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
LABELS = {
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


# Models.


@dataclass(frozen=True)
class Model:
    """A model as its registry gives it (`offered`) and as it lies in the store (`parameters`)."""

    name: str = "qwen3.6:35b-a3b"
    offered: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 1, "top_k": 20})
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "temperature": 1,
            "top_k": 20,
            "num_batch": 512,
            "draft_num_predict": 2,
        }
    )
    weights: str = "weights"
    projector: str = "projector"

    @property
    def pulled(self) -> str:
        """The manifest that the registry gives."""
        return self._manifest(self.offered)

    @property
    def stored(self) -> str:
        """The manifest that Ollama has since its parameters were set."""
        return self._manifest(self.parameters)

    @property
    def digest(self) -> str:
        """What an inventory pins."""
        return sha256(self.pulled)

    @property
    def blobs(self) -> dict[str, int]:
        """Every blob with its size, the registry's parameters among them."""
        layers = [*self._layers(self.offered), *self._layers(self.parameters), CONFIG]
        return {layer["digest"].replace(":", "-"): layer["size"] for layer in layers}

    @property
    def blob(self) -> str:
        """The file of its weights in the container."""
        return f"{BLOBS}/sha256-{sha256(self.weights)}"

    @property
    def projector_blob(self) -> str:
        """The file of its projector in the container."""
        return f"{BLOBS}/sha256-{sha256(self.projector)}"

    def _manifest(self, parameters: Mapping[str, Any]) -> str:
        members = {"schemaVersion": 2, "config": CONFIG, "layers": self._layers(parameters)}
        return json.dumps(members, separators=(",", ":"))

    def _layers(self, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        sized = {"model": (self.weights, 21 * GIB), "projector": (self.projector, GIB)}
        given = [_layer(kind, *part) for kind, part in sized.items() if part[0]]
        text = options(parameters)
        return [*given, _layer("params", text, len(text))] if parameters else given


def options(parameters: Mapping[str, Any]) -> str:
    """A blob of parameters."""
    return json.dumps(parameters, separators=(",", ":"))


def sha256(text: str) -> str:
    """The hex digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _layer(kind: str, content: str, size: int) -> dict[str, Any]:
    media_type = f"application/vnd.ollama.image.{kind}"
    return {"mediaType": media_type, "digest": f"sha256:{sha256(content)}", "size": size}


CONFIG: dict[str, Any] = {
    "mediaType": "application/vnd.docker.container.image.v1+json",
    "digest": f"sha256:{sha256('config')}",
    "size": 500,
}
QWEN = Model()


def model_store(
    *models: Model, kept: Iterable[Model] | None = None, missing: Iterable[str] = ()
) -> str:
    """The store with these models, every one of them also kept, less some blobs."""
    blobs = {name: size for model in models for name, size in model.blobs.items()}
    listing = "\n".join(f"{name} {size}" for name, size in blobs.items() if name not in missing)
    told = {
        "directory": VOLUME,
        "owner": "0:0",
        "free": f" {100 * GIB}",
        "blobs": listing,
    }
    kept_files = [file for model in (models if kept is None else kept) for file in _kept(model)]
    stored = [file for model in models for file in _stored(model)]
    heads = [TextFile(name, text) for name, text in told.items()]
    return frame((*kept_files, *heads, *dict.fromkeys(stored), TextFile("end", "")))


def _kept(model: Model) -> tuple[TextFile, ...]:
    folder = f"{KEPT}/{manifest_path(model.name)}"
    manifest = TextFile(f"{folder}/manifest", model.pulled)
    return (manifest, TextFile(f"{folder}/ollama.image.params", options(model.offered)))


def _stored(model: Model) -> tuple[TextFile, ...]:
    path = f"{VOLUME}/models/manifests/{manifest_path(model.name)}"
    text = options(model.parameters)
    blob = TextFile(f"{VOLUME}/models/blobs/sha256-{sha256(text)}", text)
    return (TextFile(path, model.stored), blob)


# Ollama at work.


def reply(value: object, status: str = "200 OK") -> str:
    """An HTTP answer as Go's server gives it."""
    text = json.dumps(value)
    head = f"HTTP/1.0 {status}\r\nContent-Type: application/json; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n{text}"


def loaded(model: Model = QWEN, /, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """A model in /api/ps, other in some members."""
    size = 27 * GIB
    return {
        "name": model.name,
        "model": model.name,
        "size": size,
        "digest": sha256(model.stored),
        "expires_at": FOREVER,
        "size_vram": size,
        "context_length": 262144,
        **changes,
    }


def ollama_api(
    *in_memory: Mapping[str, Any],
    models: Iterable[Model] = (QWEN,),
    version: str = VERSION,
    address: str = "127.0.0.1:11434",
    **answers: str,
) -> str:
    """What the API answers: these models are loaded; `answers` by the last words of their paths."""
    listed = [
        {"name": model.name, "digest": sha256(model.stored), "size": 22 * GIB} for model in models
    ]
    given = {
        "version": reply({"version": version}),
        "tags": reply({"models": listed}),
        "ps": reply({"models": list(in_memory)}),
        **answers,
    }
    asked = (TextFile(f"/api/{name}", text) for name, text in given.items())
    return frame((TextFile("address", address), *asked))


def command(model: Model = QWEN, /, **options: str | None) -> list[str]:
    """A runner's command line as Ollama 0.30 and later builds it, other in some options.

    An option's name is its key, so pass them as **{"-b": "2048"}; None takes one out.
    """
    given: dict[str, str | None] = {
        "--model": model.blob,
        "--port": "44067",
        "--host": "127.0.0.1",
        "--no-webui": "",
        "--offline": "",
        "-c": "262144",
        "-np": "1",
        "--log-verbosity": "4",
        "--no-log-prefix": "",
        "--no-log-timestamps": "",
        "--mmproj": model.projector_blob if model.projector else None,
        "--spec-type": "draft-mtp",
        "--spec-draft-n-max": "2",
        "--flash-attn": "auto",
        "-b": "512",
        "-ub": "512",
        "--context-shift": "",
        "--keep": "4",
        **options,
    }
    words = [(name, text) for name, text in given.items() if text is not None]
    return [
        "/usr/lib/ollama/llama-server",
        *(word for name, text in words for word in (name, text) if word),
    ]


def process(pid: int, words: Iterable[str], environment: Mapping[str, str]) -> str:
    """A process as the probe of runners prints it."""
    return "".join(
        (
            f"process {pid}\n",
            *(f"word {word}\n" for word in words),
            *(f"variable {name}={value}\n" for name, value in environment.items()),
        )
    )


BACKEND = {
    "GGML_BACKEND_PATH": "/usr/lib/ollama/vulkan/libggml-vulkan.so",
    "GGML_VK_VISIBLE_DEVICES": "0",
}


def runners(*commands: Iterable[str], environment: Mapping[str, str] = ENVIRONMENT) -> str:
    """Ollama's server with this environment, and a runner for each command line."""
    own = {**IMAGES_OWN, **environment}
    server = process(SERVER_PID, ("/bin/ollama", "serve"), own)
    held = (
        process(RUNNER_PID + number, words, {**own, **BACKEND})
        for number, words in enumerate(commands)
    )
    return f"{server}{''.join(held)}end\n"


_START = "time=2026-11-29T09:10:01.000Z level=INFO source=x.go:1 msg="
COMPUTE = (
    f'{_START}"inference compute" id=0 filter_id=0 library=Vulkan compute=0.0 name=Vulkan0 '
    'description="AMD Radeon 780M Graphics (RADV PHOENIX)" libdirs=ollama,vulkan driver=0.0 '
    'pci_id=0000:c6:00.0 type=iGPU total="49.0 GiB" available="48.2 GiB"\n'
)
ON_CPU = (
    f'{_START}"inference compute" id=cpu library=cpu compute="" name=cpu description=cpu '
    'libdirs=ollama driver="" pci_id="" type="" total="61.0 GiB" available="58.0 GiB"\n'
)
DROPPED = (
    f'{_START}"dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan '
    'compute=0.0 name=Vulkan0 description="AMD Radeon 780M Graphics (RADV PHOENIX)" '
    "pci_id=0000:c6:00.0\n"
)
TIMED_OUT = f'{_START}"llama-server GPU discovery watchdog timed out" timeout=30s\n'.replace(
    "level=INFO", "level=WARN"
)
OFFLOADED = "load_tensors: offloaded 41/41 layers to GPU\n"
CACHE = "srv    load_model: prompt cache is enabled, size limit: 6144 MiB\n"
UNTRACKED = (
    f'{_START}"llama-server VRAM tracking: no per-device buffer sizes were parsed"\n'
).replace("level=INFO", "level=WARN")


def ollama_log(*devices: str, loading: str = OFFLOADED + CACHE) -> str:
    """The log of one start: what it found, then what was loaded."""
    return (
        f'{_START}"server config" env="map[OLLAMA_IGPU_ENABLE:true]"\n'
        f'{_START}"Listening on [::]:11434 (version {VERSION})"\n'
        f'{_START}"discovering available GPUs..."\n'
        f"{''.join(devices)}"
        f'{_START}"vram-based default context" total_vram="49.0 GiB" default_num_ctx=262144\n'
        f"{loading}"
    )


def generation(*answers: tuple[str, str]) -> str:
    """What came of asking for a token: pairs of `reply MODEL` (or busy, silent) and the answer."""
    asked = (TextFile(head, text) for head, text in answers)
    return frame((TextFile("address", "127.0.0.1:11434"), *asked, TextFile("end", "")))


# Units, files of ours, the port.


def unit(name: str, **changes: str) -> str:
    """A unit that did its work, other in some properties."""
    shown = {
        "Id": name,
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "exited",
        "Result": "success",
        "UnitFileState": "enabled",
        "ExecMainStatus": "0",
        "NeedDaemonReload": "no",
        **changes,
    }
    return "".join(f"{key}={value}\n" for key, value in shown.items())


def units(
    files: Mapping[str, str],
    *,
    untrusted: str = "",
    newer: str = "",
    changed: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The units of docker and ours, some of them other in some properties, and files of ours."""
    known = ("docker", "apuhost-ollama", "apuhost-models", "apuhost-firewall")
    absent = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
    there = {"docker", *(path.rpartition("/")[2].removesuffix(".service") for path in files)}
    shown = [
        unit(
            f"{name}.service",
            **(({} if name in there else absent) | dict((changed or {}).get(name, {}))),
        )
        for name in known
    ]
    told = {"units": "\n".join(shown), "untrusted": untrusted, "newer": newer}
    return framed({**told, **files})


def firewall(*listening: str, rules: Iterable[str] = ()) -> str:
    """DOCKER-USER with these rules behind it, and who listens where."""
    shown = {"iptables": "\n".join(("-N DOCKER-USER", *rules)), "ip6tables": "-N DOCKER-USER"}
    sockets = listening or ("0.0.0.0:22", "127.0.0.1:11434")
    shown["ss"] = "\n".join(f"LISTEN 0 4096 {socket} 0.0.0.0:*" for socket in sockets)
    return frame((*(TextFile(name, text) for name, text in shown.items()), TextFile("end", "")))
