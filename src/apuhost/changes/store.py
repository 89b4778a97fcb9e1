"""Models from the mirror, put into Ollama's store file by file; Ollama itself pulls nothing.

The mirror has them as the lock does, by the digest of their manifest: a name alone is not enough.
"""

from urllib.parse import quote

from apuhost.derived import Derived
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Model
from apuhost.probes.model_manifest import Layer
from apuhost.probes.model_names import manifest_path, short_name
from apuhost.probes.model_store import Offer
from apuhost.settings.models import PinnedModel


def locked(name: str, facts: HostFacts) -> Model | None:
    """The model of that name in the lock, short or in full, whatever its case."""
    lock, wanted = facts.mirror.lock, short_name(name).lower()
    models = lock.models if lock else ()
    return next((each for each in models if short_name(each.name).lower() == wanted), None)


def pinned(model: PinnedModel, derived: Derived, facts: HostFacts) -> PinnedModel:
    """The model by the digest that the lock has, where the mirror gives it and nobody pins one."""
    found = locked(model.name, facts) if derived.settings.mirrored("models") else None
    if model.digest or found is None:
        return model
    return model.model_copy(update={"digest": found.manifest.digest.removeprefix("sha256:")})


def addresses(name: str, derived: Derived, facts: HostFacts) -> tuple[str, str]:
    """Where the mirror has a model's manifest, and what its blobs' addresses begin with."""
    found = locked(name, facts)
    # A bundle writes the colon of a registry's port as %3A: exFAT takes none.
    path = quote(manifest_path(found.name if found else name).replace(":", "%3A"))
    place = f"{derived.settings.mirror.files}/models"
    return f"{place}/manifests/{path}", f"{place}/blobs/sha256-"


def manifest_at(name: str, facts: HostFacts) -> str:
    """The file of a model's manifest in Ollama's store.

    Raises:
        ApuhostError: there is no store yet.
    """
    stored, folder = facts.model_store.named(name), facts.model_store.directory
    if folder is None:
        raise ApuhostError("there is no store to put it in: is Ollama's container there?")
    return stored.path if stored else f"{folder}/models/manifests/{manifest_path(name)}"


def blobs(offered: Offer) -> str:
    """Every blob of an offer, as lines of its digest in hex and its size; large ones first."""
    layers: set[Layer] = {*offered.layers, offered.config}
    found = {layer.digest.partition(":")[2]: layer.size for layer in layers}
    ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return "".join(f"{digest} {size}\n" for digest, size in ordered)
