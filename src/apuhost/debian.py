"""The Debian archives that this machine itself installs from, read in its apt sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from apuhost.errors import ApuhostError

VARIABLE = "APUHOST_DEBIAN_MIRROR"
APT_FOLDER = Path("/etc/apt")
_DEBIAN_SUITES = frozenset(
    ("oldoldstable", "oldstable", "stable", "testing", "unstable",
     "buster", "bullseye", "bookworm", "trixie", "forky", "sid")
)  # fmt: skip
_SECURITY_SUITES = frozenset(f"{suite}-security" for suite in _DEBIAN_SUITES)
_ONE_LINE = re.compile(r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$")


class NoMirrorError(ApuhostError):
    """This machine's apt sources name no Debian mirror."""


def debian_mirror(folder: Path = APT_FOLDER) -> str:
    """$APUHOST_DEBIAN_MIRROR, else the first Debian archive in the apt sources under `folder`.

    Raises:
        NoMirrorError: there is none (this machine runs another distribution).
    """
    found = os.environ.get(VARIABLE, "").rstrip("/") or _first(folder, _DEBIAN_SUITES)
    if not found:
        raise NoMirrorError(
            f"{folder}: no Debian mirror in this machine's apt sources: set {VARIABLE} to the URI"
            " of one (its packages are verified with Debian's keyring)"
        )
    return found


def security_mirror(folder: Path = APT_FOLDER) -> str:
    """The archive of the security updates: as the apt sources name it, else beside the mirror.

    Raises:
        NoMirrorError: as debian_mirror.
    """
    named = "" if os.environ.get(VARIABLE) else _first(folder, _SECURITY_SUITES)
    return named or f"{debian_mirror(folder)}-security"


def _first(folder: Path, suites: frozenset[str]) -> str:
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    for path in files:
        if path.suffix in {".list", ".sources"} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            for uri in uris(text, deb822=path.suffix == ".sources", suites=suites):
                return uri
    return ""


def uris(text: str, *, deb822: bool, suites: frozenset[str] = _DEBIAN_SUITES) -> list[str]:
    """Archives with one of the suites in one file, in sources.list(5)'s newer or older form."""
    entries = _stanzas(text) if deb822 else _lines(text)
    return [uri.rstrip("/") for uri, suite, components in entries
            if suite in suites and "main" in components]  # fmt: skip


_Entry = tuple[str, str, list[str]]


def _lines(text: str) -> Iterable[_Entry]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].strip())
        if match:
            yield match[1], match[2], match[3].split()


def _stanzas(text: str) -> Iterable[_Entry]:
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", uncommented):
        unfolded = re.sub(r"\n[ \t]+", " ", stanza)
        fields = {
            name.strip().lower(): value.split()
            for name, colon, value in (line.partition(":") for line in unfolded.splitlines())
            if colon
        }
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        for uri in fields.get("uris", []):
            for suite in fields.get("suites", []):
                yield uri, suite, fields.get("components", [])
