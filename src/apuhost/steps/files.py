"""Files are written whole or not at all, checked before, the first state of an operator's kept."""

import base64
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256

from apuhost.changes import BACKUP, FileChange, as_bytes
from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.steps import Script, Step, Target, Work, script

CHANGING = (
    "grub", "modprobe", "kernel", "apt_sources", "daemon_json", "compose", "units", "docker",
    "mirror", "mirror_serving", "boot", "loader", "disk",
)  # fmt: skip
"""Probes that tell of files which are written as a whole.

Each is asked again after a step, and some take seconds: a step may name those that tell of its own.
"""

# $1 target, $2 sha256 of what it held when the change was worked out ("-": no file),
# $3 a shell command that checks the new file, its "$1", $4 "keep" for the first state,
# $5 sha256 of the new content: a broken connection ends standard input early, without an error.
# A file of ours that becomes empty is removed.
INSTALL = f"""set -e
{LOCK}
target=$(readlink -m -- "$1") new=$target.apuhost-new folder=$(dirname -- "$target")
now=-; [ ! -e "$target" ] || now=$(sha256sum <"$target" | cut -d' ' -f1)
if [ "$now" != "$2" ]; then
  echo "$1 was changed by someone else meanwhile: run again" >&2; exit 1
fi
mkdir -p -- "$folder"
base64 -d >"$new"
if [ "$(sha256sum <"$new" | cut -d' ' -f1)" != "$5" ]; then
  rm -f "$new"; echo "$1 did not arrive whole: run again" >&2; exit 1
fi
chmod 0644 "$new"
if [ -e "$target" ]; then
  chown --reference="$target" "$new"; chmod --reference="$target" "$new"
fi
sh -c "$3" check "$new" || {{ rm -f "$new"; exit 1; }}
if [ "$4" = keep ]; then
  kept=$1{BACKUP} number=1
  while [ -e "$kept" ]; do number=$((number + 1)); kept=$1{BACKUP}.$number; done
  cp -p -- "$target" "$kept"; sync "$kept"
fi
if [ "$4" = replace ] && [ ! -s "$new" ]; then rm -f "$new" "$target"; sync "$folder"; exit; fi
sync "$new"
mv -T -- "$new" "$target"
sync "$folder"
"""

Due = Callable[[Derived, HostFacts], Iterable[FileChange]]


def files(name: str, changes: Due, check: str = ":", changing: tuple[str, ...] = CHANGING) -> Step:
    """A step that writes every file which `changes` finds due.

    `check` is a shell command that fails if the new file, its "$1", must not be activated;
    `changing` are the probes that tell of the file.
    """

    def work(target: Target) -> Work:
        now = target.known()
        due = tuple(changes(now.derived, now.facts))
        if not due:
            target.nothing_due("files are as they should be")
        for change in due:
            yield write(change, check)

    return Step(name, work, changing)


def write(change: FileChange, check: str) -> Script:
    """The script that puts one file in place."""
    keep = "keep" if change.before is not None and change.operators else "replace"
    after = as_bytes(change.after)
    content = base64.b64encode(after).decode()
    digest = sha256(after).hexdigest()
    installing = script(INSTALL, change.path, change.found, check, keep, digest, stdin=content)
    return replace(installing, change=change)
