"""Where apuhost keeps its own files."""

import os

import pytest

from apuhost import places
from apuhost.oci import credentials
from apuhost.places import HomelessError

UNKNOWN = 4_000_000_000
"""A user id that no passwd file names."""


@pytest.mark.parametrize("ask", [places.state_directory, credentials.read])
def test_a_user_without_a_home_is_told_to_name_one(
    monkeypatch: pytest.MonkeyPatch, ask: object
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: UNKNOWN)
    with pytest.raises(HomelessError, match=f"user {UNKNOWN} has no home directory: set HOME"):
        ask()  # type: ignore[operator]
