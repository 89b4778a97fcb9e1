"""What is wrong with an inventory's files as they are written: one line with file and line."""

from pathlib import Path

import pytest

from apuhost.inventory import InventoryError, sources

GOOD = 'hosts = ["box1"]\n'


def inventory(folder: Path, text: str, group_data: bytes = b"_sudo = True\n") -> Path:
    """An inventory of this text, with site-wide data beside it."""
    (folder / "group_data").mkdir()
    (folder / "group_data" / "all.py").write_bytes(group_data)
    path = folder / "site.py"
    path.write_text(text)
    return path


def told(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(path.parent)
    with pytest.raises(InventoryError) as raised:
        sources.check(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        pytest.param(b"\xef\xbb\xbf_sudo = True\n", "1: begins with a byte order mark", id="a BOM"),
        pytest.param(b"a = 1\nb = 'b\xe4r'\n", "2: not UTF-8", id="Latin-1"),
        pytest.param(b"\xff\xfea\0", "1: not UTF-8", id="UTF-16"),
        pytest.param(b"a = 1\nb = [\n", "2: '[' was never closed", id="a bracket"),
        pytest.param(b"a = 1\n  b = 2\n", "2: unexpected indent", id="an indent"),
        pytest.param(b"a = 1\nreturn\n", "2: 'return' outside function", id="no function"),
        pytest.param(b'a = {"b": 1\n"c": 2}\n', "1: invalid syntax. Perhaps you forgot a", id="{}"),
        pytest.param(b'a = {"b": c,\n"d": e\n"f": 2}\n', '3: invalid syntax at "f": 2}', id="{,}"),
        pytest.param(b'a = [\n("b", {}) ("c", {})]\n', "2: 'tuple' object is not call", id="call"),
        pytest.param(b'a = ["b",\n"c"\n"d"]\n', '3: no comma before "d": Python makes', id="text"),
    ],
)
def test_group_data_that_is_broken_is_the_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, sentence: str
) -> None:
    path = inventory(tmp_path, GOOD, raw)
    assert told(path, monkeypatch).startswith(f"group_data/all.py:{sentence}")


