"""/etc/default/grub as people write it: read, evaluated over its drop-ins, edited by token."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, cmdline, grub
from apuhost.probes.files import TextFile, frame
from apuhost.probes.grub import GrubDefaults, GrubFiles, Undetermined

D = "GRUB_CMDLINE_LINUX_DEFAULT"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('D="quiet splash"\n', "quiet splash"),
        ("D='quiet splash'", "quiet splash"),
        ("D=quiet\n", "quiet"),
        ("D=\n", ""),
        ("D=quiet\\ splash\n", "quiet splash"),
        ("export D=\"quiet\"'  a'=1\n", "quiet  a=1"),
        ('D="quiet \\\na=1"\n', "quiet a=1"),
        ('D="quiet\na=1"\n', "quiet\na=1"),
        ('D="quiet"\r\nA=1\r\n', "quiet"),
        ('D="a=\\"b c\\" \\d"\n', 'a="b c" \\d'),
        ("D=a#b # quiet\n", "a#b"),
        ('#D="old"\nD="new"\n# D="older"\n', "new"),
        ("D=a; D=b\n", "b"),
        ('D="$D quiet"\n', "$D quiet"),
        ('D="${D} \\$vt_handoff"\n', "${D} $vt_handoff"),
        ("X=`it's || echo 'a'`\nD=a\n".replace("it's", "lsb -i"), "a"),
        ("X=$( # isn't\n echo '('; (true) )\nD=a\n", "a"),
        ('X="`lsb -i 2> /dev/null || echo Debian`"\nD=a\n', "a"),
        ("X=$((1<<2)) D=a\n", "a"),
        ('X="${ID:-Debian}"\nD=a\n', "a"),
        ("if [ -x /bin/y ]; then\n  X=1\nelse X=2; fi\nD=a\n", "a"),
        ("case $X in\n a|b) X=1 ;;\n (c) X=2 ;;\n *) ;;\nesac\nD=a\n", "a"),
        ("f () {\n X=1\n}\nD=a\n", "a"),
        ("for i in 1 2; do X=$i; done\nD=a\n", "a"),
        ("[ -e /x ] && X=1 || X=2\nD=a\n", "a"),
        ("if x; then D=maybe; fi\nD=a\n", "a"),
        ("D=$(x)\nD=a\n", "a"),
    ],
)
def test_the_value_as_the_file_gives_it(text: str, value: str) -> None:
    found = grub.defaults(
        text.replace("D=", f"{D}=").replace("$D", f"${D}").replace("{D", f"{{{D}")
    )
    expected = value.replace("$D", f"${D}").replace("{D", f"{{{D}")
    assert found == GrubDefaults(None, expected, undetermined=False)


@pytest.mark.parametrize(
    "text",
    [
        'D="quiet $(cat /x)"',
        "D=`cat /x`",
        'D="a=$((1+1))"',
        'D="${D:+$D }a"',
        'D="$1"',
        "D=~/x",
        "X=$(nproc)\nD=a=$X",
        "if true; then D=a; fi",
        "case x in x) D=a ;; esac",
        "for i in 1; do D=a; done",
        "while x; do D=a; done",
        "f() { D=a; }\nf",
        "(D=a)",
        "{ D=a; }",
        "true && D=a",
        "false || D=a",
        "true &&\nD=a",
        "D=a | cat",
        "D=a &",
        "! D=a",
        "D=quiet splash",
        "D+=' a'",
        "for D in a; do :; done",
        ". /etc/other",
        "source /etc/other",
        "if x; then . /etc/other; fi",
        "eval D=a",
        "unset D",
        "read D < /x",
        "X=1; $X",
        "D=a\nX='",
        'D=a\nX="',
        "D=a\nX=`",
        "D=a\nX=$(",
        "D=a\nX=${",
        "D=a\nif x; then",
        "D=a\nfi",
        "D=a &&",
        "cat <<E\nD=a\nE\n",
        "X=$(cat <<E\n)\nE\n)",
        "D=(a b)",
        "X=${D:=a}",
        "X=$((D=1))",
        "D=$'a'",
        'D="a \\\r\nb"\r\n',
        'D="a$X\\\nY"',
        "D=$PATH",
    ],
)
def test_what_only_a_shell_could_tell_is_named_and_never_edited(text: str) -> None:
    text = text.replace("D", D)
    assert grub.defaults(text).undetermined
    assert grub.configured([TextFile("/f", text)]).undetermined == ("/f",)
    with pytest.raises(Undetermined):
        grub.without(text, {"a"})


@pytest.mark.parametrize("text", ["hello world\n", "\x7fELF\0\0"])
def test_text_that_is_no_shell_file_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        grub.defaults(text)


@pytest.mark.parametrize("text", ["", "\n", "# only words\n\n"])
def test_a_file_that_assigns_nothing_gives_nothing(text: str) -> None:
    assert grub.defaults(text) == GrubDefaults(None, None, undetermined=False)


MAIN = TextFile("/etc/default/grub", f'GIB=48\nGRUB_CMDLINE_LINUX="a=1"\n{D}="quiet x.y=1"\n')


def test_drop_ins_are_evaluated_in_order() -> None:
    dropins = (
        TextFile("/d/50.cfg", f'{D}="${D} gib=${{GIB}} $NOT_SET z"\n'),
        TextFile("/d/60.cfg", f'{D}="$GRUB_CMDLINE_LINUX ${D}"\n'),
    )
    found = grub.configured((MAIN, *dropins))
    assert found == grub.Configured("a=1", "a=1 quiet x.y=1 gib=48  z", ())


def test_only_the_file_that_causes_the_doubt_is_named() -> None:
    unclear = TextFile("/d/40.cfg", f"if x; then {D}=a; fi\n")
    appends = TextFile("/d/50.cfg", f'{D}="${D} b"\n')
    assert grub.configured((MAIN, unclear, appends)).undetermined == ("/d/40.cfg",)
    assert grub.configured((MAIN, unclear, appends)).linux_default == "quiet x.y=1 b"
    resets = TextFile("/d/60.cfg", f"{D}=c\n")
    assert grub.configured((MAIN, unclear, resets)).undetermined == ()


def test_the_files_that_set_a_key_are_named() -> None:
    other = TextFile("/d/50.cfg", f'#{D}="a=2"\n{D}="${D} x-y=1 a.b=1"\n')
    assert grub.sources((MAIN, other), "a") == (MAIN.path,)
    assert grub.sources((MAIN, other), "x_y") == (other.path,)
    assert grub.sources((MAIN, other), "x.y") == (MAIN.path,)


def test_framed_files_are_read() -> None:
    assert grub.parse(frame((MAIN,))) == GrubFiles((MAIN,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('D="quiet t=1 splash" # t=1\n', 'D="quiet splash" # t=1\n'),
        ("D='t=1 t=2'", "D=''"),
        ("export D=t=1\r\n", "export D=\r\n"),
        ("D=quiet\\ t=1\\ u=1\n", "D=quiet\\ u=1\n"),
        ('D="quiet \\\n  t=1 \\\n  u=1"\n', 'D="quiet\\\n \\\n  u=1"\n'),
        ("D='t=1'\" quiet\"\n", "D=''\"quiet\"\n"),
        ('D="a t=\\"1 2\\" b"\n', 'D="a b"\n'),
        ('D="$D t=1"\nX="t=1"\n', 'D="$D"\nX="t=1"\n'),
        ('#D="t=1"\nD="t=1 a"; D=\'b t=1\'\n', '#D="t=1"\nD="a"; D=\'b\'\n'),
        ('D="t=1\na"\nX=`echo "t=1"`\n', 'D="\na"\nX=`echo "t=1"`\n'),
        ('D="${X}t=1 tt=1"', 'D="${X}t=1 tt=1"'),
    ],
)
def test_only_the_asked_parameters_go(text: str, expected: str) -> None:
    text, expected = (part.replace("D", D) for part in (text, expected))
    assert grub.without(text, {"t"}) == expected


@pytest.mark.parametrize("text", ['D="t=$X a"\n', 'D="\\ t=1"\n'])
def test_an_edit_that_cannot_be_right_is_refused(text: str) -> None:
    with pytest.raises(Undetermined):
        grub.without(text.replace("D", D), {"t"})


PARTS = [D, "GRUB_CMDLINE_LINUX", "=", '"', "'", "\\", "\n", "\r\n", " ", "$", "${", "}", "(", ")"]
PARTS += ["`", ";", "#", "t=1", "a", "export ", "$X", "if ", "then ", "fi", "&&", "|", "<<", "t="]
HOSTILE = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
ASSIGNED = st.lists(
    st.tuples(
        st.sampled_from([f"{D}=", "export GRUB_CMDLINE_LINUX=", "X="]),
        st.lists(
            st.sampled_from(
                [
                    '"quiet t=1 a"',
                    "'t=1 '",
                    "\\ t=2",
                    '"\\\n t=3"',
                    '"$X t=4 "',
                    "b",
                    '"t=\\"1 2\\""',
                ]
            ),
            max_size=5,
        ).map("".join),
        st.sampled_from(["\n", "\r\n", " # t=1\n", "; "]),
    ).map("".join),
    max_size=5,
).map("".join)


@given(ASSIGNED | HOSTILE)
def test_an_edit_reads_back_as_the_old_value_less_the_tokens(text: str) -> None:
    try:
        edited = grub.without(text, {"t"})
    except Undetermined:
        return
    assert grub.without(edited, {"t"}) == edited
    old, new = (grub.configured([TextFile("/f", part)]) for part in (text, edited))
    if "$" not in text:
        assert new.linux == cmdline.without(old.linux, {"t"})
        assert new.linux_default == cmdline.without(old.linux_default, {"t"})
    if not grub.sources([TextFile("/f", text)], "t"):
        assert edited == text


@given(ASSIGNED | HOSTILE | st.text())
def test_no_text_raises_anything_else_or_gives_what_is_not_in_it(text: str) -> None:
    with suppress(ParseError):
        found = grub.defaults(text)
        for value in (found.cmdline_linux, found.cmdline_linux_default):
            assert set(value or "") <= set(text)
    with suppress(ParseError):
        grub.parse(text)


def test_deep_nesting_is_refused_not_followed() -> None:
    for opener in ("$(", '"$(', "${x:-", "$(("):
        with pytest.raises(Undetermined):
            grub.without(f"{D}={opener * 5000}", {"t"})


def test_a_value_that_doubles_itself_is_given_up() -> None:
    text = f"{D}=a\n" + f"{D}=${D}${D}\n" * 60
    assert grub.defaults(text).undetermined
