"""Compose's file, systemd's units, and what is newer than dockerd."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, compose, units
from apuhost.probes.files import TextFile, frame
from apuhost.probes.units import Unit

DOCKER = """Id=docker.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
UnitFileState=enabled
ExecMainStatus=0
NeedDaemonReload=no"""
FAILED = """Id=apuhost-models.service
LoadState=loaded
ActiveState=failed
SubState=failed
Result=exit-code
UnitFileState=enabled
ExecMainStatus=1
NeedDaemonReload=yes"""
MISSING = """Id=apuhost-firewall.service
LoadState=not-found
ActiveState=inactive
SubState=dead
Result=success
UnitFileState=
NeedDaemonReload=no"""
PROGRAM = TextFile("/usr/local/lib/apuhost/firewall", "#!/bin/sh\r\n")


def answer(shown: str = "", untrusted: str = "", newer: str = "") -> str:
    told = {"units": shown, "untrusted": untrusted, "newer": newer}
    return frame((*(TextFile(name, text) for name, text in told.items()), PROGRAM))


def test_units_in_systemds_words() -> None:
    found = units.parse(answer(f"{DOCKER}\n\n{FAILED}\n\n{MISSING}"))
    assert found.units == {
        "docker.service": Unit(
            "docker.service", "loaded", "active", "running", "success", "enabled", 0, False
        ),
        "apuhost-models.service": Unit(
            "apuhost-models.service",
            "loaded",
            "failed",
            "failed",
            "exit-code",
            "enabled",
            1,
            True,
        ),
        "apuhost-firewall.service": Unit(
            "apuhost-firewall.service",
            "not-found",
            "inactive",
            "dead",
            "success",
            "",
            None,
            False,
        ),
    }


def test_our_files_and_what_is_out_of_date() -> None:
    found = units.parse(answer(untrusted="a is gone", newer="/etc/docker/daemon.json\n/x y"))
    assert found.files == (PROGRAM,)
    assert found.text(PROGRAM.path) == "#!/bin/sh\r\n"
    assert found.text("/usr/local/lib/apuhost/other") is None
    assert found.untrusted == ("a is gone",)
    assert found.newer_than_docker == ("/etc/docker/daemon.json", "/x y")


def test_without_systemd_there_are_no_units() -> None:
    found = units.parse(answer())
    assert (found.units, found.untrusted, found.newer_than_docker) == ({}, (), ())


@pytest.mark.parametrize("text", ["", frame((PROGRAM,)), answer()[:-4], answer()[8:]])
def test_an_answer_that_was_cut_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        units.parse(text)


@given(st.lists(st.sampled_from([*DOCKER.split("\n"), "", "Id=", "=x"]) | st.text(max_size=9)))
def test_no_units_raise_anything_else(lines: list[str]) -> None:
    with suppress(ParseError):
        assert "" not in units.parse(answer("\n".join(lines))).units


def test_a_compose_file_is_read_as_it_is() -> None:
    path = f"{compose.FOLDER}/compose.yaml"
    found = compose.parse(frame((TextFile(path, "services: {}\r\n"),)))
    assert found.text(path) == "services: {}\r\n"
    assert found.text(f"{compose.FOLDER}/other.yaml") is None
    assert compose.parse("").files == ()
    with pytest.raises(ParseError):
        compose.parse("==> 9 x\n")
