"""Whether a bundle fits a host, by facts that were saved of it: before anybody travels.

Asked is what a deploy will do there: install packages, start the image, pull the models. And: does
apuhost itself run there, and is there room for all that.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from apuhost.bundle import (
    debs,
    files,
    images,
    models,
    plain,
    simulation,
    sizes,
    space,
    wants,
    wheels,
)
from apuhost.bundle.item import BundleError, Item
from apuhost.bundle.simulation import Simulated
from apuhost.bundle.verifying import Bundle
from apuhost.changes import host, needed
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.lockfile import Lock
from apuhost.oci import manifests, reference
from apuhost.settings import Settings

_MOST_CONFIG_BYTES = 4 << 20
_SHOWN = 5


class MisfitError(BundleError):
    """Why a bundle does not fit a host."""


@dataclass(frozen=True)
class Answer:
    """What was asked, what came out, and whether it fits; None: the facts do not tell."""

    subject: str
    said: str
    fits: bool | None


@dataclass(frozen=True)
class Case:
    """A verified bundle and a host; apt works in the folder `scratch`."""

    bundle: Bundle
    settings: Settings
    facts: HostFacts
    scratch: Path

    @cached_property
    def deployed(self) -> Simulated:
        """What apt would do for a deploy."""
        return self._simulated(_due(self.settings, self.facts))

    @cached_property
    def controller(self) -> Simulated:
        """What apt would do for apuhost itself to run there."""
        return self._simulated(needed.CONTROLLER)

    def _simulated(self, names: Iterable[str]) -> Simulated:
        bundle, status = self.bundle, self.facts.dpkg_status
        with simulation.root(self.scratch, bundle.folder, bundle.lock.target, status) as root:
            return simulation.simulated(root, names)


def answers(case: Case) -> Iterator[Answer]:
    """All that is asked of a host; of one that is no target of the bundle no more than that."""
    first = _answer("target", _target, case)
    yield first
    if first.fits:
        unasked = set(_unasked(case.settings))
        yield from (_answer(each, _ASKED[each], case) for each in _ASKED if each not in unasked)


def _unasked(settings: Settings) -> Iterator[str]:
    if "ollama" not in settings.applied:
        yield "image"
    if not settings.models.models_list:
        yield "models"
    if not settings.mirror.mirror_files:
        yield "files"


def _answer(subject: str, ask: Callable[[Case], str], case: Case) -> Answer:
    try:
        return Answer(subject, ask(case), fits=True)
    except Unreadable as error:
        return Answer(subject, f"cannot be told: {error}", fits=None)
    except BundleError as error:
        return Answer(subject, str(error), fits=False)


def _target(case: Case) -> str:
    lock, release = case.bundle.lock.target, case.facts.os_release
    found = f"{release.id}/{release.codename} on {case.facts.dpkg_status.native}"
    wanted = f"{lock.distribution}/{lock.suite} on {lock.architecture}"
    if found != wanted:
        raise MisfitError(f"it is {found}, the bundle is for {wanted}")
    return found


def _due(settings: Settings, facts: HostFacts) -> tuple[str, ...]:
    """The packages that a deploy would install."""
    planned = host.plan(settings, facts).roles
    actions = (action for role in planned for action in role.actions)
    return tuple(sorted({name for each in actions if each.how == "installed" for name in each.why}))


def _packages(case: Case) -> str:
    return _taken(case, case.deployed)


def _taken(case: Case, plan: Simulated) -> str:
    """How much apt would take from the bundle; it must be there, and nothing may go for it."""
    if plan.removed or plan.downgraded:
        went = [("remove", plan.removed), ("downgrade", plan.downgraded)]
        raise MisfitError("; ".join(f"apt would {do} {_named(all_)}" for do, all_ in went if all_))
    taken = space.debs_of(case.bundle.lock, plan)
    _whole(case, debs.items(replace(case.bundle.lock, debs=taken, releases=())))
    newer = sum(bool(each.before) for each in plan.installed)
    size = sizes.shown(sum(each.file.size for each in taken))
    return f"{len(taken) - newer} to install, {newer} to renew, none to remove: {size}"


def _image(case: Case) -> str:
    _not_lacking(case, "images")
    lock, name = case.bundle.lock, case.settings.ollama.ollama_image
    asked = reference.parse(name)
    image = next(each for each in lock.images if reference.parse(each.reference) == asked)
    _whole(case, images.items(replace(lock, images=(image,))))
    path = case.bundle.folder / "images/blobs" / image.config.digest.replace(":", "/", 1)
    config = json.loads(plain.content(path, _MOST_CONFIG_BYTES))
    platform, wanted = manifests.platform(config), f"linux/{case.facts.dpkg_status.native}"
    if not f"{platform}/".startswith(f"{wanted}/"):
        raise MisfitError(f"{name} is for {platform}, the host is {wanted}")
    return f"{name.partition('@')[0]} for {platform}: whole"


def _models(case: Case) -> str:
    _not_lacking(case, "models")
    lock = case.bundle.lock
    names = {each.name for each in wants.models([case.settings])}
    _whole(case, models.items(_with_models(lock, names)))
    return f"{_named(sorted(names))}: whole"


def _with_models(lock: Lock, names: set[str]) -> Lock:
    return replace(lock, models=tuple(each for each in lock.models if each.name in names))


def _files(case: Case) -> str:
    _not_lacking(case, "files")
    _whole(case, files.items(case.bundle.lock))
    return f"{_named(each.name for each in case.bundle.lock.files)}: whole"


def _toolkit(case: Case) -> str:
    """Apuhost itself runs there: its packages, and wheels for the Python that is there then."""
    said = _taken(case, case.controller)
    python = _python(case)
    wheels.check(case.bundle.folder, replace(case.bundle.lock.target, python=python))
    return f"{len(case.bundle.lock.wheels)} wheels for Python {python}; packages: {said}"


def _python(case: Case) -> str:
    coming = {each.name: each.after for each in case.controller.installed}
    version = coming.get("python3") or case.facts.packages.installed.get("python3", "")
    return ".".join(version.split(".")[:2]) or case.bundle.lock.target.python


def _space(case: Case) -> str:
    needs = space.needs(case.bundle, case.settings, case.facts, case.deployed)
    told, short = space.compared(needs, case.facts.disk)
    if short:
        raise MisfitError(f"too little: {'; '.join(short)}")
    return "; ".join(told) or "none needed"


_ASKED: dict[str, Callable[[Case], str]] = {
    "packages": _packages,
    "image": _image,
    "models": _models,
    "files": _files,
    "toolkit": _toolkit,
    "space": _space,
}


def _not_lacking(case: Case, kind: str) -> None:
    lacking = wants.lacking([case.settings], case.bundle.lock)
    if found := [each.what for each in lacking if each.kind == kind]:
        raise MisfitError(f"not in the bundle: {_named(found)}")


def _whole(case: Case, items: Iterable[Item]) -> None:
    """Every file of them is in the manifest, whose hashes are good."""
    listed = {each.path: f"sha256:{each.sha256}" for each in case.bundle.manifest.files}
    if missing := [each.path for each in items if listed.get(each.path) != each.file.digest]:
        raise MisfitError(f"not in the bundle as the lock has it: {_named(missing)}")


def _named(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
