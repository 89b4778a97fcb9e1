"""Hosts from a CSV file: what a spreadsheet writes is read, the rest is told with its line."""

from pathlib import Path

import pytest

from apuhost.inventory import columns, handover
from apuhost.inventory.syntax import InventoryError


def hosts(tmp_path: Path, text: str | bytes) -> dict[str, dict[str, object]]:
    file = tmp_path / "hosts.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {
        each.name: {key: found.value for key, found in each.values.items()}
        for each in columns.read(file).hosts
    }


BOX = {"box1": {"ssh_hostname": "192.0.2.1", "kernel_gtt_gib": 48}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name,ssh_hostname,kernel_gtt_gib\nbox1,192.0.2.1,48\n", id="plain"),
        pytest.param(b"\xef\xbb\xbfname,ssh_hostname,kernel_gtt_gib\nbox1,192.0.2.1,48", id="BOM"),
        pytest.param("name,ssh_hostname,kernel_gtt_gib\r\nbox1,192.0.2.1,48\r\n", id="CRLF"),
        pytest.param("name;ssh_hostname;kernel_gtt_gib\nbox1;192.0.2.1;48\n", id="semicolons"),
        pytest.param("name\tssh_hostname\tkernel_gtt_gib\nbox1\t192.0.2.1\t48\n", id="tabs"),
        pytest.param(" name , ssh_hostname,kernel_gtt_gib\n box1, 192.0.2.1 ,48 \n", id="blanks"),
        pytest.param(
            '"name","ssh_hostname","kernel_gtt_gib"\n"box1", "192.0.2.1","48"', id="quotes"
        ),
        pytest.param(
            "\n,,\nname,ssh_hostname,kernel_gtt_gib\n,,\nbox1,192.0.2.1,48\n\n", id="empty"
        ),
    ],
)
def test_what_spreadsheets_write_is_read(tmp_path: Path, text: str | bytes) -> None:
    assert hosts(tmp_path, text) == BOX


@pytest.mark.parametrize(
    ("key", "cell", "value"),
    [
        ("kernel_gtt_gib", "auto", "auto"),
        ("ssh_port", "2222", 2222),
        ("_sudo", "TRUE", True),
        ("mirror_serve", "false", False),
        ("vulkan_users", '"[""ann"", ""bob""]"', ["ann", "bob"]),
        ("host_simulated", '"{""memory_gib"": 61}"', {"memory_gib": 61}),
        ("ssh_user", "1000", "1000"),
        ("_sudo_password", "0042", "0042"),
        ("ssh_key", "true", "true"),
        ("kernel_lockup_timeout_ms", "NaN", "NaN"),
        ("ssh_hostname", '"a\nb"', "a\nb"),
    ],
)
def test_a_cell_is_what_its_key_takes(tmp_path: Path, key: str, cell: str, value: object) -> None:
    assert hosts(tmp_path, f"name,{key}\nbox1,{cell}\n") == {"box1": {key: value}}


def test_an_empty_cell_says_nothing(tmp_path: Path) -> None:
    assert hosts(tmp_path, "name,kernel_gtt_gib\nbox1,\n") == {"box1": {}}


def test_groups_are_divided_by_blanks_or_commas(tmp_path: Path) -> None:
    file = tmp_path / "hosts.csv"
    file.write_text('name,groups\na,lab rack1\nb,"lab, all"\nc,\n')
    assert [each.groups for each in columns.read(file).hosts] == [("lab", "rack1"), ("lab",), ()]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "hosts.csv: empty: write a line name,", id="nothing"),
        pytest.param(" \n,\n", "hosts.csv: empty", id="nothing in it"),
        pytest.param("box1,192.0.2.1\n", ":1: no column name: the first line", id="no head"),
        pytest.param("Name\nbox1\n", ":1: no column name (Name?)", id="a capital"),
        pytest.param("name,\nbox1,x\n", ":1: column 2 has no name", id="a column without a name"),
        pytest.param("name,ssh_port,ssh_port\n", ":1: ssh_port is a column twice", id="twice"),
        pytest.param(
            "name,kernel_gt_gib\n", ":1: kernel_gt_gib is not a setting (kernel_gtt_gib?)", id="key"
        ),
        pytest.param(
            "name,ssh_port\na,22,x\n", ":2: fields: 3, where the head has 2", id="too long"
        ),
        pytest.param("name,ssh_port\na\n", ":2: fields: 1, where the head has 2", id="too short"),
        pytest.param("name,ssh_port\n,22\n", ":2: no name", id="no name"),
        pytest.param("name\na\nb\na\n", ":4: a is there twice, first in line 2", id="a host twice"),
        pytest.param('name\n"a\n', ":2: no CSV: unexpected end of data", id="an open quote"),
        pytest.param('name\n"a"b\n', ":2: no CSV: ',' expected after", id="behind a quote"),
        pytest.param(
            'name,vulkan_users\na,"[ann]"\n', ":2: vulkan_users begins as JSON", id="no JSON"
        ),
        pytest.param(b"name\na\xff\n", ":2: not UTF-8", id="Latin-1"),
        pytest.param("name\na\n".encode("utf-16"), ":1: not UTF-8", id="UTF-16"),
        pytest.param("name\na\0\n", "not a text file", id="NUL"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(InventoryError) as error:
        hosts(tmp_path, text)
    assert told in str(error.value)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InventoryError) as error:
        hosts(tmp_path, "name,ssh_port\na,1,2\nb,22\nb,23\n,\n,24\n")
    lines = str(error.value).splitlines()
    assert [line.partition("hosts.csv:")[2][:1] for line in lines[:-1]] == ["2", "6", "4"]
    assert lines[-1] == "3 problems, nothing contacted"


def test_a_head_alone_is_no_host(tmp_path: Path) -> None:
    file = tmp_path / "hosts.csv"
    file.write_text("name,ssh_port\n")
    with pytest.raises(InventoryError, match="no host in it"):
        handover.given(file)
