"""The steps as pyinfra's operations, each under its own name.

Nothing raises here: one host's exception would end the run for all hosts (pyinfra 3.10), so a
host fails by a command that says why, and needs no connection for it.
"""

import traceback
from collections.abc import Generator

from pyinfra import host, logger, state
from pyinfra.api import FunctionCommand, StringCommand, deploy, operation
from pyinfra.api.arguments import ConnectorArguments
from pyinfra.api.command import PyinfraCommand, QuoteString
from pyinfra.api.host import Host
from pyinfra.api.state import State
from pyinfra.connectors.util import CommandOutput

from apuhost.changes import FileChange
from apuhost.errors import ApuhostError
from apuhost.report import diff
from apuhost.steps import Known, NextBoot, Script, Step
from apuhost.steps.order import Part
from deploy import limits
from deploy.facts import forget, known, output
from deploy.reboot import until_back

Commands = Generator[PyinfraCommand, None, None]


class CurrentHost:
    """The host that pyinfra is at, as steps see it."""

    @property
    def local(self) -> bool:
        """Whether it is this very machine."""
        return bool(host.name == "@local")

    def known(self) -> Known:
        """What is true of it now."""
        return known()

    def output(self, script: str) -> str:
        """What a script prints there, exactly."""
        return output(script)

    def nothing_due(self, why: str) -> None:
        """Show it where pyinfra is asked to (-v)."""
        host.noop(why)

    def warn(self, sentence: str) -> None:
        """Show it in any case."""
        logger.warning("%s%s", host.print_prefix, sentence)


class Bounded(StringCommand):
    """A command that has so many seconds; a host where it hangs fails, and the others go on."""

    limit = "host_command_timeout_s"

    def execute(
        self, state: State, host: Host, connector_arguments: ConnectorArguments
    ) -> limits.Done:
        """Run it."""
        seconds = limits.allowed(host, self.limit)
        ended = limits.within(
            host, seconds, self.limit, lambda: self._run(state, host, connector_arguments)
        )
        if ended.cut_off:
            logger.error("%s%s", host.print_prefix, ended.cut_off)
        return ended.done, ended.said

    def _run(self, state: State, host: Host, arguments: ConnectorArguments) -> limits.Done:
        done: limits.Done = super().execute(state, host, arguments)
        return done


class Told(Bounded):
    """A pull: what it says is shown as it comes, not only when it has failed."""

    limit = "host_pull_timeout_s"

    def _run(self, state: State, host: Host, arguments: ConnectorArguments) -> limits.Done:
        """Run it. Nothing is left to be shown afterwards."""
        arguments.update(self.connector_arguments)
        done, _ = host.run_shell_command(
            self, print_output=True, print_input=state.print_input, **arguments
        )
        return done, CommandOutput([])


def take(part: Part) -> None:
    """Take the steps of a part; what belongs to no role is not shown under a name of its own."""

    def each() -> None:
        for step in host.loop(part.steps):  # type: ignore[no-untyped-call]
            execute(name=step.name, step=step)

    nested = deploy(part.name)(each) if part.name else each
    nested()


@operation()
def execute(step: Step) -> Commands:
    """Ask the host what is due, and do that; a host that cannot tell fails.

    + step: what to do
    """
    try:
        for order in step.work(CurrentHost()):
            forget(step.changing)
            yield _command(order)
    except ApuhostError as error:
        yield fails(str(error))
    except Exception as error:  # a fault of ours must not end the run of the other hosts
        logger.error(traceback.format_exc())
        yield fails(f"apuhost itself failed: {error!r}")


def _command(order: Script | NextBoot) -> PyinfraCommand:
    if isinstance(order, NextBoot):
        return FunctionCommand(until_back(order), (), {})
    if order.change:
        _show(order.change)
    return root_script(order)


def root_script(script: Script) -> Bounded:
    """A script with its arguments, each quoted."""
    words = ("sh", "-c", QuoteString(script.text), "apuhost", *map(QuoteString, script.arguments))
    kind = Told if script.told else Bounded
    return kind(*words, _stdin=script.stdin)


def fails(sentence: str) -> FunctionCommand:
    """What fails with this sentence, without asking the host, and so ends its run alone."""

    def tell(state: State, host: Host) -> bool:  # noqa: ARG001  (pyinfra passes both by name)
        logger.error("%s%s", host.print_prefix, sentence)
        return False

    return FunctionCommand(tell, (), {})


def _show(change: FileChange) -> None:
    """Say a file's diff, where that is asked for."""
    if state.config.DIFF:
        for line in diff(change):
            logger.info("    %s", line)
