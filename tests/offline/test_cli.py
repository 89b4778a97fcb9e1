"""The console script: errors in plain lines, with the exit status of their kind."""

import sys

import pytest

from apuhost import cli

ESCAPES = "\x1b[2J\x1b]0;owned\x07"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("plan", f"{ESCAPES}.py"), id="an inventory's name"),
        pytest.param(("parse", "cmdline", f"/nosuch/{ESCAPES}"), id="a file's name"),
        pytest.param(("parse", f"{ESCAPES}", "-"), id="a kind"),
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
