"""Facts that may be shown around: names, addresses and numbers of a site made others.

What was found stays to be judged: the same name has the same mask in every text and setting of a
run, sizes in frames and answers are counted again, and a digest of a text that has changed is that
of the new one. The key is made for one run and kept nowhere.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes import boots
from apuhost.redaction import identifiers, names
from apuhost.redaction.digests import digests, with_digests
from apuhost.redaction.texts import reading_with
from apuhost.round_trip import Reading
from apuhost.settings import variables

Mask = Callable[[str], str]
Read = tuple[Host, HostFacts]

# Their texts have versions of four numbers, and no address.
_WITHOUT_ADDRESSES = {
    "dmi_memory",
    "dpkg_status",
    "gpu_firmware",
    "kernel",
    "os_release",
    "packages",
    "vulkaninfo",
}
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_USERS = ("docker_users", "vulkan_users")
_ROUNDS = 4
"""A manifest names digests, and is named by its own."""


def redacted(read: Iterable[Read], key: bytes) -> tuple[Read, ...]:
    """Return hosts and facts with masks in them, in the same order.

    Args:
        read: the hosts of one run, each with what was read of it.
        key: random, for this run only.
    """
    hosts = tuple(read)
    turn = identifiers.turning(key)
    masked = names.masks(_host_names(hosts), _users(hosts), _texts(hosts)).masked

    def without_names(text: str) -> str:
        return masked(identifiers.without_identifiers(text, turn))

    def without_all(text: str) -> str:
        return identifiers.without_addresses(without_names(text), turn)

    return tuple(_redacted(each, without_names, without_all) for each in hosts)


def _host_names(hosts: Iterable[Read]) -> Iterator[str]:
    for host, facts in hosts:
        yield host.name.rpartition("/")[2].removeprefix("@")
        address = host.data.get("ssh_hostname")
        if isinstance(address, str) and not _ADDRESS.fullmatch(address):
            yield address
        if machine := facts.readings.get("machine"):
            yield from names.hosts_in(machine.text)


def _users(hosts: Iterable[Read]) -> Iterator[str]:
    for host, facts in hosts:
        for reading in facts.readings.values():
            yield from names.users_in(reading.text)
        for setting in _USERS:
            yield from _strings(host.data.get(setting))


def _texts(hosts: Iterable[Read]) -> Iterator[str]:
    for host, facts in hosts:
        yield from (reading.text for reading in facts.readings.values())
        for setting in variables():
            # In the form in which files have them, since names are looked for in that.
            yield from (f'{setting}="{text}"' for text in _strings(host.data.get(setting)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)


def _redacted(read: Read, without_names: Mask, without_all: Mask) -> Read:
    host, facts = read
    asked = {key: host.data[key] for key in variables() if key in host.data}
    data = _value(asked, without_all)
    texts = {
        name: reading_with(
            reading.text, without_names if name in _WITHOUT_ADDRESSES else without_all
        )
        for name, reading in _readings(facts).items()
    }
    changed = _with(read, without_all(host.name), data, texts)
    known: Mapping[str, str] = {}
    for _ in range(_ROUNDS):
        found = digests(read, changed)
        if found == known:
            break
        known, named = found, partial(with_digests, changed=found)
        again = {name: named(text) for name, text in texts.items()}
        changed = _with(changed, changed[0].name, _value(data, named), again)
    return changed


def _readings(facts: HostFacts) -> dict[str, Reading]:
    """Every reading, but no earlier boot's: those are compressed, and would need masks, too."""
    return {
        name: Reading(boots.without_saved(reading.text), reading.status)
        if name == "boots"
        else reading
        for name, reading in facts.readings.items()
    }


def _with(read: Read, name: str, data: Mapping[str, Any], texts: Mapping[str, str]) -> Read:
    host, facts = read
    readings = {each: Reading(text, facts.readings[each].status) for each, text in texts.items()}
    return Host(name, host.groups, data), HostFacts(name, facts.gathered, readings)


def _value(value: Any, mask: Mask) -> Any:  # noqa: ANN401  (a setting's: text, numbers, lists)
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _value(each, mask) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_value(each, mask) for each in value]
    return value
