"""What a mirror's host says of the bundles that lie on it."""

import pytest

from apuhost.bundle import receiving
from apuhost.bundle.load import NOT_PLAIN, Held
from apuhost.bundle.remote import HostError
from apuhost.inventory import Host

BOX = Host("box", (), {})


def test_what_lies_there_is_read_with_any_name() -> None:
    answer = "  4096\n3 aa\n12 bb\n\nf 7 3/a b\nä\0l 4 3/link\0d 0 3/x\0".encode()
    files = {"3/a b\nä": 7, "3/link": NOT_PLAIN, "3/x": NOT_PLAIN}
    assert receiving.held(BOX, answer) == Held(4096, {"3": "aa", "12": "bb"}, files)


def test_an_empty_disk() -> None:
    assert receiving.held(BOX, b"5\n\n") == Held(5, {}, {})


@pytest.mark.parametrize("answer", [b"", b"x\n\n", b"5\n3\n\n", b"5\n\nf x 3/a\0"])
def test_anything_else_is_one_line_with_the_hosts_name(answer: bytes) -> None:
    with pytest.raises(HostError, match=r"^box: "):
        receiving.held(BOX, answer)


def test_files_that_are_bad_come_back_by_their_paths() -> None:
    said = "models/a: FAILED\ntoolkit/ä: FAILED b: FAILED open or read\n".encode()
    assert receiving.bad(said) == ("models/a", "toolkit/ä: FAILED b")
    assert receiving.bad(b"") == ()
