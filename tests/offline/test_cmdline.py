"""The kernel's parameter line: split, judged by the last value, cut by key."""

from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, cmdline
from apuhost.probes.cmdline import Argument, Cmdline

LINES = st.text(st.sampled_from('ab=-_" \t.,"'), max_size=40) | st.text(max_size=40)
KEYS = st.frozensets(st.sampled_from(["a", "b", "a_b", "a-b", "a.b", "quiet"]), max_size=3)
PLAIN = st.text(st.sampled_from("ab=-_ .,\t"), max_size=8)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("quiet", Argument("quiet", None)),
        ("a=", Argument("a", "")),
        ("root=UUID=12", Argument("root", "UUID=12")),
        ('a="b c"', Argument("a", "b c")),
        ('"a=b c"', Argument("a", "b c")),
        ('a=b" "c', Argument("a", 'b" "c')),
        ('"flag with blanks"', Argument("flag with blanks", None)),
        ("=x", Argument("=x", None)),
        ('a="never closed c', Argument("a", "never closed c")),
        ("\x1b[0mquiet\x1b[K", Argument("quiet", None)),
        ("crashkernel=2G-4G:320M,4G-:1024M", Argument("crashkernel", "2G-4G:320M,4G-:1024M")),
    ],
)
def test_one_parameter_as_the_kernel_splits_it(line: str, expected: Argument) -> None:
    assert cmdline.parse(line + "\n").arguments == (expected,)


def test_the_last_value_counts_and_dash_is_underscore() -> None:
    line = cmdline.parse("amdgpu.gpu-recovery=0 iommu=1 iommu=pt amdgpu.gpu_recovery=1\n")
    assert line.effective("iommu") == "pt"
    assert line.values("amdgpu.gpu_recovery") == ("0", "1")
    assert line.effective("amdgpu.gpu-recovery") == "1"


def test_a_bare_flag_is_there_and_an_absent_key_is_not() -> None:
    line = cmdline.parse("nomodeset iommu=off iommu")
    assert "nomodeset" in line
    assert line.effective("nomodeset") is None
    assert line.effective("iommu") is None
    assert "quiet" not in line
    assert line.effective("quiet") is None


def test_what_follows_two_dashes_belongs_to_init() -> None:
    assert cmdline.parse("quiet -- iommu=off").arguments == (Argument("quiet", None),)


def test_document_keeps_every_value_and_the_spelling_met_first() -> None:
    line = cmdline.parse("BOOT_IMAGE=(hd0,gpt2)/vmlinuz quiet x-y=1 x_y=2 quiet")
    assert cmdline.document(line) == {
        "parameters": {
            "BOOT_IMAGE": ["(hd0,gpt2)/vmlinuz"],
            "quiet": [None, None],
            "x-y": ["1", "2"],
        },
        "effective": {"BOOT_IMAGE": "(hd0,gpt2)/vmlinuz", "quiet": None, "x-y": "2"},
    }


@pytest.mark.parametrize(
    "prefix",
    [
        "[    0.000000] Command line: ",
        "[    0.000000] Kernel command line: ",
        "[    0.000000][    T0] Kernel command line: ",
        "[Mon Feb  2 10:00:00 2026] Kernel command line: ",
        "kern  :notice: [    0.000000] Kernel command line: ",
        "<5>[    0.000000] Command line: ",
        "5,1,0,-;Command line: ",
        "Feb 10 19:23:19 box kernel: Kernel command line: ",
        "2026-02-10T19:23:19+0100 box kernel: [    0.000000] Command line: ",
        "\x1b[32m[    0.000000] \x1b[0m\x1b[33mCommand line: \x1b[0m",
        "Command line: ",
    ],
)
def test_the_line_is_found_in_every_log_form(prefix: str) -> None:
    log = f"[    0.000000] Linux version 6.12\r\n{prefix}quiet a=1\r\n[    0.1] BIOS-e820\r\n"
    assert cmdline.parse(log) == Cmdline((Argument("quiet", None), Argument("a", "1")))


def test_the_last_boot_in_a_log_counts() -> None:
    log = "[ 0.0] Command line: a=1 b\n[ 0.0] Command line: a=1\n[ 0.1] next\n"
    assert cmdline.parse(log).arguments == (Argument("a", "1"),)


def test_a_copy_cut_by_the_end_of_the_text_does_not_count() -> None:
    log = "[ 0.0] Command line: a=1 b=22\n[ 0.0] Kernel command line: a=1 b=2"
    assert cmdline.parse(log).effective("b") == "22"


def test_a_long_line_that_the_kernel_wrapped_is_one_line() -> None:
    log = "[ 0.0] Kernel command line: a=1 \\\n[ 0.0] Kernel command line: b=2\n"
    assert cmdline.parse(log).effective("b") == "2"
    assert len(cmdline.parse(log).arguments) == 2


