"""How far a long work is: bytes, their rate, and the time that is left."""

import io

import pytest

from apuhost.commands import progress


@pytest.mark.parametrize(
    ("done", "total", "seconds", "line"),
    [
        (0, 4_000_000_000, 0.0, "fetched 0 B of 4.0 GB, 0 B/s"),
        (1_200_000_000, 4_000_000_000, 48.0, "fetched 1.2 GB of 4.0 GB, 25.0 MB/s, 112 s left"),
        (4_000_000_000, 4_000_000_000, 160.0, "fetched 4.0 GB of 4.0 GB, 25.0 MB/s, 0 s left"),
        (5, 4, 1.0, "fetched 5 B of 4 B, 5 B/s, 0 s left"),
    ],
)
def test_what_is_done_and_left(done: int, total: int, seconds: float, line: str) -> None:
    assert progress.how_far("fetched", done, total, seconds) == line


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:  # noqa: D102
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["a terminal", "a file"])
def test_only_a_terminal_is_written_to_and_nothing_stays(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    with pytest.raises(KeyboardInterrupt), progress.progress("hashed", 10) as told:
        told(5)
        raise KeyboardInterrupt
    written = stream.getvalue()
    assert ("hashed 5 B of 10 B" in written) is stream.isatty()
    assert written.rpartition("\r")[2] in ("", "\x1b[K")
