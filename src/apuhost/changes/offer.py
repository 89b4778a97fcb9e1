"""What a registry offers, before anything of it is pulled: is it what was pinned, does it fit?"""

import re
from collections.abc import Iterator

from apuhost import sizing
from apuhost.changes import fit, store
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.model_manifest import Layer, weights
from apuhost.probes.model_names import full_name, manifest_path
from apuhost.probes.model_store import KEPT, Offer
from apuhost.settings.models import PinnedModel

FREE_BYTES = 2 * 1024**3
"""What stays free on the disk of the models: Docker writes there, too."""


def source(name: str, derived: Derived, facts: HostFacts) -> tuple[str, str]:
    """Where a model's manifest is, and what its blobs' addresses begin with, their digest missing.

    At a registry (Ollama's types/model/name.go), or at the mirror in the folders of a store.
    """
    stored = facts.model_store.named(name)
    if derived.settings.mirrored("models"):
        return store.addresses(name, derived, facts)
    # Ollama pulls a model that it has by the name that this one has, whatever the case asked for.
    place, _, tag = full_name(stored.name if stored else name).rpartition(":")
    server, _, path = place.partition("/")
    return (
        f"https://{server}/v2/{path}/manifests/{tag}",
        f"https://{server}/v2/{path}/blobs/sha256:",
    )


def kept_at(name: str, facts: HostFacts) -> str:
    """The folder in which a model's manifest is kept, as its registry gave it."""
    kept = facts.model_store.kept_named(name)
    return kept.path.rpartition("/")[0] if kept else f"{KEPT}/{manifest_path(name)}"


def blob(layer: Layer, facts: HostFacts) -> str:
    """The file of a layer in Ollama's own store."""
    return f"{facts.model_store.directory}/models/blobs/{layer.blob}"


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
    return (*_another(model, offered, facts), *_unfit(model, offered, derived, facts))


def _another(model: PinnedModel, offered: Offer, facts: HostFacts) -> Iterator[str]:
    if model.digest and offered.digest != model.digest:
        yield f"its registry has {offered.digest}, pinned is {model.digest}"
    stored = facts.model_store.named(model.name)
    moved = stored and stored.whole and weights(stored.layers) != weights(offered.layers)
    if moved and not model.digest:
        yield (
            "only a pull takes out parameters that nobody asks for, and its tag is another model "
            "by now: pin that one, or ask for them in parameters"
        )


def _unfit(model: PinnedModel, offered: Offer, derived: Derived, facts: HostFacts) -> Iterator[str]:
    version = derived.settings.ollama.version
    if newer(offered.requires, version):
        yield f"it needs Ollama {offered.requires}, ollama_image is {version}"
    free, missing = facts.model_store.free_bytes, _missing_bytes(offered, facts)
    if free is not None and missing and missing + FREE_BYTES > free:
        yield f"it needs {sizing.mib(missing)} MiB of disk, {sizing.mib(free)} are free"
    if missing:  # what is here is not refused: the plan tells
        for why in fit.memory(model, offered.layers, derived):
            yield f"{why}: a smaller num_ctx or model, or a larger kernel_gtt_gib"


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


def is_release(version: str) -> bool:
    """Whether Ollama is a release: a build that is none calls itself 0.0.0, or 0.0.0-dirty."""
    return not version.startswith("0.0.0")
