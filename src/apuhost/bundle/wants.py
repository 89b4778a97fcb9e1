"""What hosts' settings want of a bundle, and what of it a lock lacks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from apuhost.changes import needed
from apuhost.lockfile import Lock
from apuhost.oci import reference
from apuhost.settings import Settings
from apuhost.settings.files import PinnedFile
from apuhost.settings.models import PinnedModel


@dataclass(frozen=True)
class Lack:
    """A thing that is wanted and not in the lock: of which kind, and what."""

    kind: str
    what: str


def images(settings: Iterable[Settings]) -> tuple[str, ...]:
    """The images, as ollama_image names them."""
    asked = (each for each in settings if "ollama" in each.host.host_roles)
    return tuple(sorted({each.ollama.ollama_image for each in asked}))


def models(settings: Iterable[Settings]) -> tuple[PinnedModel, ...]:
    """The models of every host."""
    return tuple(chain.from_iterable(each.models.models_list for each in settings))


def files(settings: Iterable[Settings]) -> tuple[PinnedFile, ...]:
    """The further files of every host."""
    return tuple(chain.from_iterable(each.mirror.mirror_files for each in settings))


def packages(settings: Iterable[Settings], family: str) -> tuple[str, ...]:
    """Of every host, and of the machine that runs apuhost there."""
    of_hosts = (needed.on_bare_host(each, family) for each in settings)
    return tuple(sorted({*chain.from_iterable(of_hosts), *needed.CONTROLLER}))


def lacking(settings: Sequence[Settings], lock: Lock) -> Iterator[Lack]:
    """What these hosts want and the lock does not have."""
    locked = {each.reference for each in lock.images}
    yield from (Lack("images", each) for each in images(settings) if _spelled(each) not in locked)
    digests = {each.name: each.manifest.digest.removeprefix("sha256:") for each in lock.models}
    for model in models(settings):
        if model.name not in digests:
            yield Lack("models", model.name)
        elif model.digest not in ("", digests[model.name]):
            yield Lack("models", f"{model.name} of the pinned digest {model.digest}")
    names = {each.name for each in lock.debs}
    wanted = packages(settings, lock.target.distribution)
    yield from (Lack("debs", each) for each in wanted if each not in names)
    pinned = {(each.name, each.file.digest.removeprefix("sha256:")) for each in lock.files}
    for file in files(settings):
        if (file.file_name, file.sha256) not in pinned:
            yield Lack("files", f"{file.file_name} of the SHA-256 {file.sha256}")


def _spelled(text: str) -> str:
    """As a lock spells a reference: whole, with its registry."""
    found = reference.parse(text)
    return f"{found.name}@{found.digest}"
