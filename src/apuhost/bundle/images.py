"""Container images: one OCI layout, images/, that holds their bytes as the registries gave them.

How a pin survives: index.json names the manifest that the digest pins, with its own media type. An
index of many platforms stays whole, byte by byte, though only the target's platform is carried: the
layout is sparse, the other platforms' manifests are missing from blobs/. So the digest of the
inventory is the digest that a registry gets and a host pulls; a layout whose index is made anew for
one platform would have another. A reader must ask for the target's platform and no other:
`skopeo inspect oci:DIR/images:NAME`, never `skopeo copy --all`. By name skopeo finds only entries
of OCI's own media types: one of Docker's it reads where it is the only one, without a name.

The layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from apuhost.bundle.item import BundleError, Item, Text
from apuhost.lockfile import Blob, Image, Lock, Target
from apuhost.oci import RegistryError, manifests, reference
from apuhost.oci.manifests import CONFIGS, Descriptor, Index, Manifest
from apuhost.oci.reference import Reference
from apuhost.oci.registry import Registries

_FOLDER = "images"
_LAYOUT = {"imageLayoutVersion": "1.0.0"}
_NAME = "org.opencontainers.image.ref.name"


def resolve(references: Iterable[str], target: Target, registries: Registries) -> tuple[Image, ...]:
    """Ask registries what pinned images are made of, for the target's platform.

    Raises:
        BundleError: a name without a digest, one name with two of them, or an image that is not
            for the target's platform.
        RegistryError: a registry does not give it, or gives another thing.
    """
    pinned = sorted({_pinned(text) for text in references}, key=_spelled)
    counts = Counter(each.name for each in pinned)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise BundleError(f"{twice[0]}: stands here with two digests: leave one")
    return tuple(_resolved(each, f"linux/{target.architecture}", registries) for each in pinned)


def items(lock: Lock) -> Iterator[Item]:
    """Every blob of the layout, once."""
    found = {item.path: item for image in lock.images for item in _items(image)}
    return iter(found.values())


def texts(lock: Lock) -> Iterator[Text]:
    """What makes blobs a layout."""
    entries = [_entry(image) for image in lock.images]
    index = {"schemaVersion": 2, "mediaType": manifests.OCI_INDEX, "manifests": entries}
    yield Text(f"{_FOLDER}/oci-layout", _json(_LAYOUT))
    yield Text(f"{_FOLDER}/index.json", _json(index))


def _pinned(text: str) -> Reference:
    found = reference.parse(text)
    if not found.digest:
        raise BundleError(f"{text}: no digest: write {found.name}@sha256:…, a tag may move")
    return found


def _spelled(image: Reference) -> str:
    return f"{image.name}@{image.digest}"


def _resolved(image: Reference, platform: str, registries: Registries) -> Image:
    pinned = registries.manifest(image.repository, image.digest)
    chain = [Blob(image.digest, len(pinned.content))]
    top = _read(image, pinned.content, pinned.media_type)
    if isinstance(top, Index):
        chosen = _chosen(image, top, platform)
        chain.append(_blob(chosen))
        given = registries.manifest(image.repository, chosen.digest)
        found = _read(image, given.content, chosen.media_type)
    else:
        found = top
    if not isinstance(found, Manifest):
        raise BundleError(f"{_spelled(image)}: holds an index in its index: pin the inner one")
    _runs(image, found, platform, registries)
    layers = tuple(map(_blob, found.layers))
    return Image(_spelled(image), top.media_type, tuple(chain), _blob(found.config), layers)


def _read(image: Reference, content: bytes, media_type: str) -> Index | Manifest:
    try:
        return manifests.read(content, media_type)
    except RegistryError as error:
        raise BundleError(f"{_spelled(image)}: {error}: pin an image of containers") from error


def _chosen(image: Reference, index: Index, platform: str) -> Descriptor:
    """The platform's manifest; of variants (arm64/v8) the plain one, else the first."""
    of_it = [each for each in index.platforms if f"{each.platform}/".startswith(f"{platform}/")]
    if not of_it:
        raise _wrong_platform(image, platform, (each.platform for each in index.platforms))
    return min(of_it, key=lambda each: each.platform != platform)


def _runs(image: Reference, found: Manifest, platform: str, registries: Registries) -> None:
    """Refuse what is no image of the platform by its own configuration."""
    if found.config.media_type not in CONFIGS:
        kind = found.config.media_type or "(none)"
        raise BundleError(f"{_spelled(image)}: no image of containers, but {kind}")
    own = _platform(image, registries.blob(image.repository, found.config.digest))
    if not f"{own}/".startswith(f"{platform}/"):
        raise _wrong_platform(image, platform, [own])


def _platform(image: Reference, config: bytes) -> str:
    try:
        return manifests.platform(json.loads(config))
    except (ValueError, AttributeError, RecursionError):
        raise BundleError(f"{_spelled(image)}: its configuration cannot be read") from None


def _wrong_platform(image: Reference, wanted: str, found: Iterable[str]) -> BundleError:
    shown = ", ".join(sorted({each or "(none)" for each in found})) or "none"
    return BundleError(
        f"{_spelled(image)}: not for {wanted}; it is there for {shown}: pin the digest of another"
        " one"
    )


def _blob(found: Descriptor) -> Blob:
    return Blob(found.digest, found.size)


def _items(image: Image) -> Iterator[Item]:
    repository = reference.parse(image.reference).repository
    for kind, blobs in (("manifests", image.chain), ("blobs", (image.config, *image.layers))):
        for blob in blobs:
            path = f"{_FOLDER}/blobs/{blob.digest.replace(':', '/', 1)}"
            yield Item(path, blob, repository.url(kind, blob.digest))


def _entry(image: Image) -> dict[str, Any]:
    pinned = image.chain[0]
    return {
        "mediaType": image.media_type,
        "digest": pinned.digest,
        "size": pinned.size,
        "annotations": {_NAME: reference.parse(image.reference).name},
    }


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()
