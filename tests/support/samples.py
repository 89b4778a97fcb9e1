"""Output of real machines that stands beside the checkout, where it does."""

from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

FOLDER = CHECKOUT.parent / "shared" / "samples"


def sample(path: str) -> str:
    """Return a sample's text; the test is skipped where the samples are not."""
    file: Path = FOLDER / path
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    return file.read_text(errors="surrogateescape")
