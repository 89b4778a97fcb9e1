"""ollama.image and ollama.container: what the container was made from, and how it runs."""

import re

from apuhost.changes import compose
from apuhost.changes.container import PORT, unseen
from apuhost.changes.image import has_digest
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.container_commands import MADE_FROM
from apuhost.probes.containers import Container
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge, service
from apuhost.verdicts.parameter import DEPLOY

ELSEWHERE = frozenset({"image", "environment", "ports"})
"""What other verdicts judge in the compose file."""

LOGS = "docker logs --tail 50"
_DIGITS = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")


def image(derived: Derived, facts: HostFacts) -> Verdict:
    """Was the container made from the pinned image?"""
    asked = derived.settings.ollama
    return judge(
        Question("ollama.image", f"image {asked.version}, {short(asked.digest)}"),
        (
            (Layer.CONFIGURED, lambda: _pinned(derived, facts)),
            (Layer.BOOTED, lambda: _made_from(derived, facts)),
        ),
    )


def short(reference: str) -> str:
    """A reference with as much of its digest as people compare."""
    return _DIGITS.sub(r"\1", reference)


def container(derived: Derived, facts: HostFacts) -> Verdict:
    """Is there a container as asked, and does it run? One that ended before is worth a word."""
    name = derived.settings.ollama.ollama_container_name
    asked = f"container {name} as in the inventory, running"
    found = judge(
        Question("ollama.container", asked),
        (
            (Layer.CONFIGURED, lambda: _described(derived, facts)),
            (Layer.BOOTED, lambda: _made(derived, facts)),
            (Layer.LIVE, lambda: _runs(derived, facts)),
        ),
    )
    if found.status is not Status.PASS or not service.container(derived, facts).restart_count:
        return found
    return judge(
        Question("ollama.container", asked, Severity.RECOMMENDED),
        ((Layer.LIVE, lambda: _restarted(derived, facts)),),
    )


def _pinned(derived: Derived, facts: HostFacts) -> Found:
    told, digest = service.written(facts), derived.settings.ollama.digest
    if not told:
        return Found(True, "no compose file of ours")
    named = service.text(told.get("image"))
    if named.endswith(f"@{digest}"):
        return Found(True, f"image {short(digest)}")
    said = f"{compose.PATH} has image: {named}"
    return Found(False, f"the image is {short(named) or 'not named'}", said, DEPLOY)


def _made_from(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    found = facts.containers.image_of(made)
    if found is None:
        raise Unreadable(f"the image of container {made.name} was removed: {made.image_id}")
    if has_digest(found, derived.settings.ollama.digest):
        asked = derived.settings.ollama
        return Found(True, f"image {asked.version}, {short(asked.digest)}")
    digests = ", ".join(found.repo_digests) or found.id
    said = f"docker inspect {made.name}: {digests}"
    return Found(False, f"the image is {short(digests)}", said, DEPLOY)


def _described(derived: Derived, facts: HostFacts) -> Found:
    text, made = facts.compose.text(compose.PATH), _named(derived, facts)
    if text is None:
        if made is None or compose.PATH in made.config_files:
            said = f"{compose.PATH} is not there"
            return Found(False, "there is no compose file", said, DEPLOY)
        return Found(True, "set up by hand")
    if not service.written(facts):
        said = f"{compose.PATH} has no service {compose.SERVICE}"
        return Found(False, "the compose file is broken", said, DEPLOY)
    told, asked = (
        service.parts(text),
        service.parts(compose.rendered(compose.PATH, derived, facts)),
    )
    for name in sorted((told.keys() | asked.keys()) - ELSEWHERE):
        if told.get(name) != asked.get(name):
            shown = f"{name}: {told[name]}" if name in told else f"no {name}"
            return Found(False, f"{name} is not as asked", f"{compose.PATH} has {shown}", DEPLOY)
    return Found(True, compose.PATH)


def _named(derived: Derived, facts: HostFacts) -> Container | None:
    return facts.containers.named(derived.settings.ollama.ollama_container_name)


def _made(derived: Derived, facts: HostFacts) -> Found:
    made = _named(derived, facts)
    if made is None:
        name = derived.settings.ollama.ollama_container_name
        return Found(False, "there is no such container", f"docker ps -a: no {name}", DEPLOY)
    wrong = _wrong(made, derived, facts)
    if wrong:
        return Found(False, wrong[0], f"docker inspect {made.name}: {wrong[1]}", DEPLOY)
    return Found(True, "made as asked")


def _wrong(made: Container, derived: Derived, facts: HostFacts) -> tuple[str, str] | None:
    """What it lacks, in words, and what docker shows instead."""
    lacking = sorted(set(compose.devices(derived)) - set(made.devices))
    if lacking and not made.privileged:
        return f"it lacks {', '.join(lacking)}", f"devices {', '.join(made.devices) or 'none'}"
    wanted = compose.groups(facts)
    # Its processes are root's, which needs no group; groups of other numbers are old ones.
    if made.group_add and sorted(made.group_add) != sorted(wanted):
        shown = ", ".join(made.group_add)
        return f"its groups are {shown}, the host's {', '.join(wanted)}", f"GroupAdd {shown}"
    published = [(port.container, port.host_port) for port in made.ports]
    if published != [(PORT, derived.settings.ollama.port)]:
        shown = ", ".join(f"{inner} at {outer}" for inner, outer in published)
        return f"its port is {shown or 'not published'}", f"PortBindings {shown or 'none'}"
    if compose.store_of(made) is None:
        shown = ", ".join(mount.destination for mount in made.mounts) or "none"
        return f"{compose.STORE} is in no volume", f"mounts {shown}"
    if made.restart_policy != "unless-stopped":
        policy = made.restart_policy or "no"
        return f"its restart policy is {policy}", f"RestartPolicy {policy}"
    ours = made.config_files == (compose.PATH,)
    older = [*unseen(derived, made, facts)] if ours else []
    return (older[0], f"label {MADE_FROM}") if older else None


def _runs(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    said = f"docker inspect {made.name}: {made.status}"
    if not made.running or made.status in ("restarting", "paused", "dead"):
        return Found(False, f"it is {made.status}", said, f"{LOGS} {made.name}")
    if made.health == "unhealthy":
        return Found(False, "its health check fails", f"{said}, unhealthy", f"{LOGS} {made.name}")
    return Found(True, f"runs since {made.started_at}")


def _restarted(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    said = f"docker inspect {made.name}: RestartCount {made.restart_count}"
    times = f"it ended {made.restart_count} times and was started again"
    return Found(False, times, said, f"{LOGS} {made.name}")
