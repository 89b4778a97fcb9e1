"""What pyinfra prints of an inventory, and the one line that matters where it fails."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from apuhost.inventory import reading
from apuhost.inventory.lists import HINT
from apuhost.inventory.reading import AS_IT_IS, UNCONNECTED

LISTED = '[{"name": "box1", "groups": ["hosts"], "data": {"ssh_port": 22}}]\n'
BOX1 = {"name": "box1", "groups": ["hosts"], "data": {"ssh_port": 22}}


@pytest.mark.parametrize(
    ("stdout", "found"),
    [
        pytest.param(LISTED, (BOX1,), id="plain"),
        pytest.param("[]\n", (), id="no host"),
        pytest.param(f"hello\n[1]\n{LISTED}", (BOX1,), id="lines printed before"),
        pytest.param(f"hello {LISTED}", (BOX1,), id="printed on the same line"),
        pytest.param(f"{LISTED}bye\n", (BOX1,), id="printed after"),
        pytest.param("hello\n[]\n", (), id="printed, no host"),
        pytest.param("", None, id="nothing"),
        pytest.param(LISTED[:30], None, id="cut"),
    ],
)
def test_hosts_are_found_in_what_is_printed(
    stdout: str, found: tuple[dict[str, object], ...] | None
) -> None:
    assert reading.hosts(stdout) == found


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory with group data beside it, in the current folder."""
    (tmp_path / "group_data").mkdir()
    (tmp_path / "group_data" / "all.py").touch()
    (tmp_path / "site.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site.py"


ENDS = "the file ends here: raise an error that says why"


def traceback(*frames: tuple[str, int], error: str) -> str:
    lines = [
        f'  File "{name}", line {line}, in <module>\n    code\n    ~~~~\n' for name, line in frames
    ]
    head = "--> An exception occurred in: x:\n\nTraceback (most recent call last):\n"
    return f"{head}{''.join(lines)}{error}\n\n"


@pytest.mark.parametrize(
    ("frames", "error", "told"),
    [
        pytest.param(["site.py"], "NameError: name 'x'", "site.py:7: NameError: name 'x'", id="it"),
        pytest.param(
            ["group_data/all.py"], "KeyError: 'A'", "group_data/all.py:7: KeyError: 'A'", id="data"
        ),
        pytest.param(
            ["site.py", "/usr/lib/re.py"], "KeyError: 'A'", "site.py:7: KeyError: 'A'", id="below"
        ),
        pytest.param(
            ["site.py"], "ValueError: one\ntwo\nthree", "site.py:7: ValueError: one", id="lines"
        ),
        pytest.param(
            ["site.py"], "apuhost.a.B: no machine", "site.py:7: no machine", id="a sentence of ours"
        ),
        pytest.param(["site.py"], "AssertionError", "site.py:7: AssertionError", id="no sentence"),
        pytest.param(
            ["site.py"],
            "ZeroDivisionError: x\n\nThe above exception was the direct cause of the following "
            "exception:\n\nValueError: final\nmore",
            "site.py:7: ValueError: final",
            id="chained",
        ),
    ],
)
def test_an_exception_is_told_with_its_file_and_line(
    site: Path, frames: list[str], error: str, told: str
) -> None:
    places = [(str(site.parent / name), 7) for name in frames]
    assert reading.fault(site, traceback(("/pyinfra.py", 1), *places, error=error)) == told


@pytest.mark.parametrize(
    ("below", "error", "told"),
    [
        pytest.param(
            "<frozen os>", "KeyError: 'A'", "A is not in the environment: export A", id="A"
        ),
        pytest.param("/usr/lib/os.py", "KeyError: 'A'", "A is not in the environment", id="os.py"),
        pytest.param("", "KeyError: 'A'", "KeyError: 'A'", id="a dict"),
        pytest.param(
            "<frozen importlib._bootstrap>",
            "ModuleNotFoundError: No module named 'x'",
            "ModuleNotFoundError: No module named 'x': /",
            id="import",
        ),
        pytest.param(
            "",
            "NameError: name 'admin' is not defined",
            "NameError: name 'admin' is not defined: a text stands in quotes (\"admin\")",
            id="no quotes",
        ),
        pytest.param(
            "",
            "NameError: name 'true' is not defined. Did you mean: 'True'?",
            "NameError: name 'true' is not defined. Did you mean: 'True'?: Python writes True",
            id="JSON",
        ),
        pytest.param(
            "",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a.json'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a.json': paths start in /",
            id="a relative path",
        ),
    ],
)
@pytest.mark.parametrize("file", ["site.py", "group_data/all.py"])
def test_what_to_do_is_told_beside_the_right_file(
    site: Path, file: str, below: str, error: str, told: str
) -> None:
    frames = [(str(site.parent / file), 7), *([(below, 1)] if below else [])]
    found = reading.fault(site, traceback(("/pyinfra.py", 1), *frames, error=error))
    assert found is not None
    assert found.startswith(f"{file}:7: {told}")


def test_a_module_of_the_inventorys_own_is_the_file_that_is_named(site: Path) -> None:
    frames = [(str(site), 1), (str(site.parent / "lib" / "common.py"), 3), ("/usr/lib/re.py", 9)]
    assert reading.fault(site, traceback(*frames, error="E: x")) == "lib/common.py:3: E: x"


def test_group_data_that_lies_elsewhere_is_named(site: Path, tmp_path: Path) -> None:
    """A traceback has the path of the link, not where it leads."""
    elsewhere = tmp_path / "elsewhere" / "shared.py"
    elsewhere.parent.mkdir()
    elsewhere.touch()
    link = site.parent / "group_data" / "boxes.py"
    link.symlink_to(elsewhere)
    found = reading.fault(site, traceback((str(site), 9), (str(link), 3), error="E: x"))
    assert found == "elsewhere/shared.py:3: E: x"


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        pytest.param(
            '--> An internal exception occurred:\n\n  File "/pyinfra.py", line 93, in x\n'
            '    if name[0] == "@":\n       ~~~~^^^\nIndexError: string index out of range\n\n'
            "--> The full traceback has been written to pyinfra-debug.log\n",
            "a host's name is empty",
            id="an empty name",
        ),
        *[
            pytest.param(
                '--> An internal exception occurred:\n\n  File "/pyinfra.py", line 9, in x\n'
                f"    data.update(x)\n{error}\n",
                "something in it is no host",
                id=error,
            )
            for error in (
                "ValueError: dictionary update sequence element #0 has length 1; 2 is required",
                "TypeError: 'int' object is not iterable",
            )
        ],
        pytest.param(
            "--> Loading config...\n--> pyinfra error: Invalid connector: nosuch\n",
            "Invalid connector: nosuch",
            id="a connector that is none",
        ),
        pytest.param(
            "--> Connector data type error: Invalid connector data `a`:: str is not an int\n",
            "Invalid connector data `a`: str is not an int",
            id="a type",
        ),
    ],
)
def test_a_fault_of_no_line_is_told_with_what_a_host_may_be(
    site: Path, stderr: str, told: str
) -> None:
    assert reading.fault(site, stderr) == f"site.py: {told}; {HINT}"


