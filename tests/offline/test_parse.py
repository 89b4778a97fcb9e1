"""`apuhost parse KIND`: kinds and fields are a contract."""

import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support import mirrors
from tests.support.hosts import LINE, PARAMETERS, PARTS, host_facts

from apuhost.commands import kinds, parse
from apuhost.commands.kinds import READERS
from apuhost.commands.parse import ParseFailure
from apuhost.errors import ApuhostError
from apuhost.probes import ParseError
from apuhost.probes.files import TextFile, frame
from apuhost.roles import CHECKOUT
from apuhost.round_trip import PROBES, Reading


@pytest.fixture
def document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401
    """Reads a text as a file of its kind and gives the JSON that is printed."""

    def read(kind: str, text: str) -> Any:  # noqa: ANN401
        file = tmp_path / "text"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert parse.run(kind, str(file)) == 0
        return json.loads(capsys.readouterr().out)

    return read


@pytest.mark.parametrize(
    ("text", "parameters", "effective"),
    [
        pytest.param("", {}, {}, id="empty"),
        pytest.param(
            f"{LINE} quiet ttm.pages_limit=1 {PARAMETERS}\n",
            {
                "BOOT_IMAGE": ["/boot/vmlinuz-6.12.117+deb13-amd64"],
                "root": ["UUID=2a"],
                "ro": [None],
                "quiet": [None],
                "ttm.pages_limit": ["1", "12582912"],
                "amd_iommu": ["off"],
                "amdgpu.lockup_timeout": ["10000"],
            },
            {
                "BOOT_IMAGE": "/boot/vmlinuz-6.12.117+deb13-amd64",
                "root": "UUID=2a",
                "ro": None,
                "quiet": None,
                "ttm.pages_limit": "12582912",
                "amd_iommu": "off",
                "amdgpu.lockup_timeout": "10000",
            },
            id="the last value counts",
        ),
        pytest.param(
            "a-b=1 a_b=2", {"a-b": ["1", "2"]}, {"a-b": "2"}, id="dash and underscore are equal"
        ),
        pytest.param(
            'x="a b" y= -- z', {"x": ["a b"], "y": [""]}, {"x": "a b", "y": ""}, id="quotes"
        ),
        pytest.param(
            "kernel: Command line: root=/dev/sda1 ro\n",
            {"root": ["/dev/sda1"], "ro": [None]},
            {"root": "/dev/sda1", "ro": None},
            id="from a kernel log",
        ),
    ],
)
def test_cmdline(
    document: Any,  # noqa: ANN401
    text: str,
    parameters: dict[str, list[str | None]],
    effective: dict[str, str | None],
) -> None:
    assert document("cmdline", text) == {"parameters": parameters, "effective": effective}


