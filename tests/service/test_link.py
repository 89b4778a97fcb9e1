"""`make install` puts a link on the PATH, and takes nobody's place there."""

import subprocess
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

pytestmark = pytest.mark.service

OURS = "/a/.venv/bin/apuhost"


def link(folder: Path) -> str:
    command = ["sh", str(CHECKOUT / "scripts" / "link"), OURS, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_link_is_made_once(tmp_path: Path) -> None:
    assert (link(tmp_path), link(tmp_path)) == ("", "")
    assert (tmp_path / "apuhost").readlink() == Path(OURS)


def test_another_checkouts_link_is_replaced_and_named(tmp_path: Path) -> None:
    (tmp_path / "apuhost").symlink_to("/b/.venv/bin/apuhost")
    assert "led to /b/.venv/bin/apuhost" in link(tmp_path)
    assert (tmp_path / "apuhost").readlink() == Path(OURS)


@pytest.mark.parametrize("target", [None, "/usr/bin/env"])
def test_another_program_stays(tmp_path: Path, target: str | None) -> None:
    place = tmp_path / "apuhost"
    if target:
        place.symlink_to(target)
    else:
        place.write_text("#!/bin/sh\n")
    before = place.read_bytes()
    assert "another program and stays" in link(tmp_path)
    assert place.read_bytes() == before
    assert place.is_symlink() == bool(target)


def test_a_folder_that_is_not_there_is_one_line_with_what_to_type(tmp_path: Path) -> None:
    place = tmp_path / "none"
    told = f"{place} is no folder: mkdir -p {place}; make install BIN={place} (here it is {OURS})\n"
    assert link(place) == told
    assert not place.exists()
    place.touch()
    assert link(place) == told
