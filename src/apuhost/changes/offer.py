"""What a registry offers, before anything of it is pulled: is it what was pinned, does it fit?"""

import re

from apuhost import sizing
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.model_manifest import weights
from apuhost.probes.model_names import full_name, manifest_path
from apuhost.probes.model_store import KEPT, Offer
from apuhost.settings.models import PinnedModel

FREE_BYTES = 2 * 1024**3
"""What stays free on the disk of the models: Docker writes there, too."""


def registry(name: str) -> tuple[str, str]:
    """The model's address at its registry, and its tag (Ollama's types/model/name.go)."""
    place, _, tag = full_name(name).rpartition(":")
    server, _, path = place.partition("/")
    return f"https://{server}/v2/{path}", tag


def kept_at(name: str) -> str:
    """The folder in which a model's manifest is kept, as its registry gave it."""
    return f"{KEPT}/{manifest_path(name)}"


def stored_at(name: str, facts: HostFacts) -> str:
    """The file of the model's manifest in Ollama's own store.

    Raises:
        Unreadable: where the store lies is not known.
    """
    stored = facts.model_store.named(name)
    if stored is not None:
        return stored.path  # in the case in which it was first pulled
    if facts.model_store.directory is None:
        raise Unreadable("model_store: Ollama's container has no store on this host")
    return f"{facts.model_store.directory}/models/manifests/{manifest_path(name)}"


def here(model: PinnedModel, offered: Offer, facts: HostFacts) -> bool:
    """Whether the model of that name is the offered one but for parameters that we set."""
    stored = facts.model_store.named(model.name)
    if stored is None or not stored.whole:
        return False
    # Only a pull takes out what nobody asks for: setting parameters adds to those that are there.
    strays = stored.parameters.keys() - offered.parameters.keys() - model.parameters.keys()
    return not strays and weights(stored.layers) == weights(offered.layers)


def obstacles(
    model: PinnedModel, offered: Offer, derived: Derived, facts: HostFacts
) -> tuple[str, ...]:
    """Why what the registry offers must not be pulled."""
    found = []
    if model.digest and offered.digest != model.digest:
        found.append(f"its registry has {offered.digest}, pinned is {model.digest}")
    version = derived.settings.ollama.version
    if newer(offered.requires or "", version):
        found.append(f"it needs Ollama {offered.requires}, ollama_image is {version}")
    free, missing = facts.model_store.free_bytes, _missing_bytes(offered, facts)
    if free is not None and missing and missing + FREE_BYTES > free:
        found.append(f"it needs {sizing.mib(missing)} MiB of disk, {sizing.mib(free)} are free")
    return tuple(found)


def _missing_bytes(offered: Offer, facts: HostFacts) -> int:
    blobs = facts.model_store.blobs
    layers = (*offered.layers, offered.config)
    return sum(layer.size for layer in layers if layer.blob not in blobs)


def newer(required: str, version: str) -> bool:
    """Whether a model needs a newer Ollama; what is no version is not judged."""
    wanted, found = (
        [int(number) for number in re.findall(r"[0-9]+", text)[:3]] for text in (required, version)
    )
    return bool(wanted and found) and wanted > found