@pytest.mark.parametrize(
    ("text", "linux", "default", "undetermined"),
    [
        pytest.param("", None, None, False, id="empty"),
        pytest.param("# nothing\n", None, None, False, id="comments"),
        pytest.param(
            'GRUB_CMDLINE_LINUX=""\nGRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\n',
            "",
            "quiet splash",
            False,
            id="Debian's own",
        ),
        pytest.param(
            'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT a=1"\n',
            None,
            "$GRUB_CMDLINE_LINUX_DEFAULT a=1",
            False,
            id="its own variables unexpanded",
        ),
        pytest.param(
            "GRUB_CMDLINE_LINUX='a b'\r\nGRUB_CMDLINE_LINUX_DEFAULT=c",
            "a b",
            "c",
            False,
            id="CRLF, single quotes, no final newline",
        ),
        pytest.param(
            'GRUB_CMDLINE_LINUX="$(cat /etc/line)"\n',
            "$(cat /etc/line)",
            None,
            True,
            id="only a shell could tell",
        ),
        pytest.param(". /etc/site\n", None, None, True, id="sources another file"),
    ],
)
def test_grub(
    document: Any,  # noqa: ANN401
    text: str,
    linux: str | None,
    default: str | None,
    undetermined: bool,
) -> None:
    assert document("grub", text) == {
        "cmdline_linux": linux,
        "cmdline_linux_default": default,
        "undetermined": undetermined,
    }


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("cmdline", "total 12\ndrwxr-xr-x 2 root root\n", id="ls for cmdline"),
        pytest.param("cmdline", "\x7fELF\x02\x01\x01", id="a program for cmdline"),
        pytest.param("grub", "\x7fELF\0\0", id="a program for grub"),
        pytest.param("grub", "just some words\n", id="words for grub"),
        pytest.param("meminfo", "root=/dev/sda1\n", id="cmdline for meminfo"),
        pytest.param("cmdline", "<!DOCTYPE html><html lang=en>\n", id="a line of HTML for cmdline"),
        pytest.param("cmdline", 'x", "done": true}\n', id="a line of JSON for cmdline"),
        pytest.param("cmdline", "MemTotal:  65 kB\n", id="a line of a table for cmdline"),
        pytest.param("cmdline", "[    3.1] amdgpu: x\n", id="a line of a log for cmdline"),
        pytest.param("daemon-json", frame((TextFile("/a", "{}"),)), id="another file's frame"),
        pytest.param("daemon-json", "log-driver: json-file\n", id="YAML for daemon-json"),
        pytest.param("modprobe", "install the package first\n", id="an order for modprobe"),
        pytest.param("modprobe", "install vim echo x\nThen go on\n", id="words beside an order"),
        pytest.param("modprobe", "install nothing else, reboot.\n", id="a sentence for modprobe"),
        pytest.param("grub", 'ID=debian\nNAME="Debian"\n', id="os-release for grub"),
        pytest.param("grub-cfg", "it's not closed\n", id="an open quote for grub-cfg"),
        pytest.param("modprobe", "==> 4 /etc/modprobe.d/a\nhum\n\n", id="words in a frame"),
        pytest.param("cmdline", "a" * 70_000, id="a long line for cmdline"),
        pytest.param("grub", "GRUB_A=1\n" * 50_000, id="a long file for grub"),
        pytest.param("grub-cfg", "set a=1\n" * 600_000, id="a long file for grub-cfg"),
        pytest.param("modprobe", "options a b=1\n" * 80_000, id="a long file for modprobe"),
    ],
)
def test_text_of_another_kind_is_one_line_and_exit_1(kind: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text(text)
    with pytest.raises(ParseFailure, match=f"not {kind}: ") as raised:
        parse.run(kind, str(file))
    assert raised.value.exit_status == 1
    assert "\n" not in str(raised.value)


PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><title>Ollama</title>
<style>
{ color: gray; }
</style>
<script>
set = 1; if (linux) { return "x"; }
</script></head>
<body><p>Run Ollama with llama-server; vulkaninfo prints an error, or VK_ERROR_DEVICE_LOST.</p>
</body></html>
"""
PROSE = """\
Once upon a time
there was a | and a = sign

set it up well, install nothing else. GRUB_CMDLINE_LINUX has no $VALUE here,
options are few and blacklist is a word,
linux is fine; search for it. Each of these 4 words, and more,
source of all this: the kernel: and amdgpu, or Ollama.
running well
loaded module
1. kernel: its parameters
end
"""
PROMETHEUS = (
    'time=2026-11-29T09:14:00.000Z level=INFO source=main.go:590 msg="No time limit was set"\n'
    'time=2026-11-29T09:14:01.000Z level=INFO source=tls_config.go:347 msg="Listening on"\n'
)
FOREIGN = {
    "Prometheus's log": PROMETHEUS,
    "words about Ollama's lines": (
        "I tried llama3: it is slow, and load_tensors: fails\nWhat is srv foo: for?\n"
        "We are using device A (the old one), which vk::Queue serves\n"
    ),
    "README": (CHECKOUT / "README.md").read_text(),
    "this page": (CHECKOUT / "docs" / "checks.md").read_text(),
    "a program": bytes(range(256)).decode("latin-1") * 200,
    "HTML": PAGE,
    "prose": PROSE,
    "Python": (CHECKOUT / "src/apuhost/probes/docker.py").read_text(),
    "YAML": "services:\n  ollama:\n    image: ollama/ollama\n    devices: [/dev/kfd]\n",
}


@pytest.mark.parametrize("kind", sorted(READERS))
@pytest.mark.parametrize("name", FOREIGN)
def test_a_text_that_only_speaks_of_a_thing_is_exit_1(kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(FOREIGN[name])
    with pytest.raises(ParseFailure, match=f"^not {kind}: "):
        parse.run(kind, str(tmp_path / "text"))


ALSO = {
    **{name: {"cmdline"} for name in ("apt_sources", "disk", "gpus")},  # one line of any words
    "kernel_log": {"cmdline"},
    "mirror": {"ollama-ps"},  # the bundle's lock is JSON that lists models
    "ollama_log": {"prefix-cache", "runner-cmd"},
}


@pytest.mark.parametrize("name", sorted(PROBES))
def test_what_a_probe_prints_is_of_no_other_kind(name: str, tmp_path: Path) -> None:
    facts = host_facts(modprobe={"/etc/modprobe.d/gpu.conf": "blacklist radeon\n"})
    mirror = {name: mirrors.served().readings[name] for name in ("mirror", "mirror_serving")}
    answers = Reading("candidate nginx 1\nimage 192.0.2.2:5000/a/b@sha256:0 there\nend\n", 0)
    readings = {**facts.readings, **mirror, "mirror_answers": answers}
    (tmp_path / "text").write_text(readings[name].text)
    own = {kinds.OF_FACTS[name]} if name in kinds.OF_FACTS else set()
    assert set(_reading(tmp_path / "text")) == own | ALSO.get(name, set())


def _reading(file: Path) -> Iterator[str]:
    for kind in READERS:
        with suppress(ParseFailure):
            parse.run(kind, str(file))
            yield kind


ALWAYS = {"boot", "boots", "cpuinfo", "iommu", "kernel", "meminfo"}


def test_an_empty_text_is_read_where_a_probe_may_print_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    assert set(READERS) - set(_reading(tmp_path / "text")) == ALWAYS


@pytest.mark.parametrize("kind", ["ollama-log", "prefix-cache", "runner-cmd"])
@pytest.mark.parametrize("before", ["README", "prose", "YAML"])
def test_a_line_among_foreign_ones_is_read(kind: str, before: str, document: Any) -> None:  # noqa: ANN401
    line = f"ollama-1  | {SLOG}\nollama-1  | {NEW_PROMPT}\n"
    alone, among = (document(kind, text) for text in (line, f"{FOREIGN[before]}\n{line}{PROSE}"))
    assert alone == among
    assert alone.get("runners") or alone["prompt_tokens"] == 24


SLOG = 'level=INFO source=server.go:1 msg="starting llama-server" cmd="/bin/llama-server -m x -c 8"'
NEW_PROMPT = "slot   operator(): id  0 | task 7 | new prompt, n_keep = 4, task.n_tokens = 24"


def test_a_long_document_is_printed_as_any_other(document: Any) -> None:  # noqa: ANN401
    tasks = document("prefix-cache", f"{NEW_PROMPT}\n{NEW_PROMPT.replace('7', '8')}\n")["tasks"]
    assert [(task["task"], task["prompt_tokens"]) for task in tasks] == [(7, 24), (8, 24)]
    assert document("prefix-cache", "[GIN] x\n")["tasks"] == []


def test_the_framed_daemon_json_of_a_facts_folder(document: Any) -> None:  # noqa: ANN401
    framed = frame((TextFile("/etc/docker/daemon.json", '{"live-restore": true}'),))
    assert document("daemon-json", framed)["values"] == {"live-restore": True}


@pytest.mark.parametrize(
    ("kind", "file", "told"),
    [
        pytest.param(
            "cmdlin", "-", r"^parse knows no kind cmdlin \(cmdline\?\); there are: ", id="near"
        ),
        pytest.param(
            "nosuch", "-", "^parse knows no kind nosuch; there are: boot, ", id="none near"
        ),
        pytest.param("kernel_log", "-", r"kernel_log \(dmesg\?\); ", id="a facts file's name"),
        pytest.param("facts/m/os_release.txt", "-", r"\(os-release\?\); ", id="a facts file"),
        pytest.param(
            "my log",
            "dmesg",
            "^the kind comes first: apuhost parse dmesg 'my log'$",
            id="swapped arguments",
        ),
        pytest.param("cmdline", "/nosuch/file", "/nosuch/file: No such file", id="no such file"),
        pytest.param("cmdline", "/", "/: not a plain file", id="a folder"),
        pytest.param("cmdline", "/dev/zero", "/dev/zero: not a plain file", id="a device"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_2(kind: str, file: str, told: str) -> None:
    with pytest.raises(ApuhostError, match=told) as raised:
        parse.run(kind, file)
    assert raised.value.exit_status == 2


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[pytest.param(kind, " \n", id=f"blank, {kind}") for kind in ("gpus", "loader", "modules")],
        pytest.param("grub", "# nothing\n", id="comments for grub"),
        pytest.param("grub", "GRUB_TIMEOUT=5\n", id="no kernel line"),
        pytest.param("grub-cfg", "# nothing\n", id="comments for grub-cfg"),
        pytest.param("grub-cfg", "search --file /a\nconfigfile /b\n", id="no entry"),
        pytest.param("modprobe", "# nothing\n\n", id="comments for modprobe"),
        pytest.param("modprobe", "softdep amdgpu pre: ttm\n", id="no option"),
        pytest.param("modprobe", "==> 2 /etc/modprobe.d/a\n#\n\n", id="comments in a frame"),
        pytest.param("modprobe", "install amdgpu echo x\n", id="any command"),
        pytest.param("modprobe", "# a\r\ninstall cramfs modprobe -i cramfs\r\n", id="modprobe's"),
        pytest.param("modprobe", "remove iwlwifi \\\n(lsmod | grep b)\n", id="two lines"),
    ],
)
def test_text_of_its_kind_may_say_nothing(document: Any, kind: str, text: str) -> None:  # noqa: ANN401
    assert isinstance(document(kind, text), dict)


# What took the square of its length, or a second a megabyte.
LONG = {
    "meminfo": f"MemTotal: 5{' ' * 300_000}x\n",
    "os-release": f'NAME="{"a" * 300_000}\n',
    "grub-cfg": "${A" * 100_000,
    "grub": "a=b " * 300_000,
    "modprobe": "a=b " * 300_000,
}


@pytest.mark.parametrize("kind", LONG)
def test_long_text_is_read_at_once(kind: str) -> None:
    started = time.process_time()
    with suppress(ParseError):
        READERS[kind](LONG[kind])
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("grub", f"A=1\n{' ' * 20_000}B=1\n", id="grub"),
        pytest.param("grub", f"A=1;{' ' * 20_000}B=1\n", id="behind a sign"),
        pytest.param("modprobe", f"options a{' ' * 20_000}b c\n", id="modprobe"),
        pytest.param("modprobe", f"install{' ' * 20_000}b{' ' * 20_000}c.\n", id="install"),
    ],
)
def test_blanks_are_passed_over_at_once(kind: str, text: str) -> None:
    started = time.process_time()
    with pytest.raises(ParseError):
        kinds.read(kind, text)
    assert time.process_time() - started < 1


def test_a_shells_command_that_writes_json_is_not_said_to_have_none() -> None:
    with pytest.raises(ParseError, match=r"^it does not begin as JSON does$"):
        kinds.read("daemon-json", 'sudo tee /etc/docker/daemon.json <<EOF\n{"hosts": []}\nEOF\n')


@pytest.mark.parametrize("kind", kinds.LOGS)
def test_a_log_has_any_length(
    kind: str,
    document: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = "amdgpu: Topology: Add APU node\nsrv  update_slots: all slots are idle\n"
    long = f"{first}{'x' * 200_000}\n{PARTS['ollama_log']}"
    expected = document(kind, long)
    monkeypatch.setattr(parse, "MOST_BYTES", 10)
    assert document(kind, long) == expected


def test_another_text_has_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parse, "MOST_BYTES", 10)
    (tmp_path / "text").write_text("quiet splash\n")
    with pytest.raises(ApuhostError, match="text: more than") as raised:
        parse.run("cmdline", str(tmp_path / "text"))
    assert raised.value.exit_status == 2


def test_blocks_in_blocks_do_not_grow_without_an_end() -> None:
    nested = f"{'submenu a {' * 60}\n".replace("{", "{\n")
    with pytest.raises(ParseError, match="inside each other"):
        READERS["grub-cfg"](nested)


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ApuhostError, match="pipe: not a plain file"):
        parse.run("cmdline", str(tmp_path / "pipe"))


def test_a_pipe_of_the_shell_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"quiet\n")
    os.close(writing)
    assert parse.run("cmdline", f"/dev/fd/{reading}") == 0
    os.close(reading)
    assert json.loads(capsys.readouterr().out)["effective"] == {"quiet": None}


def test_a_closed_standard_input_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ApuhostError, match="standard input is closed"):
        parse.run("cmdline", "-")


PASTED = {"dmesg", "docker-info", "ollama-final", "ollama-ps", "prefix-cache", "runner-cmd"}
CONTRACT = {"cmdline", "daemon-json", "grub", "ollama-log", "vulkaninfo", *PASTED}


def test_a_kind_is_a_probe_or_a_form_that_people_paste() -> None:
    assert set(READERS) - PASTED <= {name.replace("_", "-") for name in PROBES}
    assert set(READERS) >= CONTRACT


@pytest.mark.parametrize(
    "kind",
    sorted(name for name in PARTS if name != "cmdline" and name.replace("_", "-") in READERS),
)
def test_every_record_is_json(kind: str, document: Any) -> None:  # noqa: ANN401
    assert isinstance(document(kind.replace("_", "-"), PARTS[kind]), dict)


def test_sets_come_in_a_fixed_order(document: Any) -> None:  # noqa: ANN401
    assert document("loader", "tool=b\ntool=a\n")["tools"] == ["a", "b"]


def test_undecodable_bytes_are_replaced(document: Any) -> None:  # noqa: ANN401
    assert document("cmdline", "a=\udcff")["effective"] == {"a": "\ufffd"}


def test_a_dash_is_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"quiet\n")))
    assert parse.run("cmdline", "-") == 0
    assert json.loads(capsys.readouterr().out)["effective"] == {"quiet": None}


UNSEEN = "\u202e\u2066\x7f\x9b2J\U000e0001é中"


def test_what_a_terminal_obeys_is_escaped_in_the_json_and_the_rest_is_not(
    document: Any,  # noqa: ANN401
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert document("os-release", f"NAME={UNSEEN}\n")["name"] == UNSEEN
    assert parse.run("os-release", str(tmp_path / "text")) == 0
    said = capsys.readouterr().out
    assert all(line.isprintable() for line in said.split("\n"))
    assert "é中" in said