def test_a_nul_byte_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "null bytes" in told(inventory(tmp_path, "a = 1\0\n"), monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="one host"),
        pytest.param('a = ["box1"]\nb = [("box1", {"x": 1})]\n', id="a group, and data"),
        pytest.param('a = [("box1", {"x": 1})]\nb = [("box1", {"y": 2})]\n', id="other keys"),
        pytest.param('a = [("box1", {"x": 1})]\nb = [("box1", {"x": 1})]\n', id="one value"),
        pytest.param('a = [("b1", {"x": 1}), ("b2", {"x": 2})]\n', id="two hosts"),
        pytest.param('a = [("b1", {"x": 1, "x": 1, **{}})]\n', id="a key twice, one value"),
        pytest.param('_pair = "a", "b"\nx, y = _pair\nz = (["b1"], {})\n', id="a pair of its own"),
        pytest.param('a = [("b1", dict(x=1)), ("b2", DATA)]\n', id="data of a call or a name"),
        pytest.param("hosts = [*range(3), (1, 2), (), ('a',)]\nx: int\n", id="no hosts of ours"),
        pytest.param('x = ["a", ("b" "c")]\ny = {"d": "e"\n"f"}\n', id="a text in two parts"),
        pytest.param('a = ["b"]\na += ["c"]\nd = a\na = ["e"]\n', id="a list that grows"),
        pytest.param('a = ["b"]\na = [*a, "c"]\na = ["b", "c", "d"] + a\n', id="built on itself"),
        pytest.param('if X:\n a = ["b"]\nelse:\n a = ["c"]\n', id="one or the other"),
        pytest.param('a = ["b"]\nif X:\n a = ["c"]\n', id="perhaps another"),
        pytest.param('a = ["b"]\na = ["b"]\n', id="one list, twice the same"),
        pytest.param("x = 1\ndef f():\n return x\nx = 2\n", id="what a function may have read"),
        pytest.param("_, b = X\n_, c = Y\n", id="what nobody wants"),
        pytest.param("import os\nimport os.path\n", id="two imports"),
        pytest.param('all = ["a", "b"]\nc = ["a"]\n', id="all, with all"),
        pytest.param('all = [*c]\nd = ["a"]\n', id="all, computed"),
    ],
)
def test_lists_that_agree(tmp_path: Path, text: str) -> None:
    sources.check(inventory(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('h = [("box1", {"x": 1}),\n ("box1", {"x": 2})]\n', id="one list"),
        pytest.param('a = [("box1", {"x": 1})]\nb = [("box1", {"x": 2})]\n', id="two lists"),
        pytest.param('a = [("box1", {"x": 1})]\nb = ([("box1", {"x": 2})], {})\n', id="with data"),
    ],
)
def test_lists_that_disagree_on_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    sentence = told(inventory(tmp_path, text), monkeypatch)
    assert sentence == "site.py:2: box1 is there twice, with another x in line 1"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            'hosts = ["a"]\nhosts = ["b"]\n',
            "2: hosts stands twice, first in line 1, with another value: make one of the two",
            id="hosts",
        ),
        pytest.param(
            'x = ["a"]\ny = ["b"]\nx = ["c"]\n', "3: x stands twice, first in line 1", id="x"
        ),
        pytest.param('x: list = ["a"]\nx = []\n', "2: x stands twice, first in line 1", id="typed"),
        pytest.param(
            'x, y = ["a"], 1\nx = []\n', "2: x stands twice, first in line 1", id="a pair"
        ),
        pytest.param(
            'from a import x\nx = ["a"]\n', "2: x stands twice, first in line 1", id="an import"
        ),
        pytest.param('if X:\n a = ["b"]\n a = []\n', "3: a stands twice, first in line 2", id="if"),
        pytest.param(
            'hosts = ["a", "b",\n "a"]\n', "2: a is twice in hosts, first in line 1", id="a host"
        ),
        pytest.param('hosts = ["a", "a"]\n', "1: a is twice in hosts, first in", id="one line"),
        pytest.param(
            'hosts = ["a",\n ("a", {"x": 1})]\n', "2: a is twice in hosts, first in", id="data"
        ),
        pytest.param(
            'x = ["a"]\nall = ["b"]\n', "1: a is in x, but not in all, so pyinfra", id="not in all"
        ),
    ],
)
def test_what_stands_twice_is_told_with_both_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    assert told(inventory(tmp_path, text), monkeypatch).startswith(f"site.py:{sentence}")


def test_a_key_that_group_data_gives_twice_is_told_with_both_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"kernel_gtt_gib = 48\n_sudo = True\nkernel_gtt_gib = 24\n"
    sentence = told(inventory(tmp_path, GOOD, data), monkeypatch)
    assert sentence.startswith("group_data/all.py:3: kernel_gtt_gib stands twice, first in line 1")


TWICE = "stands twice in one {...}, first in line 1, with another value: take one out"


def test_a_key_that_stands_twice_in_one_hosts_data_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'hosts = [("box1", {"x": 1,\n "x": 2})]\n'
    assert told(inventory(tmp_path, text), monkeypatch) == f"site.py:2: x {TWICE}"


