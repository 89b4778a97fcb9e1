"""`apuhost bundle mirror-config`: what other programs read to take from a site's mirror."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apuhost import inventory
from apuhost.bundle import foreign, reading
from apuhost.commands import output
from apuhost.errors import ApuhostError
from apuhost.nearest import hint
from apuhost.oci import hosts_toml
from apuhost.report import visible
from apuhost.settings import Settings
from apuhost.settings.mirror import MirrorSettings

KINDS: Mapping[str, Callable[[MirrorSettings, Iterable[str]], dict[str, str]]] = {
    "containerd": foreign.containerd,
    "kubespray": foreign.kubespray,
}


class MirrorConfigError(ApuhostError):
    """There is no mirror to be told of, or not just one."""


@dataclass(frozen=True)
class Asked:
    """For which program, by which hosts' settings and whose lock; into a folder, or to stdout."""

    kind: str
    inventory: Path
    limits: Sequence[str]
    lock: Path
    folder: Path | None


def run(asked: Asked) -> int:
    """Write the files of one program; 2 when one could not be written."""
    if asked.kind not in KINDS:
        wrong = f"{asked.kind}: no program of that name{hint(asked.kind, KINDS)}"
        raise MirrorConfigError(f"{wrong} (there are {', '.join(KINDS)})")
    hosts = inventory.load(asked.inventory, asked.limits)
    mirror = _one(inventory.settings(asked.inventory, hosts).values(), asked.inventory)
    registries = hosts_toml.registries(reading.read(asked.lock).images)
    texts = KINDS[asked.kind](mirror, registries)
    unwritten = _write(texts, asked)
    if asked.kind == "kubespray" and (absent := foreign.absent(registries)):
        unknown = f"{asked.lock} has no image of {', '.join(absent)}: the mirror gives none"
        print(visible(unknown), file=sys.stderr)
    for problem in unwritten:
        print(visible(problem), file=sys.stderr)
    return 2 if unwritten else 0


def _one(settings: Iterable[Settings], path: Path) -> MirrorSettings:
    """The mirror that all of the hosts have."""
    mirrors = {
        (each.mirror.registry, each.mirror.files): each.mirror
        for each in settings
        if each.mirror.mirror_address
    }
    if not mirrors:
        raise MirrorConfigError(f"{path}: no mirror: set mirror_address")
    if len(mirrors) > 1:
        named = ", ".join(sorted(registry for registry, _ in mirrors))
        raise MirrorConfigError(f"{path}: more than one mirror ({named}): choose with --limit")
    return next(iter(mirrors.values()))


def _write(texts: Mapping[str, str], asked: Asked) -> list[str]:
    if asked.folder is None:
        if len(texts) > 1:
            several = f"{asked.kind} has {len(texts)} files"
            raise MirrorConfigError(f"{several}: name a folder for them with -o DIR")
        return output.write({output.STDOUT: next(iter(texts.values()))})
    files = {str(asked.folder / path): text for path, text in texts.items()}
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        print(visible(file))
    return output.write(files)
