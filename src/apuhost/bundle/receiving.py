"""What a mirror's host does for an install: it has a shell, coreutils, findutils, tar and sed.

Bundles lie in folders named by their serials. Beside a folder its mark, the SHA-256 of its
manifest, is written once sha256sum has found every file as it was signed: without the mark it is no
bundle.
"""

from apuhost.bundle.load import NOT_PLAIN, Held
from apuhost.bundle.remote import HostError
from apuhost.inventory import Host
from apuhost.probes.mirror_serving import BUNDLES, MARK

LOCKED = f"""umask 022
mkdir -p -- {BUNDLES}
cd -- {BUNDLES}
exec 9>>../bundles.lock
flock -w 60 9 || {{ echo "another install is at work on this host: let it end" >&2; exit 1; }}
"""

SURVEY = f"""{LOCKED}
df --output=avail -B1 . | tail -n 1
for mark in *{MARK}; do
  [ ! -e "$mark" ] || printf '%s %s\\n' "${{mark%{MARK}}}" "$(cat -- "$mark")"
done
echo
find . -mindepth 2 ! -type d -printf '%y %s %P\\0'
"""

MANIFEST = f'{LOCKED}cat -- "$1/manifest.json"\n'
"""Print the manifest of the bundle $1."""

FORGET = f"""{LOCKED}
xargs -0 -r rm -f --
find "$1" -mindepth 1 -depth -type d -empty -delete
"""
"""Remove the files that standard input names, each ended by NUL, and empty folders of $1."""

UNPACK = f"{LOCKED}tar --no-same-owner --no-same-permissions --warning=no-timestamp -xf -\n"
"""Put files, and links to files of other bundles, where standard input, a tar, has them."""

APPEND = f"""{LOCKED}
now=0; [ ! -e "$1" ] || now=$(stat -c %s -- "$1")
if [ "$now" != "$2" ]; then echo "$1 was changed by someone else meanwhile" >&2; exit 1; fi
mkdir -p -- "${{1%/*}}"
cat >>"$1"
"""
"""Add standard input to the file $1, which has $2 bytes."""

# sha256sum writes line by line when it checks, so that several at once do not mix their lines.
CHECK = f"""{LOCKED}
cd -- "$1"
if bad=$({{
  printf '%s  %s\\n' "$2" manifest.json "$3" manifest.json.sig
  sed -n 's/^  {{"path": "\\(.*\\)", "sha256": "\\(.*\\)", "size.*/\\2  \\1/p' manifest.json
}} | xargs -d '\\n' -n 64 -P "$(nproc)" sh -c \\
  'printf "%s\\n" "$@" | sha256sum -c --strict --quiet 2>/dev/null' each); then
  sync -f .
  printf '%s\\n' "$2" >"../$1{MARK}.new"
  sync -- "../$1{MARK}.new"
  mv -T -- "../$1{MARK}.new" "../$1{MARK}"
  sync ..
else
  rm -f -- "../$1{MARK}"
  [ -n "$bad" ] || {{ echo "sha256sum did not come to its end" >&2; exit 1; }}
  printf '%s\\n' "$bad"
fi
"""
"""Hash the bundle $1, its manifest and signature against $2 and $3; mark it, or name bad files."""

_BAD = ": FAILED"


def held(host: Host, answer: bytes) -> Held:
    """What SURVEY prints.

    Raises:
        HostError: it is nothing of the kind.
    """
    head, _, body = answer.decode("utf-8", "surrogateescape").partition("\n\n")
    try:
        free, *marks = head.splitlines()
        whole = dict(mark.split(" ", 1) for mark in marks)
        found = [entry.split(" ", 2) for entry in body.split("\0") if entry]
        files = {path: int(size) if kind == "f" else NOT_PLAIN for kind, size, path in found}
        return Held(int(free), whole, files)
    except ValueError as error:
        raise HostError(f"{host.name}: {BUNDLES}: cannot be told what is there") from error


def bad(answer: bytes) -> tuple[str, ...]:
    """The files that CHECK names, by their paths in the bundle."""
    lines = answer.decode("utf-8", "surrogateescape").splitlines()
    return tuple(line.rpartition(_BAD)[0] for line in lines if _BAD in line)
