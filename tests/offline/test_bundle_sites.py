"""Which hosts of an inventory keep a bundle, and which take from them."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.hosts import settings

from apuhost.bundle.item import BundleError
from apuhost.bundle.sites import Site, sites
from apuhost.inventory import Host

SERVING = {"mirror_address": "192.0.2.1", "mirror_serve": True}
TAKING = {"mirror_address": "192.0.2.1"}


def found(asked: str, **data: Mapping[str, Any]) -> dict[str, list[str]]:
    """The mirrors by name, each with who takes from it."""
    hosts = {name: Host(name, (), each) for name, each in data.items()}
    resolved = {name: settings(**each) for name, each in data.items()}
    found = sites(hosts.values(), resolved, asked.split())
    assert all(isinstance(each, Site) for each in found)
    return {each.mirror.name: [host.name for host in each.hosts] for each in found}


def test_one_box_alone_is_mirror_and_host() -> None:
    assert found("a", a=SERVING) == {"a": ["a"]}


def test_hosts_without_a_mirror_are_left_out() -> None:
    assert found("a b c", a=SERVING, b=TAKING, c={}) == {"a": ["a", "b"]}


def test_the_mirror_need_not_be_asked_for() -> None:
    assert found("b", a=SERVING, b=TAKING) == {"a": ["b"]}


def test_two_mirrors_each_with_its_own() -> None:
    other = {"mirror_address": "mirror.lan"}
    both = found("a b c d", a=SERVING, b=TAKING, c={**other, "mirror_serve": True}, d=other)
    assert both == {"a": ["a", "b"], "c": ["c", "d"]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"a": {}, "b": {}}, "no host here has a mirror", id="none"),
        pytest.param({"a": {}, "b": TAKING}, "b: mirror_address 192.0.2.1: no host", id="not here"),
        pytest.param({"a": SERVING, "b": SERVING}, "a and b both have mirror_serve", id="two"),
    ],
)
def test_what_cannot_be_is_one_line(data: dict[str, Any], told: str) -> None:
    with pytest.raises(BundleError, match=told):
        found("a b", **data)