def answers(monkeypatch: pytest.MonkeyPatch, **given: tuple[int, str, str]) -> None:
    """What pyinfra says as it is, and when it is run without connecting."""
    by_way = {AS_IT_IS: given["plain"], UNCONNECTED: given.get("unconnected", (1, "", ""))}
    monkeypatch.setattr(reading, "run", lambda _, how: CompletedProcess((), *by_way[how]))


def test_what_pyinfra_reads_is_taken_as_it_is(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, plain=(0, LISTED, "--> Loading inventory...\n"))
    assert reading.read(site) == reading.Read((BOX1,))


def test_hosts_are_there_though_pyinfra_stumbles(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "--> Connector data type error: Invalid connector data `ssh_port`:: no int\n"
    answers(monkeypatch, plain=(1, "", said), unconnected=(0, LISTED, ""))
    read = reading.read(site)
    assert read.hosts == (BOX1,)
    assert "Invalid connector data `ssh_port`: no int" in read.fault


def test_an_inventory_that_ends_itself_is_told_where(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = traceback((str(site), 2), error="SystemExit: 3")
    answers(monkeypatch, plain=(3, "", "--> Loading\n"), unconnected=(0, "", ended))
    assert reading.read(site) == reading.Read((), f"site.py:2: SystemExit: 3: {ENDS}")


def test_no_word_at_all_is_a_fault_too(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, plain=(0, "", ""))
    assert reading.read(site).fault == "site.py: pyinfra could not read it"