def test_a_key_that_stands_twice_is_found_in_every_file_and_at_every_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b'models_list = [{"name": "a", "parameters": {"num_ctx": 1,\n"num_ctx": 2}}]\n'
    sentence = told(inventory(tmp_path, GOOD, data), monkeypatch)
    assert sentence == f"group_data/all.py:2: num_ctx {TWICE}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("kernel_gtt_gib = 48\n", ":1: kernel_gtt_gib does nothing here", id="setting"),
        pytest.param('x: int = 1\nssh_user = "a"\n', ":2: ssh_user does nothing", id="pyinfra's"),
        pytest.param('kernel_extra_args = ["quiet"]\n', ":1: kernel_extra_args", id="a list"),
        pytest.param('hosts = {"box1": {}}\n', ":1: hosts is no list", id="a dict"),
        pytest.param(
            'hosts = [\n ("b", {}, {"x": 1})]\n', ":2: b has more than its data", id="third"
        ),
        pytest.param('hosts = ("box1", {"x": 1})\n', ":1: hosts is no list: put [ ]", id="a host"),
        pytest.param('pair = "box1", "box2"\n', ":1: pair is no list", id="two names"),
        pytest.param('hosts = ["a",\n ""]\n', ":2: a host's name is empty", id="no name"),
        pytest.param('hosts = [("", {})]\n', ":1: a host's name is empty", id="no name, data"),
        pytest.param(
            "kernel_gtt_gb = 48\n",
            ":1: kernel_gtt_gb (kernel_gtt_gib?) does nothing",
            id="misspelt",
        ),
        pytest.param("kernel_gtt_gib: 48\n", ":1: kernel_gtt_gib gets no value: write", id="colon"),
        pytest.param('hosts: ["a"]\n', ":1: hosts gets no value by a colon: write", id="a list"),
        *[
            pytest.param(f'hosts = [("b", {data})]\n', ":1: b has data that are no", id=data)
            for data in ("[1]", '"x"', "5", "(1, 2)", "None")
        ],
    ],
)
def test_what_would_be_passed_over_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    assert told(inventory(tmp_path, text), monkeypatch).startswith(f"site.py{sentence}")


def test_a_list_that_pyinfra_passes_over_is_the_files_own_matter(tmp_path: Path) -> None:
    sources.check(inventory(tmp_path, '_MODELS = [("a", "0123", 1)]\nhosts = ["box1"]\n'))


def test_a_setting_that_the_file_itself_uses_is_its_own_matter(tmp_path: Path) -> None:
    text = 'ssh_user = "me"\nhosts = [("box1", {"ssh_user": ssh_user})]\n'
    sources.check(inventory(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('models = ["qwen3"]\nhosts = ["b"]\n', id="a setting's usual name"),
        pytest.param('model_list = ["qwen3"]\nhosts = ["b"]\n', id="a setting's misspelt name"),
        pytest.param('users = ["admin"]\nhosts = ["b"]\n', id="users"),
        pytest.param('x = ["qwen3.6:35b-a3b"]\nhosts = ["b"]\n', id="no host's name"),
        pytest.param('x = ["192.0.2.0/24"]\nhosts = ["b"]\n', id="a network"),
        pytest.param('x = [{"name": "qwen3"}]\nhosts = ["b"]\n', id="dicts"),
        pytest.param('x = ["me"]\nhosts = [("b", {"vulkan_users": x})]\n', id="a value"),
        pytest.param(
            'x = ["me"]\nhosts = [("b", dict(vulkan_users=[*x]))]\n', id="part of a value"
        ),
        pytest.param('x = ["me"]\n_data = {"docker_users": x}\n', id="a value of all"),
    ],
)
def test_a_list_of_a_setting_is_not_taken_for_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    name = text.split(maxsplit=1)[0]
    sentence = told(inventory(tmp_path, text), monkeypatch)
    assert sentence.startswith(f"site.py:1: {name} is taken for a group of hosts; settings go in")
    assert sentence.endswith(f"group_data; a list of the file's own is called _{name}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('models = ["b"]\nhosts = ["b", "c"]\n', id="hosts that are known"),
        pytest.param('models = [("b", {"x": 1})]\n', id="hosts with data"),
        pytest.param('docker = ["b"]\nollama = ["c"]\n', id="roles' names"),
        pytest.param('x = ["b"]\ny = {"x": x}\n', id="a dict of the file's own"),
        pytest.param("x = []\n", id="no host yet"),
        pytest.param('x = ["me@box1:22"]\n', id="a host that is told otherwise"),
    ],
)
def test_a_list_of_hosts_that_is_named_like_something_else(tmp_path: Path, text: str) -> None:
    sources.check(inventory(tmp_path, text))
