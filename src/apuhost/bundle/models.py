"""Models: Ollama's store, models/, as `ollama pull` leaves it, and nothing else.

A model is its manifest, whose SHA-256 is what Ollama shows and an inventory pins, and the blobs
that it names. Registries of models give a manifest by its tag alone: a tag that has moved brings
other bytes, and is refused.
"""

from collections.abc import Iterable, Iterator

from apuhost.bundle.item import BundleError, Item, Text
from apuhost.lockfile import Blob, Lock, Model
from apuhost.oci.manifests import DOCKER_MANIFEST
from apuhost.oci.reference import Repository
from apuhost.oci.registry import Given, Registries
from apuhost.probes import ParseError, model_manifest
from apuhost.probes.model_manifest import Layer
from apuhost.probes.model_names import full_name, manifest_path
from apuhost.settings.models import PinnedModel

ACCEPT = DOCKER_MANIFEST
"""The one form that Ollama itself asks for (server/images.go): another has another digest."""

_FOLDER = "models"


def resolve(models: Iterable[PinnedModel], registries: Registries) -> tuple[Model, ...]:
    """Ask registries, which accept ACCEPT, what models are made of; a digest must be what it was.

    Raises:
        BundleError: another model than the pinned one lies under the name, or none at all.
        RegistryError: a registry does not give it.
    """
    pins = sorted({(model.name, model.digest) for model in models})
    return tuple({name: _resolved(name, pin, registries) for name, pin in pins}.values())


def items(lock: Lock) -> Iterator[Item]:
    """Every file of the store, once; a model's blobs before its manifest."""
    found = {item.path: item for model in lock.models for item in _items(model)}
    return iter(found.values())


def texts(_: Lock) -> Iterator[Text]:
    """None: all files of the store come from registries."""
    return iter(())


def _resolved(name: str, pin: str, registries: Registries) -> Model:
    repository, tag = _place(name)
    given = registries.manifest(repository, tag)
    found = given.digest.partition(":")[2]
    if pin not in ("", found):
        raise BundleError(
            f"{name}: its registry has {found}, models_list pins {pin}: the tag has moved: pin one"
            " that does not move, or write the new digest after a look at it"
        )
    return Model(name, Blob(given.digest, len(given.content)), _layers(name, given))


def _layers(name: str, given: Given) -> tuple[Blob, ...]:
    try:
        read = model_manifest.parse(given.content.decode("utf-8", "surrogateescape"))
    except ParseError as error:
        raise BundleError(f"{name}: no manifest of a model ({error})") from error
    return tuple(_blob(name, layer) for layer in (*read.layers, read.config))


def _blob(name: str, layer: Layer) -> Blob:
    if layer.size < 1:
        raise BundleError(f"{name}: no manifest of a model ({layer.digest} has no size)")
    return Blob(layer.digest, layer.size)


def _items(model: Model) -> Iterator[Item]:
    repository, tag = _place(model.name)
    for blob in model.layers:
        path = f"{_FOLDER}/blobs/{blob.digest.replace(':', '-', 1)}"
        yield Item(path, blob, repository.url("blobs", blob.digest))
    # exFAT takes no colon in a name, which the port of a registry has.
    path = f"{_FOLDER}/manifests/{manifest_path(model.name).replace(':', '%3A')}"
    yield Item(path, model.manifest, repository.url("manifests", tag))


def _place(name: str) -> tuple[Repository, str]:
    path, _, tag = full_name(name).rpartition(":")
    host, _, below = path.partition("/")
    return Repository(host, below), tag
