"""`apuhost doctor`: can this controller and these hosts be worked with?"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from apuhost import inventory
from apuhost.commands import terminal
from apuhost.derived import derive
from apuhost.gather import Unreachable, gather
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.inventory import Host
from apuhost.report import wrapped
from apuhost.settings import Settings
from apuhost.verdicts.host import header
from apuhost.verdicts.refusals import by_topic

PROGRAMS = {"ssh": "openssh-client"}
SUDO_NOTE = (
    "_sudo_password is set: pyinfra puts it on the host's process list for a moment, where its "
    "local users can read it (docs/security.md); NOPASSWD avoids that"
)


def run(path: Path, limits: Sequence[str]) -> int:
    """Print a line per question; 1 when a host cannot be provisioned, 2 when one is not reached."""
    hosts = inventory.load(path, limits)
    settings = inventory.settings(path, hosts)
    statuses = [_controller()]
    facts = gather(hosts)
    for host in hosts:
        print(f"\n{host.name}")
        statuses.append(_host(host, settings[host.name], facts[host.name]))
    return 1 if 1 in statuses else max(statuses)


def _controller() -> int:
    print("this controller")
    missing = {name: package for name, package in PROGRAMS.items() if not shutil.which(name)}
    for name, package in missing.items():
        _line("FAIL", name, f"not found: apt-get install {package}")
    if not missing:
        _line("ok", "programs", ", ".join(PROGRAMS))
    return 1 if missing else 0


def _host(host: Host, settings: Settings, facts: HostFacts | Unreachable) -> int:
    if isinstance(facts, Unreachable):
        _line("FAIL", "reached", str(facts))
        return 2
    _line("ok", "reached", "login, host key and root are good")
    if host.data.get("_sudo_password"):
        _line("warn", "sudo", SUDO_NOTE)
    _line("ok", "is", header(settings, facts))
    try:
        topics = by_topic(settings, derive(settings, facts), facts)
    except Unreadable as error:
        topics = {"facts": (str(error),)}
    for topic, reasons in topics.items():
        for why in reasons:
            _line("FAIL", topic, why)
        if not reasons:
            _line("ok", topic, "")
    return 1 if any(topics.values()) else 0


def _line(word: str, topic: str, sentence: str) -> None:
    head = f"  {word:5} {topic:16} "
    for line in wrapped(head, sentence, terminal.width(), " " * len(head)):
        print(line.rstrip())