LONG = (
    "BOOT_IMAGE=/boot/vmlinuz-6.12.117+deb13-amd64 root=UUID=2a2a2a2a-2a2a-4a4a-8a8a-2a2a2a2a2a2a "
    "ro quiet amd_iommu=off amdgpu.lockup_timeout=10000 ttm.pages_limit=12582912"
)


@pytest.mark.parametrize("prefix", ["[    0.000000] ", "Feb 10 19:23:19 box kernel: ", ""])
@pytest.mark.parametrize("width", [72, 76, 80, 100, 150])
def test_a_copy_that_was_broken_is_whole_again(prefix: str, width: int) -> None:
    line = f"{prefix}Command line: {LONG}"
    by_a_terminal = [line[at : at + width] for at in range(0, len(line), width)]
    by_mail = wrap(line, width, break_long_words=False, break_on_hyphens=False)
    pieces = by_mail if width < 80 else by_a_terminal
    log = "\n".join([*pieces, f"{prefix}BIOS-provided physical RAM map:", f"{prefix}NX: active"])
    assert cmdline.parse(log) == cmdline.read(LONG)


@pytest.mark.parametrize("prefix", ["[ 0.0] ", ""])
def test_other_messages_about_the_command_line_are_not_it(prefix: str) -> None:
    log = (
        f'{prefix}Command line: {LONG}\n{prefix}Unknown kernel command line parameters "x", will be'
    )
    assert cmdline.parse(log) == cmdline.read(LONG)


def test_a_pasted_and_wrapped_line_is_put_together() -> None:
    text = "me@box:~$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ro\nquiet a=1\n"
    assert cmdline.parse(text).effective("a") == "1"
    assert len(cmdline.parse(text).arguments) == 4


@pytest.mark.parametrize("text", ["one\ntwo\n", "\x7fELF\x02\x01", "a\0b"])
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        cmdline.parse(text)


@pytest.mark.parametrize("text", ['root=/dev/sda1 systemd.setenv="A":b quiet', "a: b", "{ quiet"])
def test_the_kernel_takes_any_words(text: str) -> None:
    assert cmdline.parse(text) == cmdline.read(text)


@pytest.mark.parametrize("text", ["", "\n", " \r\n", "\0"])
def test_an_empty_line_has_no_parameters(text: str) -> None:
    assert cmdline.parse(text).arguments == ()


@pytest.mark.parametrize(
    ("line", "keys", "expected"),
    [
        ("a x=1 b", {"x"}, "a b"),
        ("x=1 b", {"x"}, "b"),
        ("a x=1", {"x"}, "a"),
        ("x=1 x=2 b x", {"x"}, "b"),
        ("a  x=1  b\n", {"x"}, "a  b\n"),
        ("a\tx=1 b", {"x"}, "a b"),
        ("a\nx=1 b", {"x"}, "a\nb"),
        ('a m.x="1 2" b', {"m.x"}, "a b"),
        ("ttm.pages-limit=1 a", {"ttm.pages_limit"}, "a"),
        ("a xx=1 x.y=2", {"x"}, "a xx=1 x.y=2"),
        ("a -- x=1", {"x"}, "a -- x=1"),
    ],
)
def test_parameters_are_cut_with_their_blank(line: str, keys: set[str], expected: str) -> None:
    assert cmdline.without(line, keys) == expected


@given(LINES, KEYS)
def test_cutting_leaves_exactly_the_other_parameters(line: str, keys: frozenset[str]) -> None:
    cut = cmdline.without(line, keys)
    unwanted = {cmdline.canonical(key) for key in keys}
    kept = [a for a in cmdline.read(line).arguments if cmdline.canonical(a.key) not in unwanted]
    assert list(cmdline.read(cut).arguments) == kept
    assert cmdline.without(cut, keys) == cut
    if len(kept) == len(cmdline.read(line).arguments):
        assert cut == line


@given(st.text() | LINES)
def test_no_text_raises_anything_else_or_gives_what_is_not_in_it(text: str) -> None:
    try:
        line = cmdline.parse(text)
    except ParseError:
        return
    for argument in line.arguments:
        assert argument.key in text
        assert (argument.value or "") in text


ARGUMENTS = st.lists(
    st.builds(
        Argument,
        st.text(st.sampled_from("ab-_. "), min_size=1, max_size=6).filter(lambda k: k != "--"),
        st.none() | PLAIN,
    ),
    max_size=5,
)


@given(ARGUMENTS)
def test_a_joined_line_reads_back(arguments: list[Argument]) -> None:
    assert cmdline.read(cmdline.join(arguments)).arguments == tuple(arguments)
