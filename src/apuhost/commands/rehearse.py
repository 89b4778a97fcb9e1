"""`apuhost rehearse`: the main job on a throw-away VM."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from apuhost import engines, roles
from apuhost.commands import deploy as deploying
from apuhost.commands import plan, verify
from apuhost.commands.verify import Asked
from apuhost.rehearsal import (
    image,
    machine,
    making,
    requirements,
    ssh,
    standin,
    standin_image,
    state,
)
from apuhost.rehearsal.process import Heartbeat, RehearsalError
from apuhost.rehearsal.state import Machine
from apuhost.rehearsal.steps import Steps

INVENTORY = roles.CHECKOUT / "inventories" / "rehearsal" / "vm.py"


class DeployFailed(RehearsalError):
    """An operation failed on the rehearsal machine."""

    exit_status = 1


def everything() -> int:
    """A new machine, deployed, rebooted and verified; the one of the last rehearsal is gone."""
    directory = state.state_directory()
    making.destroy(directory)
    steps = Steps(7, sys.stdout)
    started = _up(steps, directory)
    log = directory.with_name(f"{directory.name}-deploy.log")
    with steps.step("deploy and reboot") as heartbeat:
        _deploy(log, heartbeat)
    with steps.step("verify"):
        reports = verify.reports(Asked(INVENTORY, active=True))
    steps.done()
    print()
    status = verify.show(reports, Asked(Path(_shown(INVENTORY))), {}, every=True)
    _say_what_next(started)
    return status


def up() -> int:
    """Build what is not cached, make the machine if there is none, start it if it does not run."""
    steps = Steps(5, sys.stdout)
    started = _up(steps, state.state_directory())
    steps.done()
    _say_what_next(started)
    return 0


def deploy() -> int:
    """`apuhost deploy` on the machine, without a question."""
    _running()
    return deploying.run(INVENTORY, (), yes=True)


def check() -> int:
    """`apuhost verify` on the machine."""
    _running()
    return verify.run(Asked(INVENTORY), {}, every=True)


def down() -> int:
    """Stop the machine and remove its files; the base image stays cached."""
    making.destroy(state.state_directory())
    print("the rehearsal machine is gone; its base image stays in", state.cache_directory())
    return 0


def login(words: Sequence[str]) -> int:
    """Log in to the machine, or run one command there: ssh takes this process's place."""
    words = ["sh", "-c", " ".join(words)] if words else []
    command = ssh.login_command(_running(), words)
    os.execvp(command[0], command)  # noqa: S606  (no shell is wanted here)


def _running() -> Machine:
    """The machine.

    Raises:
        RehearsalError: it was not made, or does not run.
    """
    made = state.load(state.state_directory())
    if not machine.running(made):
        raise RehearsalError(
            "the rehearsal machine does not run: `apuhost rehearse up` starts it as it is, "
            "`apuhost rehearse down` throws it away"
        )
    return made


def _up(steps: Steps, directory: Path) -> Machine:
    cache = state.cache_directory()
    with steps.step("packages on this machine") as heartbeat:
        requirements.ensure_packages(cache / "apt.log", heartbeat)
        cached = image.cached(cache)
        replacement = standin_image.cached(cache)
        both = cached is not None and replacement is not None
        requirements.check_resources(cache, directory, image_cached=both)
    with steps.step("base image (cached)" if cached else "base image") as heartbeat:
        base = cached or image.ensure(cache, heartbeat)
    with steps.step("Ollama's stand-in (cached)" if replacement else "Ollama's stand-in") as beat:
        replacement = replacement or standin_image.ensure(cache, beat)
    with steps.step("machine and keys"):
        made = state.load(directory) if state.exists(directory) else making.create(directory, base)
    with steps.step("boot") as heartbeat:
        machine.start(made)
        started = making.supply(made, replacement.directory, standin.VERSION)
        machine.wait_for_ssh(started, heartbeat=heartbeat)
    return started


def _deploy(log: Path, heartbeat: Heartbeat) -> None:
    """Apply to the machine; everything that is said goes to `log`.

    Raises:
        RehearsalError: the machine is refused, or an operation failed.
    """
    planned = plan.plans(INVENTORY, ())
    refused = [why for each in planned for why in (*each.refused, each.unreachable) if why]
    if refused:
        raise RehearsalError(f"the rehearsal machine cannot be deployed: {refused[0]}")
    with log.open("w", buffering=1) as written:  # whole lines, for who looks meanwhile

        def say(line: str) -> None:
            written.write(f"{line}\n")
            heartbeat(line)

        applied = engines.apply(INVENTORY, [each.host for each in planned], say)
    if applied.failed:
        raise DeployFailed(f"the deploy failed: see {log}", log)


def _say_what_next(started: Machine) -> None:
    print()
    print("log in          apuhost rehearse ssh")
    print(f"or plainly      ssh -F {shlex.quote(str(started.ssh_config))} {state.HOST_NAME}")
    print(f"ask again       apuhost verify {_shown(INVENTORY)}")
    print("throw it away   apuhost rehearse down")


def _shown(path: Path) -> str:
    return os.path.relpath(path)
