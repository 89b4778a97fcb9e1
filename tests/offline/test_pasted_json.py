"""JSON objects in a text as people paste it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes.pasted_json import object_from, objects_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("no JSON { at all }", [], id="words"),
        pytest.param('{"a": 1}', [{"a": 1}], id="an object"),
        pytest.param(
            '{\n  "a": {\n    "b": [\n      {}\n    ]\n  }\n}\n', [{"a": {"b": [{}]}}], id="jq"
        ),
        pytest.param('{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}], id="NDJSON"),
        pytest.param('data: {"a":1}\n\ndata: [DONE]\n', [{"a": 1}], id="server-sent events"),
        pytest.param('HTTP/1.1 200 OK\n\n{"a":1}%', [{"a": 1}], id="curl -i in zsh"),
        pytest.param('x{"a":"{\\"b\\":2}"}', [{"a": '{"b":2}'}], id="JSON in a string"),
        pytest.param('{"a":1,"b":12', [{"a": 1}], id="cut in a number"),
        pytest.param('{"a":1,"b":"x', [{"a": 1}], id="cut in a string"),
        pytest.param('{"a":1,"b":"x\\', [{"a": 1}], id="cut in an escape"),
        pytest.param('{"a":1,"b', [{"a": 1}], id="cut in a name"),
        pytest.param('{"a":[{"b":1},{"b":2,"c"', [{"a": [{"b": 1}, {"b": 2}]}], id="cut inside"),
        pytest.param('{"a":{"b":1}', [{"a": {"b": 1}}], id="cut at its end"),
        pytest.param('{"a":12\n34,"b":"x\ny"}', [{"a": 1234, "b": "xy"}], id="broken lines"),
        pytest.param('{"a":12\n34,"b":"x\ny', [{"a": 1234}], id="broken lines, cut"),
        pytest.param('{"a":1]', [], id="wrong bracket"),
        pytest.param('{"a"; {"b":2}', [{"b": 2}], id="a broken one before"),
        pytest.param('{"a":' * 2000, [], id="too deep"),
        pytest.param(f'{{"a":{"9" * 5000}}}', [], id="too long a number"),
    ],
)
def test_objects(text: str, found: list[object]) -> None:
    assert list(objects_in(text)) == found


def test_an_object_without_its_beginning() -> None:
    text = 'and so on."},"done":false}\n more."},"done":true,"a":{"b":1}}%'
    assert object_from(text, "done") == {"done": True, "a": {"b": 1}}
    assert object_from(text, "other") is None
    assert object_from('x\\",\\"done\\":true', "done") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def is_part(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(part[name], whole[name]) for name in part)
    if isinstance(part, list) and isinstance(whole, list):
        return all(map(is_part, part, whole)) and len(part) <= len(whole)
    return part == whole


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.integers(1, 80))
def test_what_is_read_of_a_cut_object_is_in_it(value: dict[str, object], end: int) -> None:
    text = json.dumps(value)
    for found in objects_in(text[:end]):
        assert is_part(found, value)


@pytest.mark.parametrize(
    "part", ['{"a":', "{", '{"', '{"a":"', '{"a":1 ', '{"a":[1,', "x{", '"{x', " {"]
)
def test_long_text_is_read_at_once(part: str) -> None:
    started = time.process_time()
    list(objects_in(part * 100_000))
    assert time.process_time() - started < 2
