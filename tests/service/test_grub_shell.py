"""Our reader of grub's settings files against the shell that grub-mkconfig runs under."""

import subprocess
from pathlib import Path

import pytest

from apuhost.probes import cmdline, grub
from apuhost.probes.files import TextFile, parse_files

pytestmark = pytest.mark.service

D = "GRUB_CMDLINE_LINUX_DEFAULT"
HIDDEN = 'A="t=1'  # a parameter in another variable, which an edit leaves
CORPUS = [
    'D="quiet t=1 splash"\n',
    "D='quiet t=1'",
    "D=quiet\\ t=1\n",
    "export D=\"quiet\"'  t=1'=1\n",
    'D="quiet \\\nt=1"\n',
    'D="quiet\nt=1"\n',
    'D="quiet"\\\n"  t=1"\\\n\nA=1\n',
    'D="t=\\"b c\\" \\d \\\\ \\$x \\` \'x\'"\n',
    "D=a#b#t=1 # quiet\n",
    '#D="old"\nD="t=1"\n# D="older"\n',
    "D=a; D=b;D=c;A=1\n",
    'D="$D quiet t=1"\nD="${D} t=2 $D"\n',
    'A="t=1 b"\nD=$A\nexport D="$D"$A\n',
    'X=`echo "it\'s"`\nD=t=1\n',
    "X=$( # isn't )\n echo '('; (true) )\nD=a\n",
    "X=$((1<<2)) D=a\n",
    'X="${ID:-Debian}"\nD="t=1 a"\n',
    "if [ -x /bin/sh ]; then\n  X=1\nelse X=2; fi\nD=a\n",
    "case $X in\n a|b) X=1 ;;\n (c) X=2 ;;\n *) ;;\nesac\nD=a\n",
    "f () {\n X=1\n}\nD=t=1\n",
    "for i in 1 2; do X=$i; done\nD=a\n",
    "[ -e /x ] && X=1 || X=2\nD=a\n",
    "D=a\\\nb\n",
    "D=a\\\n#b\n",
    'D="$"\n',
    "D=a$\n",
    'D="$ t=1 $/ $%"\n',
    'D="~ a:~"\n',
    "D=*\n",
    'D="a\\\n\\\n t=1"\n',
    "true > /dev/null 2>&1\nD=a\n",
    "D='a'\n\n\n   A=1 D=\"t=1\"   \n",
]


def _by_shell(paths: list[Path]) -> tuple[str, str]:
    sourcing = "\n".join(f". {path}" for path in paths)
    text = f'{sourcing}\nprintf "%s\\0%s" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"'
    done = subprocess.run(
        ["sh", "-c", text], capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    linux, default = done.stdout.decode().split("\0")
    return linux, default


def _save(folder: Path, text: str) -> Path:
    path = folder / "grub"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("text", CORPUS)
def test_the_reader_and_sh_agree(text: str, tmp_path: Path) -> None:
    text = text.replace("D", D)
    found = grub.configured([TextFile("/f", text)])
    assert found.undetermined == ()
    assert (found.linux, found.linux_default) == _by_shell([_save(tmp_path, text)])


@pytest.mark.parametrize("text", [text for text in CORPUS if HIDDEN not in text])
def test_sh_reads_the_edited_file_as_the_old_value_less_the_parameter(
    text: str, tmp_path: Path
) -> None:
    text = text.replace("D", D).replace("$" + D, "$UNSET").replace("${" + D, "${UNSET")
    old = _by_shell([_save(tmp_path, text)])
    new = _by_shell([_save(tmp_path, grub.without(text, {"t"}))])
    assert [cmdline.read(line) for line in new] == [
        cmdline.read(cmdline.without(line, {"t"})) for line in old
    ]


def test_crlf_files_agree_but_for_the_carriage_return(tmp_path: Path) -> None:
    text = f'GRUB_CMDLINE_LINUX="a b"\r\n{D}=quiet\r\n'
    found = grub.configured([TextFile("/f", text)])
    linux, default = _by_shell([_save(tmp_path, text)])
    assert (found.linux + "\r", found.linux_default + "\r") == (linux, default)


def test_several_files_agree_and_come_in_the_order_of_the_command(tmp_path: Path) -> None:
    texts = {
        "a.cfg": f'{D}="quiet x=1"\n',
        "b.cfg": f'{D}="${D} y=2"',
        "c.cfg": 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX_DEFAULT"\r\n',
        "z é.cfg": f'{D}="é ${{{D}}}"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    command = grub.COMMAND.replace("/etc/default/grub.d", str(tmp_path))
    printed = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout
    framed = parse_files(printed.decode())
    dropins = [file for file in framed if file.path.startswith(str(tmp_path))]
    assert [(Path(file.path).name, file.text) for file in dropins] == list(texts.items())
    linux, default = _by_shell([tmp_path / name for name in list(texts)[:3]])
    found = grub.configured(dropins[:3])
    assert (found.linux, found.linux_default) == (linux.rstrip("\r"), default)
