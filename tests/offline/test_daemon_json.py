"""dockerd's settings: read, found broken with the place, and merged with ours."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import sample

from apuhost.probes import ParseError, daemon_json
from apuhost.probes.daemon_json import DaemonJson, DockerFiles, JsonError, merged
from apuhost.probes.files import TextFile, frame


def test_the_settings() -> None:
    text = (
        '{"registry-mirrors": ["https://mirror.lan"], "insecure-registries": ["10.0.0.1:5000"],'
        ' "live-restore": true}'
    )
    assert daemon_json.parse(text) == DaemonJson(
        valid=True,
        error=None,
        values=json.loads(text),
        registry_mirrors=("https://mirror.lan",),
        insecure_registries=("10.0.0.1:5000",),
    )


@pytest.mark.parametrize("text", ["", " \r\n\t", "{}", "{}\n"])
def test_nothing_is_set(text: str) -> None:
    assert daemon_json.parse(text) == DaemonJson(True, None, {}, (), ())


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        pytest.param('{\n  # why\n  "a": 1\n}', 2, 3, "property name", id="comment"),
        pytest.param('{\n  // why\n  "a": 1\n}', 2, 3, "property name", id="another comment"),
        pytest.param('{\n ,"a": 1}', 2, 2, "property name", id="leading comma"),
        pytest.param("{'a': 1}", 1, 2, "property name", id="single quotes"),
        pytest.param('{"a": 1', 1, 8, "delimiter", id="cut"),
        pytest.param('{"a": 1} x', 1, 10, "Extra data", id="more behind it"),
        pytest.param('{"a": "NaN",\n "b": NaN}', 2, 7, "NaN", id="NaN"),
        pytest.param('{"a": -Infinity}', 1, 7, "-Infinity", id="infinity"),
        pytest.param("\n []", 2, 2, "no JSON object", id="a list"),
        pytest.param("null", 1, 1, "no JSON object", id="null"),
        pytest.param('\ufeff{"a": 1}', 1, 1, "byte order mark", id="byte order mark"),
        pytest.param('{"a": "\\ud800"}', 1, 7, "half a character", id="half a character"),
        pytest.param('{"a": "\udcff"}', 1, 7, "half a character", id="undecodable byte"),
        pytest.param('{"registry-mirrors": "x"}', 1, 2, "no list", id="mirrors are no list"),
        pytest.param('{"insecure-registries": [1]}', 1, 2, "no list", id="a number in the list"),
        pytest.param('{"a": ' + "[" * 50 + "]" * 50 + "}", 1, 38, "deeply", id="deep"),
        pytest.param("[" * 100000, 1, 1, "deeply", id="very deep"),
        pytest.param('{"a": [-1.5, 1e400]}', 1, 14, "too large", id="a large number"),
        pytest.param('{"a": ' + "9" * 5000 + "}", 1, 1, "too long", id="a long number"),
        pytest.param("\x7fELF\0", 1, 1, "value", id="a program"),
    ],
)
def test_a_broken_file_tells_where(text: str, line: int, column: int, message: str) -> None:
    read = daemon_json.parse(text)
    assert read.error is not None
    assert (read.error.line, read.error.column) == (line, column)
    assert message in read.error.message
    assert (read.valid, read.values, read.registry_mirrors) == (False, {}, ())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param(
            '{"live-restore": true, "live-restore": false}', {"live-restore": False}, id="a switch"
        ),
        pytest.param('{"a": 1, "\\u0061": 2}', {"a": 2}, id="two spellings"),
        pytest.param('{"b": [{"a": 1, "a": 2}]}', {"b": [{"a": 2}]}, id="deeper"),
        pytest.param(
            '{"log-opts": {"max-size": "1m", "tag": "x"}, "log-opts": {"max-size": "9m"}}',
            {"log-opts": {"max-size": "9m", "tag": "x"}},
            id="two objects",
        ),
        pytest.param(
            '{"registry-mirrors": ["https://a"], "registry-mirrors": ["https://b"]}',
            {"registry-mirrors": ["https://b"]},
            id="two lists",
        ),
        pytest.param('{"log-opts": {"tag": "x"}, "log-opts": null}', {"log-opts": None}, id="null"),
    ],
)
def test_of_a_key_that_stands_twice_dockerd_follows_the_last(
    text: str, values: dict[str, object]
) -> None:
    read = daemon_json.parse(text)
    assert (read.valid, read.error, read.values) == (True, None, values)
    assert list(read.registry_mirrors) == values.get("registry-mirrors", [])


def test_a_key_that_stands_twice_stands_once_when_it_is_set() -> None:
    text = '{"live-restore": true, "live-restore": false, "debug": true}'
    assert json.loads(merged(text, {"live-restore": True})) == {"live-restore": True, "debug": True}
    assert merged(text, {"live-restore": True}).count("live-restore") == 1


def test_a_trailing_comma_is_found() -> None:
    read = daemon_json.parse('{"a": 1,\n}')  # the comma or the next character, by Python's version
    assert read.error is not None
    assert (read.error.line, read.error.column) in ((1, 8), (2, 1))


def test_the_files_of_the_unit() -> None:
    drop_in = TextFile("/etc/systemd/system/docker.service.d/proxy.conf", "[Service]\n")
    framed = frame((TextFile(daemon_json.PATH, "{}\n"), drop_in))
    assert daemon_json.parse_files_of(framed) == DockerFiles("{}\n", (drop_in,))
    assert daemon_json.parse_files_of("") == DockerFiles(None, ())


OURS = {"log-driver": "local", "log-opts": {"max-size": "10m"}, "live-restore": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            None,
            '{\n  "log-driver": "local",\n  "log-opts": {\n    "max-size": "10m"\n  },\n'
            '  "live-restore": true\n}\n',
            id="no file",
        ),
        pytest.param(
            '{\r\n\t"live-restore": 1,\r\n\t"data-root": "/daten/ä"\r\n}\r\n',
            '{\r\n\t"live-restore": true,\r\n\t"data-root": "/daten/ä",\r\n'
            '\t"log-driver": "local",\r\n\t"log-opts": {\r\n\t\t"max-size": "10m"\r\n\t}\r\n}\r\n',
            id="order, tabs and line ends are kept",
        ),
        pytest.param(
            '{\n    "log-opts": {\n        "max-file": "3",\n        "max-size": "1g"\n    }\n}',
            '{\n    "log-opts": {\n        "max-file": "3",\n        "max-size": "10m"\n    },\n'
            '    "log-driver": "local",\n    "live-restore": true\n}\n',
            id="members of an object are kept",
        ),
        pytest.param(
            '{"log-opts": 7}',
            '{\n  "log-opts": {\n    "max-size": "10m"\n  },\n  "log-driver": "local",\n'
            '  "live-restore": true\n}\n',
            id="what is no object is replaced",
        ),
    ],
)
def test_our_settings_are_merged_in(text: str | None, expected: str) -> None:
    assert merged(text, OURS) == expected
    assert merged(expected, OURS) == expected


def test_a_file_that_says_it_already_stays_as_it_is() -> None:
    text = '{"live-restore":true,   "log-opts":{"max-size":"10m","a":"b"}, "log-driver":"local" }'
    assert merged(text, OURS) == text


def test_a_broken_file_is_not_written_over() -> None:
    with pytest.raises(ParseError, match=r"^/etc/docker/daemon\.json:1:2: .*remove it$"):
        merged("{,}", OURS)


NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES,
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    max_leaves=6,
)
PIECES = ["{", "}", "[", "]", ":", ",", '"a"', '"', "\\", "1", "NaN", "\n", " ", "\udc80", "\0"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join) | JSON.map(json.dumps))
def test_no_text_raises_and_valid_json_comes_back(text: str) -> None:
    read = daemon_json.parse(text)
    assert read.valid is (read.error is None)
    if read.valid and text.strip():
        assert read.values.keys() == json.loads(text).keys()
    with suppress(ParseError):
        daemon_json.parse_files_of(text)


@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_merging_settles_and_keeps_what_is_not_ours(values: dict[str, object]) -> None:
    text = json.dumps({**values, "registry-mirrors": []})
    once = merged(text, OURS)
    assert merged(once, OURS) == once
    kept = json.loads(once)
    assert all(
        kept[key] == values[key] for key in values.keys() - OURS.keys() - {"registry-mirrors"}
    )


def test_a_real_file_with_a_comment_and_a_leading_comma() -> None:
    read = daemon_json.parse(sample("docker/03-daemon-json-comment-leading-comma-invalid.txt"))
    assert not read.valid
    assert read.error == JsonError(2, 5, "Expecting property name enclosed in double quotes")
