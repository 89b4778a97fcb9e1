"""The site's mirror, as a host knows it: its certificate, its apt key, the bundle's lock."""

from dataclasses import dataclass

from apuhost import lockfile
from apuhost.lockfile import Lock, LockError
from apuhost.probes import files
from apuhost.probes.files import TextFile
from apuhost.probes.pairs import whole_number

FOLDER = "/etc/apuhost/mirror"
CERTIFICATE = f"{FOLDER}/ca.crt"
APT_KEY = f"{FOLDER}/apt.asc"
LOCK = f"{FOLDER}/lock.json"
NEWEST = f"{FOLDER}/newest"
"""The highest serial that the host was deployed from."""

SOURCE = "/etc/apt/sources.list.d/apuhost-mirror.sources"


def alone(source: str) -> str:
    """Words of sh by which apt knows one source, leaves the lists of the host's own, and is strict.

    Whoever made a mirror by hand before may have let unsigned packages in, in the host's settings.
    """
    return (
        f"-o Dir::Etc::sourcelist={source} -o Dir::Etc::sourceparts=/dev/null"
        " -o APT::Get::List-Cleanup=0 -o APT::Get::AllowUnauthenticated=false"
        " -o Acquire::AllowInsecureRepositories=false -o Acquire::AllowWeakRepositories=false"
        " -o Acquire::AllowDowngradeToInsecureRepositories=false"
    )


APT_OPTIONS = alone(SOURCE)

CERTIFICATES = "/etc/docker/certs.d"
"""What dockerd knows of registries: REGISTRY/ca.crt, and with containerd's store hosts.toml."""

OURS = "# Written by apuhost;"
_FOREIGN = "foreign "

# Somebody else's hosts.toml may hold a password, and stays on the host.
COMMAND = f"""
{files.command(f"{FOLDER}/*", f"{CERTIFICATES}/*/ca.crt")}
for f in {CERTIFICATES}/*/hosts.toml; do
  [ -f "$f" ] || continue
  if head -n 1 "$f" | grep -q '^{OURS}'
  then {files.command('"$f"')}
  else printf '==> 0 {_FOREIGN}%s\\n\\n' "$f"
  fi
done
"""


@dataclass(frozen=True)
class Mirror:
    """The files of FOLDER, and what dockerd knows of registries.

    `lock` is None without one, and where `damage` says what is wrong; `foreign` are paths of
    hosts.toml that somebody else wrote.
    """

    files: tuple[TextFile, ...]
    lock: Lock | None
    damage: str
    foreign: tuple[str, ...] = ()

    def text(self, path: str) -> str | None:
        """Return the text of a file, or None: there is no such file."""
        return _text(self.files, path)

    @property
    def newest(self) -> int | None:
        """The serial in NEWEST; None where there is none."""
        return whole_number((self.text(NEWEST) or "").strip())


def parse(text: str) -> Mirror:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    framed = files.parse_files(text)
    found = tuple(file for file in framed if file.path.startswith("/"))
    foreign = tuple(
        file.path.removeprefix(_FOREIGN) for file in framed if file.path.startswith(_FOREIGN)
    )
    locked = _text(found, LOCK)
    if locked is None:
        return Mirror(found, None, "", foreign)
    try:
        return Mirror(found, lockfile.parse(locked), "", foreign)
    except LockError as error:
        return Mirror(found, None, f"{LOCK}: {error}", foreign)


def _text(found: tuple[TextFile, ...], path: str) -> str | None:
    return next((file.text for file in found if file.path == path), None)
