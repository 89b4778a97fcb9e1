"""The site's certificates: a file on the host, and what every program trusts because of it."""

from collections.abc import Iterator

from apuhost.changes import FileChange, owned
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts

PATH = "/usr/local/share/ca-certificates/apuhost-site.crt"


def arriving(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The file where certificates are asked for."""
    wanted = derived.settings.docker.docker_site_ca
    return owned(PATH, facts.units.text(PATH), wanted) if wanted else ()


def leaving(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The file where nobody asks for certificates any more, once no container mounts it.

    Docker starts no container without a file that it mounts, and makes a folder in its place. Ours
    is made again without it before, where its role is applied.
    """
    before = facts.units.text(PATH)
    if derived.settings.docker.docker_site_ca or before is None or facts.docker.silent:
        return ()
    if holding(derived, facts):
        return ()
    why = "emptied when no container mounts it: nothing of it is asked for"
    return (FileChange(PATH, before, "", why, operators=False),)


def mounting(facts: HostFacts) -> tuple[str, ...]:
    """The containers that mount the file."""
    return tuple(
        container.name
        for container in facts.containers.containers
        if any(mount.source == PATH for mount in container.mounts)
    )


def holding(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The same less ours, which a deploy makes again: the file stays for them."""
    own = derived.settings.ollama.ollama_container_name
    made_again = {own} if "ollama" in derived.settings.host.host_roles else set()
    return tuple(name for name in mounting(facts) if name not in made_again)


def untrusted(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why update-ca-certificates must run: the file comes, changes, or is gone already."""
    changing = tuple(f"{change.path} changes" for change in arriving(derived, facts))
    return changing or facts.units.untrusted


def notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Why the file is still there after a deploy that does not ask for it."""
    unasked = not derived.settings.docker.docker_site_ca and facts.units.text(PATH) is not None
    if not unasked or leaving(derived, facts):
        return
    if facts.docker.silent:
        yield f"{PATH} goes when Docker tells that no container mounts it"
    else:
        yield f"{PATH} stays: {', '.join(holding(derived, facts))} mounts it"
