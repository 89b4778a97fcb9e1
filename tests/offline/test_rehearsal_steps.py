"""Steps as they are shown."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from apuhost.rehearsal import steps as steps_module
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.steps import Steps, duration


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:  # noqa: D102
        return True


def test_plain_lines_without_a_terminal() -> None:
    stream = io.StringIO()
    steps = Steps(2, stream)
    with steps.step("packages on this machine"):
        pass
    with steps.step("boot") as heartbeat:
        heartbeat("Loading Linux")
    steps.done()
    first, second, total = stream.getvalue().splitlines()
    assert first.split() == ["1/2", "packages", "on", "this", "machine", "ok", "0", "s"]
    assert second.split() == ["2/2", "boot", "ok", "0", "s"]
    assert total.split() == ["in", "all", "0", "s"]
    assert max(map(len, (first, second, total))) <= 100


def test_a_long_step_says_now_and_then_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that stands still for minutes cannot be told from a step that hangs."""
    now = [0.0]
    monkeypatch.setattr(steps_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    stream = io.StringIO()
    with Steps(1, stream).step("deploy") as heartbeat:
        for seconds in range(0, 95, 5):
            now[0] = float(seconds)
            heartbeat(f"operation {seconds}")
    *between, last = stream.getvalue().splitlines()
    assert [line.split("operation ")[1] for line in between] == ["30", "60", "90"]
    assert last.split()[-5:] == ["ok", "1", "min", "30", "s"]


def test_a_terminal_sees_what_is_waited_for() -> None:
    stream = Terminal()
    with Steps(1, stream).step("boot") as heartbeat:
        heartbeat("Loading \x1b[31mLinux")
    assert "0 s  Loading Linux" in stream.getvalue()
    assert stream.getvalue().endswith("ok           0 s\n")


def test_a_failed_step_shows_the_tail_and_what_to_type(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("".join(f"line {number}\n" for number in range(30)))
    stream = io.StringIO()
    with pytest.raises(RehearsalError), Steps(1, stream).step("boot"):
        raise RehearsalError("no login", log)
    shown = stream.getvalue()
    assert "FAILED" in shown
    assert "| line 29" in shown
    assert "| line 10" in shown
    assert "| line 9\n" not in shown
    for text in (str(log), "apuhost rehearse ssh", "apuhost rehearse down"):
        assert text in shown


def test_an_interrupted_step_is_not_called_failed() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Steps(1, stream).step("boot"):
        raise KeyboardInterrupt
    assert "broken off" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "   0 s"), (59.4, "  59 s"), (59.6, "1 min 0 s"), (72, "1 min 12 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
