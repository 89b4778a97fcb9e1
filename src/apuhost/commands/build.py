"""`apuhost bundle build`: a lock made a bundle; in a module of its own, so that it starts fast."""

from pathlib import Path

from apuhost import places, roles
from apuhost.bundle import building, reading
from apuhost.commands.progress import progress


def run(file: Path, folder: Path, key: Path) -> int:
    """Make the folder the lock's bundle, signed."""
    locked = reading.read(file)
    order = building.Order(locked, roles.CHECKOUT, places.cache_directory() / "bundles", key)
    with progress("fetched", building.size(locked)) as told:
        building.build(order, folder, told)
    check = f"apuhost bundle verify {folder} --signers FILE"
    print(f"{folder}  serial {locked.serial}, signed; to check it: {check}")
    return 0
