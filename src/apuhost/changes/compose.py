"""The compose project as it should be: its file, and what the file is made of."""

import json
import re
from hashlib import sha256

from apuhost import environment, hardware, roles
from apuhost.changes import FileChange, image, owned
from apuhost.changes.port import rules
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.containers import Container, Mount

PATH = "/etc/apuhost/ollama/compose.yaml"
SERVICE = "ollama"
STORE = "/root/.ollama"
SITE_CA = "/etc/ssl/certs/apuhost-site.crt"
_STORED = re.compile(rf'^ +- ("[^"\\\n]+):{re.escape(STORE)}"$', re.MULTILINE)


def file(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The compose file, when it is not as it should be."""
    before, after = facts.compose.text(PATH), rendered(PATH, derived, facts)
    return owned(PATH, before, after, "makes Ollama's container")


def rendered(path: str, derived: Derived, facts: HostFacts) -> str:
    """A file of the ollama role, as it should be.

    Raises:
        Unreadable: the compose file depends on what the host does not tell.
    """
    return roles.render("ollama", path, values(path, derived, facts))


def values(path: str, derived: Derived, facts: HostFacts) -> dict[str, object]:
    """The variables that the template of a file may use; the compose file's tell of the host."""
    known: dict[str, object] = {
        **derived.settings.ollama.model_dump(),
        "ollama_rules": rules(derived.settings.ollama),
    }
    if path != PATH:
        return known
    described = known | _project(derived, facts)
    return {**described, "ollama_made_from": _made_from(described)}


def _project(derived: Derived, facts: HostFacts) -> dict[str, object]:
    """What the compose file says besides."""
    storage = store(derived, facts)
    return {
        "docker_site_ca": derived.settings.docker.docker_site_ca,
        "ollama_image": image.reference(derived, facts),
        "ollama_devices": devices(derived),
        "ollama_groups": groups(facts),
        "ollama_userns": _remaps_users(facts),
        "ollama_published": f"{derived.settings.ollama.ollama_listen}:11434",
        # In a compose file $$ is a $: a folder's name may have one.
        "ollama_storage": f"{storage.replace('$', '$$')}:{STORE}",
        "ollama_named_volume": "" if storage.startswith("/") else storage,
        "ollama_variables": variables(derived),
    }


def made_from(derived: Derived, facts: HostFacts) -> str:
    """The value of the label MADE_FROM that the container should have."""
    return str(values(PATH, derived, facts)["ollama_made_from"])


def _made_from(described: dict[str, object]) -> str:
    """A digest of what the file says, and of the certificates that it mounts.

    Docker tells nothing of some of it (the health check), and a mounted file that was replaced
    stays the old one in the container.
    """
    text = roles.render("ollama", PATH, {**described, "ollama_made_from": ""})
    said = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return sha256(f"{said}\n{described['docker_site_ca']}".encode()).hexdigest()


def _remaps_users(facts: HostFacts) -> bool:
    engine = facts.docker
    if engine.installed and engine.server is None:
        raise Unreadable(f"docker does not tell whether it remaps users: {engine.error}")
    return engine.userns


def devices(derived: Derived) -> list[str]:
    """Device nodes of the container: ROCm computes through /dev/kfd beside /dev/dri."""
    rocm = derived.settings.ollama.ollama_backend == "rocm"
    return ["/dev/dri", "/dev/kfd"] if rocm else ["/dev/dri"]


def groups(facts: HostFacts) -> list[str]:
    """The host's numbers of the groups render and video, where it has them."""
    known = facts.accounts.groups
    return [str(known[name].gid) for name in ("render", "video") if name in known]


def variables(derived: Derived) -> dict[str, str]:
    """The server's environment, sorted by name."""
    asked = derived.settings.ollama
    own: dict[str, object] = {
        "OLLAMA_CONTEXT_LENGTH": asked.ollama_context_length,
        "OLLAMA_KEEP_ALIVE": asked.ollama_keep_alive,
        "OLLAMA_NUM_PARALLEL": asked.ollama_num_parallel,
        "OLLAMA_NO_CLOUD": asked.ollama_no_cloud,
        "OLLAMA_IGPU_ENABLE": asked.ollama_igpu_enable,
        "LLAMA_ARG_CACHE_RAM": asked.ollama_prompt_cache_mib,
        **_attention(derived),
        **_backend(derived),
        **_proxy(derived),
        **asked.ollama_environment,
    }
    return {name: environment.written(own[name]) for name in sorted(own)}


def _attention(derived: Derived) -> dict[str, object]:
    """Nothing where Ollama's own choice is asked for: auto, and f16."""
    asked = derived.settings.ollama
    said: dict[str, object] = {}
    if asked.ollama_flash_attention != "auto":
        said["OLLAMA_FLASH_ATTENTION"] = asked.ollama_flash_attention == "on"
    if asked.ollama_kv_cache_type != "f16":
        said["OLLAMA_KV_CACHE_TYPE"] = asked.ollama_kv_cache_type
    return said


def _backend(derived: Derived) -> dict[str, object]:
    if derived.settings.ollama.ollama_backend == "vulkan":
        return {"OLLAMA_VULKAN": True}
    gpu = hardware.apu(derived.gpu)
    return {"HSA_OVERRIDE_GFX_VERSION": gpu.hsa_override} if gpu and gpu.hsa_override else {}


def _proxy(derived: Derived) -> dict[str, object]:
    # HTTP_PROXY would lead Ollama's own client to the proxy (Ollama's FAQ).
    docker = derived.settings.docker
    if not docker.docker_proxy:
        return {}
    return {"HTTPS_PROXY": docker.docker_proxy, "NO_PROXY": ",".join(docker.docker_no_proxy)}


def store(derived: Derived, facts: HostFacts) -> str:
    """The volume, or the folder, of the models: that of a container set up by hand is kept.

    Our file still tells of it where the container went and the next was not made any more.
    """
    mount = store_of(facts.containers.named(derived.settings.ollama.ollama_container_name))
    if mount is None:
        return _written_store(facts) or derived.settings.ollama.ollama_volume
    return mount.name if mount.type == "volume" and mount.name else mount.source


def _written_store(facts: HostFacts) -> str:
    found = _STORED.search(facts.compose.text(PATH) or "")
    return str(json.loads(f'{found[1]}"')).replace("$$", "$") if found else ""


def store_of(container: Container | None) -> Mount | None:
    """Where a container has its models; None where they are in the container itself."""
    mounts = container.mounts if container else ()
    return next((mount for mount in mounts if mount.destination == STORE), None)
