"""What a registry has on its disk for given images: the folders of its file system driver.

https://github.com/distribution/distribution/blob/v2.8.3/registry/storage/paths.go has the names.
So a pin survives: an index of many platforms of which one is carried is refused by a registry that
it is pushed to (MANIFEST_BLOB_UNKNOWN), and given byte by byte by one that finds it on its disk.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from apuhost.lockfile import Blob, Image
from apuhost.oci import reference
from apuhost.oci.reference import Reference, Repository

_ROOT = "docker/registry/v2"


@dataclass(frozen=True)
class Storage:
    """Paths below the registry's root, with digests: of files with those bytes, and of pointers.

    A pointer is a file that holds nothing but the digest.
    """

    data: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]


def storage(images: Iterable[Image]) -> Storage:
    """What gives these images, each by its tag, its pin, and its platform's own digest.

    A repository is below the registry that it came from, and beside that where it was there: unless
    two registries have one of that name.
    """
    known = tuple(images)
    data = {_data(blob.digest): blob.digest for image in known for blob in _blobs(image)}
    links = dict(chain.from_iterable(_links(image, known) for image in known))
    return Storage(tuple(sorted(data.items())), tuple(sorted(links.items())))


def namespace(host: str) -> str:
    """The first part of a path in a registry that keeps those of many: it has no colon.

    `docker.io`, `registry.lan_5000`.
    """
    return host.replace(":", "_")


def namespaced(repository: Repository) -> str:
    """A repository's path there: `docker.io/ollama/ollama`, `registry.lan_5000/team/app`."""
    return f"{namespace(repository.host)}/{repository.path}"


def _blobs(image: Image) -> tuple[Blob, ...]:
    return (*image.chain, image.config, *image.layers)


def _data(digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    return f"{_ROOT}/blobs/{algorithm}/{encoded[:2]}/{encoded}/data"


def _links(image: Image, known: Iterable[Image]) -> Iterator[tuple[str, str]]:
    found = reference.parse(image.reference)
    for path in _paths(found, known):
        repository = f"{_ROOT}/repositories/{path}"
        for blob in image.chain:
            yield _link(f"{repository}/_manifests/revisions", blob.digest)
        for blob in (image.config, *image.layers):
            yield _link(f"{repository}/_layers", blob.digest)
        if found.tag:
            yield f"{repository}/_manifests/tags/{found.tag}/current/link", found.digest


def _link(folder: str, digest: str) -> tuple[str, str]:
    return f"{folder}/{digest.replace(':', '/', 1)}/link", digest


def _paths(found: Reference, known: Iterable[Image]) -> tuple[str, ...]:
    own = found.repository
    everybody = {reference.parse(each.reference).repository for each in known}
    alone = Counter(each.path for each in everybody)[own.path] == 1
    return (namespaced(own), own.path) if alone else (namespaced(own),)
