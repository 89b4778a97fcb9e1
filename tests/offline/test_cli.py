"""The console script: errors in plain lines, with the exit status of their kind."""

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.rights import ordinary_user

from apuhost import cli, inventory
from apuhost.cli import streams, verbs
from apuhost.commands import doctor, facts, plan, terminal
from apuhost.commands.plan import Planned
from apuhost.commands.terminal import NobodyToAsk
from apuhost.gather import Unreachable
from apuhost.inventory import Host

ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e\x9b"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("plan", f"{ESCAPES}.py"), id="an inventory's name"),
        pytest.param(("parse", "cmdline", f"/nosuch/{ESCAPES}"), id="a file's name"),
        pytest.param(("parse", f"{ESCAPES}", "-"), id="a kind"),
        pytest.param(("plan", "a.py", f"{ESCAPES}.py"), id="an argument too many"),
        pytest.param(("plan", f"--{ESCAPES}"), id="an option that is none"),
        pytest.param((f"{ESCAPES}",), id="a verb that is none"),
    ],
)
def test_control_characters_in_an_error_are_shown_not_obeyed(
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["apuhost", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert said.err
    assert all(line.isprintable() for line in said.err.splitlines())
    assert "\\x1b[2J" in said.err


def test_a_hosts_name_is_shown_not_obeyed_by_every_verb_that_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(ESCAPES, (), {"ssh_hostname": "192.0.2.1"})
    away = {ESCAPES: Unreachable(ESCAPES)}
    monkeypatch.setattr(inventory, "load", lambda *_: (host,))
    for command in (doctor, facts, plan):
        monkeypatch.setattr(command, "gather", lambda _: away)
    for verb in ("doctor", "plan", "facts"):
        given = ("-o", "facts") if verb == "facts" else ()
        assert run(monkeypatch, verb, "site.py", *given) in {1, 2}
        said = capsys.readouterr()
        assert "owned" in said.out + said.err
        assert all(line.isprintable() for line in (said.out + said.err).split("\n"))


def test_a_colour_and_a_line_written_anew_reach_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with streams.shown():
        sys.stdout.write("\r\x1b[K\x1b[31mFAIL\x1b[0m  \rkernel.gtt\x1b[2K")
    assert capsys.readouterr().out == "\r\x1b[K\x1b[31mFAIL\x1b[0m  \\rkernel.gtt\\x1b[2K"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """The exit status of a command line."""
    monkeypatch.setattr(sys, "argv", ["apuhost", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_the_version_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"apuhost {version('apuhost')}\n"


def test_the_help_tells_of_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--help") == 0
    told = capsys.readouterr().out
    assert "--debug" in told
    assert "A mini PC with an AMD APU" in told


def test_the_help_of_active_tells_all_that_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", "--help") == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "a token, and one prompt twice" in said


def test_the_help_of_parse_and_a_wrong_kind_list_the_kinds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "parse", "--help") == 0
    assert run(monkeypatch, "parse", "nosuch") == 2
    said = capsys.readouterr()
    assert "grub-cfg" in said.out
    assert "grub-cfg" in said.err


@pytest.fixture
def line(tmp_path: Path) -> str:
    file = tmp_path / "cmdline"
    file.write_text("quiet\n")
    return str(file)


@pytest.mark.parametrize("arguments", [("parse", "cmdline"), ("--version",), ("--help",)])
def test_a_full_disk_under_the_output_is_one_line(
    arguments: tuple[str, ...],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        given = (*arguments, line) if "parse" in arguments else arguments
        assert run(monkeypatch, *given) == 2
    assert capsys.readouterr().err == "output: No space left on device\n"


def test_a_reader_that_has_gone_is_no_fault(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with TextIOWrapper(open(writing, "wb")) as pipe:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run(monkeypatch, "parse", "cmdline", line) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param(("plan", "site.py"), 2, id="a host that is not reached"),
        pytest.param(("plan", "nosuch.py"), 2, id="an error"),
        pytest.param(("plan", "a", "b"), 2, id="a usage that is none"),
        pytest.param(("plan", "--help"), 0, id="the help"),
    ],
)
def test_a_reader_that_has_gone_changes_no_exit_status(
    arguments: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = (Planned("box1", unreachable="timed out"),)
    if arguments[-1] == "site.py":
        monkeypatch.setattr(plan, "plans", lambda *_: away)
    reading, writing = os.pipe()
    os.close(reading)
    # What is written goes out at once, as in the middle of a long report.
    with TextIOWrapper(open(writing, "wb", buffering=0), write_through=True) as pipe:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setattr(sys, "stderr", pipe)
        assert run(monkeypatch, *arguments) == status


def test_a_closed_output_is_no_fault(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(monkeypatch, "parse", "cmdline", line) == 0


def test_a_form_for_a_closed_output_is_told_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(monkeypatch, "verify", "--from", "nosuch", "--json", "-") == 2
    assert capsys.readouterr().err == "--json -: standard output is closed\n"


def test_nobody_is_asked_where_standard_input_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NobodyToAsk, match="add -y"):
        terminal.agreed("Apply?")


def test_an_interruption_while_the_verbs_are_read_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "apuhost.cli.verbs", Interrupted())
    assert run(monkeypatch, "--version") == 130
    assert capsys.readouterr().err == "interrupted; run it again to go on\n"


def test_a_current_folder_that_was_removed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(monkeypatch, "plan", "site.py") == 2
    assert capsys.readouterr().err == "the current folder was removed: change to another one\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param((), "verify what? give an INVENTORY, or --from DIR", id="nothing"),
        pytest.param(
            ("a.py", "--from", "x"),
            "verify a.py, or what is saved in x? give one",
            id="both",
        ),
    ],
)
def test_verify_is_told_one_thing_to_verify(
    arguments: tuple[str, ...],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "verify", *arguments) == 2
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize(
    "arguments",
    [
        *[("verify", "site.py", option, "") for option in ("--json", "--junit", "--metrics")],
        *[("verify", option, "") for option in ("--from", "--limit")],
        ("verify", "--json="),
        ("plan", "site.py", "--limit", "box1", "--limit", ""),
        ("facts", "site.py", "-o", ""),
        ("bundle", "lock", "site.py", "--target", "debian/trixie", "-o", ""),
    ],
)
def test_an_option_without_a_name_is_one_line(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    option = "--output" if "-o" in arguments else arguments[-1].rstrip("=") or arguments[-2]
    assert line.startswith(f"{option} is empty: give it a ")


@pytest.mark.parametrize(
    "arguments",
    [("plan", ""), ("verify", ""), ("parse", "cmdline", ""), ("bundle", "diff", "a", "")],
)
def test_an_argument_that_is_empty_is_one_line(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" is empty: give it a path")


def test_a_file_that_may_not_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "site.py"
    file.touch(mode=0o000)
    with ordinary_user():
        for verb in (("plan",), ("verify",), ("parse", "cmdline"), ("bundle", "diff", "a.json")):
            assert run(monkeypatch, *verb, str(file)) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line == f"{file}: Permission denied" or "diff" in verb


@pytest.mark.parametrize("option", ["--sources", "--preferences"])
def test_a_file_for_apt_that_is_no_text_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    sources, lock = tmp_path / "noble.sources", tmp_path / "lock.json"
    sources.write_bytes(b"\x99\x01\x0d\x04 a key as gpg exports it")
    monkeypatch.setattr(inventory, "load", lambda *_: ())
    words = ("bundle", "lock", "site.py", "--target", "ubuntu/noble", "-o", str(lock))
    assert run(monkeypatch, *words, option, str(sources)) == 2
    assert capsys.readouterr().err == f"{sources}: no text, but apt's files are\n"


def test_an_error_keeps_its_exit_status_when_its_traceback_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "text"
    file.write_text("no kernel line\nat all\n")
    for arguments in (("parse", "cmdline", str(file)), ("plan", "nosuch.py")):
        status = run(monkeypatch, *arguments)
        said = capsys.readouterr().err
        assert run(monkeypatch, "--debug", *arguments) == status
        shown = capsys.readouterr().err
        assert shown.startswith("Traceback ")
        assert shown.endswith(said)


def test_what_may_be_left_out_stands_in_one_pair_of_brackets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("verify",), ("parse",), ("rehearse", "ssh")):
        assert run(monkeypatch, *arguments, "--help") == 0
        assert "[[" not in capsys.readouterr().out


def helps(command: Any, *words: str) -> Iterator[tuple[str, ...]]:  # noqa: ANN401
    yield words
    for name, each in getattr(command, "commands", {}).items():
        yield from helps(each, *words, name)


@pytest.mark.parametrize("words", [*helps(typer.main.get_command(verbs.app))], ids=" ".join)
def test_a_help_names_arguments_as_they_are_typed(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words, "--help") == 0
    told = capsys.readouterr().out
    assert not set("<>{}") & set(told)
    if words == ("plan",):
        assert told.startswith("Usage: apuhost plan [OPTIONS] INVENTORY\n")
        assert "  INVENTORY  e.g. inventories/minipc.py" in told


def test_the_module_is_the_program() -> None:
    assert importlib.import_module("apuhost.cli.__main__").main is cli.main
