"""What lies in a bundle's folder, against its manifest: every file, and nothing else."""

import os
from collections.abc import Iterator, Set
from pathlib import Path

from apuhost.bundle import paths
from apuhost.bundle.manifest import OWN, Manifest
from apuhost.bundle.refusal import Fault
from apuhost.report.text import visible


def faults(folder: Path, manifest: Manifest) -> Iterator[Fault]:
    """What is there though the manifest does not know it, and folders that are links.

    A folder that is not the manifest's is named without what is in it. What a file of the manifest
    is, is seen when it is opened.
    """
    files = {each.path for each in manifest.files}.union(OWN)
    folders = {parent for path in files for parent in paths.parents(path)}
    return _below(folder, "", files, folders)


def _below(folder: Path, under: str, files: Set[str], folders: Set[str]) -> Iterator[Fault]:
    try:
        found = sorted(os.scandir(folder / under), key=lambda entry: entry.name)
    except OSError as error:
        yield Fault(under or ".", f"cannot be read: {error.strerror}")
        return
    for entry in found:
        path = f"{under}/{entry.name}" if under else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if path in folders and is_folder:
            yield from _below(folder, path, files, folders)
        elif path in folders:
            yield Fault(path, "is no folder")
        elif path not in files:
            yield Fault(visible(path), "not in the manifest")
