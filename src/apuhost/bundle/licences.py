"""The licences of what a bundle carries, each as its maker states it: licences.json.

Nothing is guessed: a package's copyright file, a wheel's metadata, a model's layer for it, and an
image's label say it, or nobody does. Of what cannot be read it is unknown: a build goes on.
"""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email import message_from_string
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

from apuhost.bundle import control, copyrights, debs, images, models, wheels
from apuhost.bundle.copyrights import UNKNOWN
from apuhost.bundle.item import Item, Text
from apuhost.bundle.manifest import LICENCES
from apuhost.lockfile import Blob, Image, Lock, Model
from apuhost.probes import ParseError
from apuhost.probes.json_values import load_object, member, objects

NOT_STATED = "not stated"
LABEL = "org.opencontainers.image.licenses"

_LAYER = "application/vnd.ollama.image.license"
_AT_ONCE = 4
_MOST_BYTES = 4 * 1024 * 1024
_MOST_SHOWN = 4000
_NO_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
"""What zipfile raises of one that is cut, damaged, encrypted, packed otherwise or lacks a file."""

Files = Callable[[Blob], Path]


def texts(lock: Lock, files: Files) -> Iterator[Text]:
    """The list, by path; `files` tells where each file is, which was fetched before."""
    found: dict[str, list[str]] = {}
    for item, licence in _stated(lock, files):
        known = found.setdefault(item.path, [])
        if licence and licence not in known:
            known.append(licence)  # a layer may be in two images
    stated = {path: _bounded("; ".join(known)) for path, known in sorted(found.items()) if known}
    stated["toolkit/"] = metadata.metadata("apuhost")["License-Expression"] or NOT_STATED
    yield Text(LICENCES, (json.dumps(stated, indent=1, ensure_ascii=False) + "\n").encode())


def of(path: str, stated: Mapping[str, str]) -> str:
    """A file's licence: its own, or that of the folder it is in."""
    return stated.get(path) or stated.get(f"{path.partition('/')[0]}/", NOT_STATED)


def _stated(lock: Lock, files: Files) -> Iterator[tuple[Item, str]]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda deb: _deb(files(deb.file), deb.name), lock.debs)
        yield from zip(debs.items(replace(lock, releases=())), found, strict=True)
    for item in wheels.items(lock):
        yield item, wheel(files(item.file))
    for model in lock.models:
        licence = of_model(model, files)
        yield from ((item, licence) for item in models.items(replace(lock, models=(model,))))
    for image in lock.images:
        licence = of_image(image, files)
        yield from ((item, licence) for item in images.items(replace(lock, images=(image,))))


def _deb(file: Path, name: str) -> str:
    return copyrights.of(file, name, control.of(file))


def wheel(file: Path) -> str:
    """What a wheel's metadata says (PEP 639, and what was before it)."""
    try:
        told = message_from_string(_metadata(file))  # of bytes, what is not ASCII is no text
    except _NO_ARCHIVE:
        return UNKNOWN
    return _line(told["License-Expression"]) or _classified(told) or _line(told["License"])


def _metadata(file: Path) -> str:
    with zipfile.ZipFile(file) as archive:
        names = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        with archive.open(next(names, "METADATA")) as stream:
            return stream.read(_MOST_BYTES).decode(errors="replace")


def _classified(told: Message) -> str:
    classifiers = told.get_all("Classifier", [])
    found = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    return ", ".join(each for each in found if each != "OSI Approved")


def of_model(model: Model, files: Files) -> str:
    """The first line that is not empty of each licence that goes with a model."""
    try:
        layers = objects(load_object(_text(files(model.manifest))), "layers")
        kinds = {member(each, "digest", ""): member(each, "mediaType", "") for each in layers}
    except ParseError:
        return UNKNOWN
    own = [each for each in model.layers if kinds.get(each.digest) == _LAYER]
    return "; ".join(filter(None, (_line(_text(files(each))) for each in own)))


def of_image(image: Image, files: Files) -> str:
    """The label in an image's configuration."""
    nothing: dict[str, Any] = {}
    try:
        config = member(load_object(_text(files(image.config))), "config", nothing)
        return _line(member(member(config, "Labels", nothing), LABEL, ""))
    except ParseError:
        return UNKNOWN


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(_MOST_BYTES).decode(errors="replace")


def _line(text: str | None) -> str:
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")


def _bounded(text: str) -> str:
    """No longer than somebody reads, and without what UTF-8 cannot write."""
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} …"
    return shown.encode(errors="replace").decode()
