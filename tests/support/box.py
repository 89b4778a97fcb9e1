"""A host as a state that a test may change in words, and what its probes print then."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apuhost.changes import boot, compose, docker, models, ollama, port
from apuhost.host_facts import HostFacts
from tests.support import stack
from tests.support.hosts import GPU_780M, PARTS, host_facts, rendered
from tests.support.stack import Model, framed

OURS = frozenset({ollama.UNIT_NAME, models.UNIT_NAME, boot.UNIT_NAME, boot.TIMER_NAME})
FOLDERS = {
    "apt_sources": ("/etc/apt/sources", "/etc/apt/keyrings/"),
    "daemon_json": (docker.DAEMON_JSON, "/etc/systemd/system/docker.service.d/"),
    "compose": (compose.PATH,),
    "units": (
        "/etc/systemd/system/apuhost",
        "/usr/local/",
        "/etc/apt/apt.conf.d/",
        "/etc/apuhost/boot/",
    ),
}
"""Which probe reads which files."""


def _files() -> dict[str, str]:
    return {docker.DAEMON_JSON: json.dumps(stack.DAEMON_JSON), **rendered()}


def _loaded() -> dict[str, str]:
    return {stack.QWEN.name: stack.sha256(stack.QWEN.stored)}


@dataclass(frozen=True)
class Box:
    """A host that apuhost has deployed, but for what a test says.

    `engine` is none, down or up; `newer` are files that dockerd has not read yet; `enabled` are
    those of our units that run; `container` is what `stack.container` takes; `stored` models are
    in Ollama's store, of `kept` ones the registry's manifest is here, `loaded` are digests.
    """

    packages: frozenset[str] = frozenset(stack.PACKAGES)
    candidate: bool = True
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    driver: bool = True
    new_firmware: bool = False
    engine: str = "up"
    newer: frozenset[str] = frozenset()
    untrusted: str = ""
    files: Mapping[str, str] = field(default_factory=_files)
    enabled: frozenset[str] = OURS
    container: Mapping[str, Any] | None = field(default_factory=dict)
    images: frozenset[str] = frozenset({stack.IMAGE_DIGEST})
    volumes: frozenset[str] = frozenset({"ollama"})
    stored: tuple[Model, ...] = (stack.QWEN,)
    kept: tuple[Model, ...] = (stack.QWEN,)
    loaded: Mapping[str, str] = field(default_factory=_loaded)
    guarded: tuple[str, ...] = ()

    def facts(self) -> HostFacts:
        """What its probes print."""
        return host_facts(
            packages=_packages(self.packages),
            apt_sources=self._sources(),
            accounts=self._accounts(),
            gpus=GPU_780M if self.driver else GPU_780M.replace("driver=amdgpu", "driver="),
            boot=self._boot(),
            docker=self._docker(),
            daemon_json=framed(self._read_by("daemon_json")),
            containers=self._containers(),
            compose=framed(self._read_by("compose")),
            model_store=self._store(),
            ollama_api=self._api(),
            units=self._units(),
            firewall=self._firewall(),
        )

    def _read_by(self, probe: str) -> dict[str, str]:
        starts = FOLDERS[probe]
        return {path: text for path, text in self.files.items() if path.startswith(starts)}

    def _sources(self) -> str:
        files = self._read_by("apt_sources")
        known = self.candidate or any("non-free-firmware" in text for text in files.values())
        candidate = "candidate firmware-amd-graphics 1\n" if known else ""
        return candidate + framed(files)

    def _accounts(self) -> str:
        engine = {} if self.engine == "none" else {"docker": 997}
        lines = (
            f"group {name}:x:{gid}:{','.join(sorted(self.members.get(name, ())))}\n"
            for name, gid in {"render": stack.RENDER, "video": stack.VIDEO, **engine}.items()
        )
        return f"{''.join(lines)}user root\nuser admin\nend\n"

    def _boot(self) -> str:
        newer = "firmware=/lib/firmware/amdgpu/x.bin\n" if self.new_firmware else ""
        return f"{PARTS['boot']}{newer}"

    def _docker(self) -> str:
        if self.engine == "none":
            return stack.NO_DOCKER
        return stack.docker() if self.engine == "up" else stack.docker_down()

    def _containers(self) -> str:
        if self.engine != "up":
            return "absent\n" if self.engine == "none" else f"refused {stack.DOCKER_DOWN}\n"
        made = "" if self.container is None else stack.container(**self.container)
        images = "".join(stack.image(each, image_id(each)) for each in sorted(self.images))
        volumes = "".join(f"volume {each}\n" for each in sorted(self.volumes))
        return f"{made}{images}{volumes}end\n"

    def _store(self) -> str:
        if self.engine == "down":
            return framed({"error": "docker does not answer"})
        if self.container is None:
            return framed({"end": ""})
        return stack.model_store(*self.stored, kept=self.kept)

    def _api(self) -> str:
        if self.engine != "up" or self.container is None:
            return framed({"error": "no container that answers"})
        loaded = ({**stack.loaded(), "name": n, "digest": d} for n, d in self.loaded.items())
        return stack.ollama_api(*loaded, models=self.stored)

    def _units(self) -> str:
        files = self._read_by("units")
        names = {path.rpartition("/")[2] for path in files if path.endswith((".service", ".timer"))}
        off = {"ActiveState": "inactive", "UnitFileState": "disabled"}
        states: dict[str, Mapping[str, str]] = dict.fromkeys(names - self.enabled, off)
        if self.engine != "up":
            states["docker.service"] = {"ActiveState": "inactive"}
        if self.engine == "none":
            states["docker.service"] = {"LoadState": "not-found", **off}
        changed = {name.removesuffix(".service"): state for name, state in states.items()}
        newer = "\n".join(sorted(self.newer))
        return stack.units(files, untrusted=self.untrusted, newer=newer, changed=changed)

    def _firewall(self) -> str:
        jump = [f"-A DOCKER-USER -j {port.CHAIN}", f"-N {port.CHAIN}"] if self.guarded else []
        listening = () if self.engine == "up" and self.container is not None else ("0.0.0.0:22",)
        return stack.firewall(*listening, rules=(*jump, *self.guarded))


def _packages(names: Iterable[str]) -> str:
    lines = "".join(f"ii |{name}|1|amd64\n" for name in sorted(names))
    return f"native amd64\n{lines}end\n"


def image_id(digest: str) -> str:
    """The id of the image that has this digest."""
    return stack.IMAGE_ID if digest == stack.IMAGE_DIGEST else f"sha256:{stack.sha256(digest)}"
