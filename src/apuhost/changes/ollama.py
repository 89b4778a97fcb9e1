"""What the ollama role changes, and what it leaves, in the order of a deploy."""

from collections.abc import Iterator

from apuhost.changes import FileChange, RolePlan, compose, due, owned, port
from apuhost.changes import image as images
from apuhost.changes.container import (
    ANYWHERE,
    before,
    differences,
    made_otherwise,
    of_project,
)
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.containers import Container

UNIT_NAME = "apuhost-ollama.service"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the ollama role."""
    name = derived.settings.ollama.ollama_container_name
    return RolePlan(
        "ollama",
        files=(
            *port.program(derived, facts),
            *port.unit(derived, facts),
            *compose.file(derived, facts),
            *unit(derived, facts),
        ),
        actions=(
            *due(port.UNIT_NAME, "enabled and run", port.unguarded(derived, facts)),
            *due("image", "pulled", image(derived, facts)),
            *due("volume", "made", volume(derived, facts)),
            *due(f"container {name}", _how(derived, facts), differences(derived, facts)),
            *due(UNIT_NAME, "enabled and run", unstarted(derived, facts)),
        ),
        kept=tuple(_kept(derived, facts)),
        notes=tuple(_notes(derived, facts)),
    )


def unit(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The unit that starts the container again where Docker gave up at boot."""
    return owned(UNIT, facts.units.text(UNIT), compose.rendered(UNIT, derived, facts))


def unstarted(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the unit that starts the container must be enabled or started."""
    changing = tuple(f"{change.path} changes" for change in unit(derived, facts))
    return changing or not_enabled(UNIT_NAME, facts)


def volume(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The volume of the models, where it is not there yet."""
    name = compose.store(derived, facts)
    return () if name.startswith("/") or name in facts.containers.volumes else (name,)


def image(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The image, where none that is here has its digest, or not by the name that Docker asks."""
    return () if images.here(derived, facts) else (images.reference(derived, facts),)


def _how(derived: Derived, facts: HostFacts) -> str:
    found = facts.containers.named(derived.settings.ollama.ollama_container_name)
    if found is None:
        return "made and started"
    if made_otherwise(derived, facts):
        return "made again; its models stay"
    return "started" if not found.running else f"{before(derived.settings.ollama)} removed"


def _kept(derived: Derived, facts: HostFacts) -> Iterator[str]:
    container = facts.containers.named(derived.settings.ollama.ollama_container_name)
    if compose.store_of(container):
        store = compose.store(derived, facts)
        yield f"keeps {'folder' if store.startswith('/') else 'volume'} {store} with its models"


def _notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    asked = derived.settings.ollama
    container = facts.containers.named(asked.ollama_container_name)
    yield from _exposure(derived, container)
    yield from images.notes(derived, facts)
    yield from _other_volume(derived, facts)
    if container and not of_project(asked, container) and container.project:
        yield f"compose project {container.project} loses its container to {asked.ollama_project}"
        yield from _left_behind(container, facts)
    elsewhere = (
        [each for each in container.config_files if each != compose.PATH] if container else []
    )
    if elsewhere:
        yield f"{', '.join(elsewhere)} stays, and no longer describes it: {compose.PATH} does"


def _other_volume(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """No setting moves models; a folder, which came from a container by hand, has no setting."""
    asked, store = derived.settings.ollama.ollama_volume, compose.store(derived, facts)
    if store != asked and not store.startswith("/"):
        yield (
            f'the models stay in volume {store}, not {asked}: write ollama_volume = "{store}", or '
            f"copy them there and remove the container and {compose.PATH}, then deploy"
        )


def _left_behind(container: Container, facts: HostFacts) -> Iterator[str]:
    """Compose gives a project's containers each other's names: those of another have none."""
    others = (each for each in facts.containers.containers if each.project == container.project)
    names = sorted(each.name for each in others if each.id != container.id)
    if names:
        yield f"{', '.join(names)} of {container.project} no longer find it by its service's name"


def _exposure(derived: Derived, container: Container | None) -> Iterator[str]:
    asked = derived.settings.ollama
    bound = container.ports if container else ()
    if any(each.host_ip in ANYWHERE for each in bound) and asked.address not in ANYWHERE:
        yield f"{asked.port} is open to every address today; after this to {asked.address} only"
    if not asked.loopback:
        who = "whoever reaches it" if asked.everybody else ", ".join(asked.ollama_allow_from)
        yield f"no login at {asked.ollama_listen}: {who} may use, load and delete models"
    elif asked.ollama_allow_from:
        yield f"ollama_allow_from does nothing: only the host itself reaches {asked.address}"
    if port.guarded(asked) and asked.everybody:
        yield "ollama_allow_from has all of IPv4: it keeps nobody away"
