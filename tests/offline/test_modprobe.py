"""modprobe.d: options and blacklists as kmod reads them, and options taken out."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, modprobe
from apuhost.probes.files import TextFile, frame
from apuhost.probes.modprobe import Blacklisted, Option

PATH = "/etc/modprobe.d/a.conf"


def _options(text: str) -> list[tuple[str, str, str | None]]:
    read = modprobe.parse(frame((TextFile(PATH, text),)))
    return [(option.module, option.parameter, option.value) for option in read.options]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("options ttm pages_limit=1\n", [("ttm", "pages_limit", "1")]),
        ("options ttm pages_limit=1\r\n", [("ttm", "pages_limit", "1")]),
        ("\toptions\tsnd-hda\tx=1  y", [("snd_hda", "x", "1"), ("snd_hda", "y", None)]),
        ("options m a=1 \\\n  b=2\n", [("m", "a", "1"), ("m", "b", "2")]),
        ("options m pages_\\\nlimit=2\n", [("m", "pages_limit", "2")]),
        ('options m a="x y" b=\n', [("m", "a", "x y"), ("m", "b", "")]),
        ("# options m a=1 \\\noptions m b=1\n", []),
        ("#options m a=1\n\noptions m\noptions\noption m a=1\noptionsx m a=1\n", []),
    ],
)
def test_options_in_every_form(text: str, expected: list[tuple[str, str, str | None]]) -> None:
    assert _options(text) == expected


def test_blacklists() -> None:
    text = "blacklist nouveau\r\ninstall snd-x /bin/false\ninstall y /sbin/modprobe y\n#blacklist z"
    read = modprobe.parse(frame((TextFile(PATH, text),)))
    assert read.blacklisted == (Blacklisted(PATH, "nouveau"), Blacklisted(PATH, "snd_x"))


def test_the_first_folder_wins_a_name_and_names_give_the_order() -> None:
    found = (
        TextFile("/etc/modprobe.d/z.conf", "options ttm pages_limit=3\n"),
        TextFile("/run/modprobe.d/b.conf", "options ttm pages_limit=2\n"),
        TextFile("/usr/lib/modprobe.d/a.conf", "options ttm pages_limit=1\n"),
        TextFile("/usr/lib/modprobe.d/z.conf", "options ttm pages_limit=9\n"),
        TextFile("/lib/modprobe.d/b.conf", "blacklist ttm\n"),
    )
    read = modprobe.parse(frame(found))
    assert read.options == (
        Option("/usr/lib/modprobe.d/a.conf", "ttm", "pages_limit", "1"),
        Option("/run/modprobe.d/b.conf", "ttm", "pages_limit", "2"),
        Option("/etc/modprobe.d/z.conf", "ttm", "pages_limit", "3"),
    )
    assert read.blacklisted == ()


def test_no_files_say_nothing() -> None:
    assert modprobe.parse("") == modprobe.Modprobe((), (), ())


REMOVED = frozenset({("t-m", "p_q"), ("amdgpu", "g")})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("options t_m p-q=1\n", ""),
        ("options t_m p_q=1 a=2 # x\n", "options t_m a=2 # x\n"),
        ("options  t-m\ta=2\tp_q=1\r\nblacklist x\r\n", "options  t-m\ta=2\r\nblacklist x\r\n"),
        ("# p_q=1\noptions t_m p_q=1\\\n  p_q=2\n\nalias a b", "# p_q=1\n\nalias a b"),
        ("options t_m a=1 \\\n p_q=1 \\\n b=2", "options t_m a=1\\\n \\\n b=2"),
        ('options t_m a="p_q=1 x" p_q="1 2"\n', 'options t_m a="p_q=1 x"\n'),
        ("options other p_q=1\noptions amdgpu g=1\n", "options other p_q=1\n"),
        ("options t_m\n", "options t_m\n"),
    ],
)
def test_only_the_asked_options_go(text: str, expected: str) -> None:
    assert modprobe.without(text, REMOVED) == expected


PARTS = ["options ", "t_m ", "t-m ", "amdgpu ", "p_q=1 ", "g=2", "a=1", " ", "\t", "\n", "\r\n"]
PARTS += ["\\\n", "\\", '"', "# ", "blacklist ", "install ", "/bin/false"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=25).map("".join) | st.text(max_size=30)


@given(TEXTS)
def test_an_edit_leaves_exactly_the_other_options(text: str) -> None:
    edited = modprobe.without(text, REMOVED)
    unwanted = {("t_m", "p_q"), ("amdgpu", "g")}
    old, new = (_options(part) for part in (text, edited))
    assert new == [option for option in old if option[:2] not in unwanted]
    assert modprobe.without(edited, REMOVED) == edited
    if old == new:
        assert edited == text


@given(TEXTS)
def test_no_text_raises_anything_else_or_gives_what_is_not_in_it(text: str) -> None:
    for module, parameter, value in _options(text):
        assert set(module) <= set(text) | {"_"}
        assert set(parameter) | set(value or "") <= set(text)
    with suppress(ParseError):
        modprobe.parse(text)
