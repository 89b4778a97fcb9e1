"""pyinfra's command line and result: one host is meant by one name, and a failure is never lost."""

import json
from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

from apuhost import engines
from apuhost.engines import EngineError

NAMES = ["box1", "@local", "c07.example", "b*x", "box?", "[box1]", "a[b", "]", "bøx", "-x", "^x"]


def limits(*hosts: str) -> list[str]:
    command = engines.pyinfra(Path("inventories/minipc.py"), hosts)
    return [value for option, value in pairwise(command) if option == "--limit"]


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_means_that_host_alone_and_no_group(name: str) -> None:
    """A limit is for pyinfra a group's name first, then a pattern of host names."""
    (pattern,) = limits(name)
    assert pattern not in NAMES
    assert [
        other for other in [*NAMES, "boxx", "box11", "b", "local"] if fnmatch(other, pattern)
    ] == [name]


def test_every_host_has_a_limit_of_its_own() -> None:
    assert len(limits("box1", "box2")) == 2


def result(*operations: dict[str, list[str]], failed: Sequence[str] = ()) -> str:
    whole = [{"success": [], "error": [], **each} for each in operations]
    return json.dumps({"results": {"operations": whole, "failed_hosts": failed}})


def test_what_changed_and_who_failed() -> None:
    text = result({"success": ["box1", "box2"]}, {"success": ["box1"], "error": ["box2"]})
    assert engines.applied(text, 1) == engines.Applied(3, ("box2",))


def test_a_host_that_is_not_connected_fails_alone() -> None:
    text = result({"success": ["box1"]}, failed=["gone"])
    assert engines.applied(text, 1) == engines.Applied(1, ("gone",))


@pytest.mark.parametrize("text", ["", "{}", "[]", result(), result({"success": ["box1"]})])
def test_a_failure_that_names_no_host_is_an_error(text: str) -> None:
    with pytest.raises(EngineError, match="exit 1"):
        engines.applied(text, 1)


def test_an_operation_of_minutes_says_how_far_it_is() -> None:
    log = ["--> Starting operation: models | models", "[box1] 4.1 of 22.3 GB", "[box1] Success"]
    assert list(engines.progress(log)) == [
        "box1  models | models  4.1 of 22.3 GB",
        "box1  models | models  changed",
    ]
