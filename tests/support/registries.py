"""Real registries of images and of models, over TLS, with a CA of their own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from apuhost.rehearsal import certificates, ports, process, registries, state, stock
from apuhost.rehearsal.state import Machine

LACKING = [
    name
    for name in ("docker-registry", "openssl", "skopeo")
    if not shutil.which(name, path=process.search_path())
]
NEEDED = pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}")


@contextmanager
def started(folder: Path) -> Iterator[Machine]:
    """Those of a rehearsal's machine, as a folder has it; ended afterwards."""
    images, models = ports.free(2)
    made = Machine(folder, 1, state.USER, folder, images, models)
    certificates.make(made)
    made = replace(made, model_digest=stock.write_models(made.models))
    registries.start(made)
    yield made
    registries.end(made)
