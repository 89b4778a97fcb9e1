"""Files by their hash: what was read once is put where every later fetch looks first."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from apuhost.lockfile import Blob


def place(blob: Blob, cache: Path) -> Path:
    """Where a blob lies in the cache."""
    return cache / "sha256" / blob.digest.removeprefix("sha256:")


def keep(file: Path, cache: Path) -> Blob:
    """Copy a file into the cache, whole or not at all."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    blob = Blob(f"sha256:{digest}", file.stat().st_size)
    kept = place(blob, cache)
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, prefix="new-", delete=False) as new:
            shutil.copyfile(file, new.name)
        Path(new.name).chmod(0o644)
        Path(new.name).replace(kept)
    return blob


def beside(file: Path, ending: str, read: Callable[[], bytes]) -> bytes:
    """What was once read out of a file that is named by its hash; `read` does it the first time."""
    kept = file.with_name(f"{file.name}.{ending}")
    try:
        return kept.read_bytes()
    except FileNotFoundError:
        content = read()
    with tempfile.NamedTemporaryFile(dir=kept.parent, prefix="new-", delete=False) as new:
        new.write(content)
    Path(new.name).replace(kept)
    return content
