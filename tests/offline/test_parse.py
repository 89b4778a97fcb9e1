"""`apuhost parse KIND`: kinds and fields are a contract."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts import LINE, PARAMETERS, PARTS

from apuhost.commands import parse
from apuhost.commands.parse import READERS, ParseFailure
from apuhost.errors import ApuhostError
from apuhost.host_facts import PROBES


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
    ],
)
def test_text_of_another_kind_is_one_line_and_exit_1(kind: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text(text)
    with pytest.raises(ParseFailure, match=f"not {kind}: ") as raised:
        parse.run(kind, str(file))
    assert raised.value.exit_status == 1
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "file", "told"),
    [
        pytest.param("cmdlin", "-", "there are: ", id="no such kind"),
        pytest.param("cmdline", "/nosuch/file", "/nosuch/file: No such file", id="no such file"),
        pytest.param("cmdline", "/", "/: Is a directory", id="a folder"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_2(kind: str, file: str, told: str) -> None:
    with pytest.raises(ApuhostError, match=told) as raised:
        parse.run(kind, file)
    assert raised.value.exit_status == 2


def test_every_probe_is_a_kind() -> None:
    assert set(READERS) == {name.replace("_", "-") for name in PROBES}


@pytest.mark.parametrize("kind", sorted(set(PARTS) - {"cmdline"}))
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
