"""The versions that decide how a host behaves, as far as its facts tell them."""

from collections.abc import Callable, Mapping

from apuhost.host_facts import HostFacts, Unreadable

MESA = "mesa-vulkan-drivers"
"""The package of RADV, on Debian and Ubuntu alike."""

NONE = "none"
SHOWN_DIGITS = 12
_FIRMWARE = ("firmware-amd-graphics", "linux-firmware")


def versions(facts: HostFacts) -> dict[str, str]:
    """Each version by what it is of; what could not be read is left out."""
    found = {}
    for name, read in READ.items():
        try:
            found[name] = read(facts)
        except Unreadable:
            continue
    return found


def _kernel(facts: HostFacts) -> str:
    return facts.kernel.running


def _mesa(facts: HostFacts) -> str:
    return facts.packages.installed.get(MESA, NONE)


def container_mesa(facts: HostFacts) -> str:
    """The one that Ollama computes with: its image brings it, whatever the host has.

    Raises:
        Unreadable: the container's packages could not be read.
    """
    return (facts.container_packages.installed or {}).get(MESA, NONE)


def _firmware(facts: HostFacts) -> str:
    """Debian's package, or Ubuntu's."""
    installed = facts.packages.installed
    return next((installed[name] for name in _FIRMWARE if name in installed), NONE)


def _image(facts: HostFacts) -> str:
    container = facts.containers.ollama
    if container is None:
        return NONE
    image = facts.containers.image_of(container)
    digests = image.repo_digests if image else ()
    digest = (digests[0] if digests else container.image_id).rpartition("sha256:")[2]
    return digest[:SHOWN_DIGITS]


def _docker(facts: HostFacts) -> str:
    if facts.docker.server is None and facts.docker.installed:
        raise Unreadable(f"docker does not answer: {facts.docker.error}")
    return facts.docker.server or NONE


READ: Mapping[str, Callable[[HostFacts], str]] = {
    "kernel": _kernel,
    "Mesa": _mesa,
    "GPU firmware": _firmware,
    "Ollama's image": _image,
    "Mesa in its container": container_mesa,
    "Docker": _docker,
}
