"""Room on a host's disks that a deploy would not have."""

from collections.abc import Iterator

from apuhost.host_facts import HostFacts

MIB = 1024 * 1024


def lacking(path: str, needed: int, facts: HostFacts) -> Iterator[str]:
    """Why `needed` bytes do not fit under `path`."""
    mount = facts.disk.under(path)
    if needed and mount is None:
        yield f"free space under {path} could not be read"
    elif mount is not None and mount.available_bytes < needed:
        yield f"{path} has {mount.available_bytes // MIB} MiB free, {needed // MIB} are needed"
