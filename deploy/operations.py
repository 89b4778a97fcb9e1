"""The operations that every role shares. Each asks the host itself and yields only what is due.

Nothing raises here: one host's exception would end the run for all hosts (pyinfra 3.10), so a
host fails by a command that says why.
"""

import base64
import traceback
from collections.abc import Callable, Generator, Iterable
from hashlib import sha256

from pyinfra import host, logger, state
from pyinfra.api import StringCommand, operation
from pyinfra.api.arguments import ConnectorArguments
from pyinfra.api.command import PyinfraCommand, QuoteString
from pyinfra.api.host import Host
from pyinfra.api.state import State
from pyinfra.connectors.util import CommandOutput

from apuhost.changes import BACKUP, FileChange, as_bytes
from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.report import diff
from apuhost.round_trip import DECIDING
from apuhost.verdicts.refusals import in_containers, refusals
from deploy.facts import Known, forget, known

FILES = (
    "grub", "modprobe", "kernel", "apt_sources", "daemon_json", "compose", "units", "docker",
    "mirror",
    "mirror_serving",
)  # fmt: skip
"""Probes that tell of files which are written as a whole."""

Commands = Generator[PyinfraCommand, None, None]

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


def root_script(text: str, *arguments: str, stdin: str = "") -> StringCommand:
    """A shell script with its arguments, each quoted; `stdin` never shows in a process list."""
    quoted = (QuoteString(argument) for argument in arguments)
    return StringCommand("sh", "-c", QuoteString(text), "apuhost", *quoted, _stdin=stdin)


class Told(StringCommand):
    """A script of minutes: what it says is shown as it comes, not only when it has failed."""

    def execute(
        self, state: State, host: Host, connector_arguments: ConnectorArguments
    ) -> tuple[bool, CommandOutput]:
        """Run it. Nothing is left to be shown afterwards."""
        connector_arguments.update(self.connector_arguments)
        done, _ = host.run_shell_command(
            self, print_output=True, print_input=state.print_input, **connector_arguments
        )
        return done, CommandOutput([])


def told_script(text: str, *arguments: str, stdin: str = "") -> Told:
    """The same for a script of minutes."""
    return Told(root_script(text, *arguments), _stdin=stdin)


def fails(sentence: str) -> StringCommand:
    """A command that fails on the host with this sentence, and so ends its run alone."""
    return root_script('printf "%s\\n" "$1" >&2; exit 1', sentence)


Body = Callable[..., Commands]


def asks_host(changing: Iterable[str] = DECIDING) -> Callable[[Body], Body]:
    """Give an operation's body what is known of the host; a host that cannot tell fails.

    `changing` names the probes whose answer its commands may change.
    """
    names = tuple(changing)

    def decorated(body: Body) -> Body:
        # Not functools.wraps: pyinfra binds the caller's arguments to the signature it would show.
        def asked(*arguments: object, **keywords: object) -> Commands:
            try:
                for command in body(known(), *arguments, **keywords):
                    forget(names)
                    yield command
            except ApuhostError as error:
                yield fails(str(error))
            except Exception as error:  # a fault of ours must not end the run of the other hosts
                logger.error(traceback.format_exc())
                yield fails(f"apuhost itself failed: {error!r}")

        asked.__name__ = body.__name__
        return asked

    return decorated


@operation()
@asks_host(())
def admit(host_is: Known) -> Commands:
    """Fail a host that must not be touched, before any other operation reaches it."""
    refused = refusals(host_is.settings, host_is.derived, host_is.facts)
    if refused:
        yield fails(f"refused: {'; '.join(refused)}; nothing was touched")
    else:
        host.noop("may be provisioned")


@operation()
@asks_host(())
def admit_containers(host_is: Known) -> Commands:
    """The same for what only a running engine can tell, before a container is touched."""
    refused = in_containers(host_is.derived, host_is.facts)
    if refused:
        yield fails(f"refused: {'; '.join(refused)}; its containers and models stay as they are")
    else:
        host.noop("containers may be made")


@operation()
@asks_host((*FILES, "boot", "loader", "disk"))
def write_files(
    host_is: Known,
    changes: Callable[[Derived, HostFacts], Iterable[FileChange]],
    check: str = ":",
) -> Commands:
    """Write every file that `changes` finds due: whole or not at all, the first state kept.

    + changes: what to write, worked out from the host's facts
    + check: a shell command that fails if the new file, "$1", must not be activated
    """
    due = tuple(changes(host_is.derived, host_is.facts))
    if not due:
        host.noop("files are as they should be")
    for change in due:
        yield write_file(change, check)


def write_file(change: FileChange, check: str) -> StringCommand:
    """The command that puts one file in place; its diff is said where that is asked for."""
    if state.config.DIFF:
        for line in diff(change):
            logger.info("    %s", line)
    keep = "keep" if change.before is not None and change.operators else "replace"
    after = as_bytes(change.after)
    content = base64.b64encode(after).decode()
    digest = sha256(after).hexdigest()
    return root_script(INSTALL, change.path, change.found, check, keep, digest, stdin=content)
