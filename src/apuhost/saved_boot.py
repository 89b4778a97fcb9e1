"""What a host saved of a boot: the output of the round trip's script, behind a line of its own.

The program of the boot role writes it (roles/boot), zcat shows it. Where the host judges itself,
its settings are in it, since they are a file of ours that a probe reads.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import ParseError
from apuhost.probes.json_values import load_object, member
from apuhost.round_trip import unframe

MARK = "==apuhost-mark=="
"""Stands in the script on a host; each run puts a mark of its own there."""

SETTINGS = "/etc/apuhost/boot/settings.json"

_HEAD = re.compile(
    r"apuhost-boot (?P<mark>==apuhost-[0-9a-f]{16}==) [0-9a-f-]{36} (?P<at>[0-9]{1,11})"
)


def read(text: str, host: str) -> HostFacts:
    """The facts in it, of this host as of the time at which they were saved.

    Raises:
        Unreadable: it is not whole, or nothing that a host saved.
    """
    head, _, body = text.partition("\n")
    found = _HEAD.fullmatch(head)
    if found is None or not body.endswith(f"\n{found['mark']} whole\n"):
        raise Unreadable("a boot's facts are not whole")
    gathered = datetime.fromtimestamp(int(found["at"]), UTC).isoformat(timespec="seconds")
    return HostFacts(host, gathered, unframe(found["mark"], body))


def settings_in(facts: HostFacts) -> tuple[str, Mapping[str, Any]]:
    """The host's name and settings as the last deploy left them for the host itself.

    Raises:
        Unreadable: there are none, or somebody else's.
    """
    text = facts.units.text(SETTINGS)
    if text is None:
        said = "no settings in it, which only boot_checkout saves: verify INVENTORY judges it"
        raise Unreadable(said)
    try:
        told = load_object(text)
        host, settings = member(told, "host", ""), member(told, "settings", dict[str, Any]())
    except ParseError as error:
        raise Unreadable(f"{SETTINGS}: {error}") from error
    if not host:
        raise Unreadable(f"{SETTINGS} names no host")
    return host, settings
