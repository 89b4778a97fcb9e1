"""What a process says is read to its end."""

import os

from apuhost import pipes
from apuhost.pipes import Pipe


def test_what_a_process_says_last_is_read_however_late_it_ends() -> None:
    reading, writing = os.pipe()

    def ended() -> bool:
        """It says why, and ends, just when somebody looks."""
        if not said:
            said.append(os.write(writing, b"No route to host"))
        return True

    said: list[int] = []
    with os.fdopen(reading, "rb") as end, os.fdopen(writing, "wb"):
        assert pipes.read((Pipe(end, 100, "errors"),), 10, ended) == [b"No route to host"]
