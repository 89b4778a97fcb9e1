"""Verdicts on a host that was cut off and rebooted: does it do without anybody outside?"""

from collections.abc import Callable, Iterator, Sequence

from apuhost.changes.cut import Passage
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.containers import Container
from apuhost.probes.outbound import Attempt
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.container import LOGS
from apuhost.verdicts.several import several

STARTING = "starting"
MINUTE_S = 60
_PAST_US = ("macvlan", "ipvlan")
_SHOWN = 6
_ASKED = "apuhost bundle accept INVENTORY"
_WAY_OUT = (
    "stop what asks, or let the site's own through: apuhost bundle accept INVENTORY --allow {}"
)


def obstacles(settings: Settings, facts: HostFacts, passage: Passage) -> Iterator[str]:
    """Why a host cannot be cut off: each with what to do.

    Raises:
        Unreadable: it could not be read.
    """
    address, found = settings.mirror.mirror_address, facts.outbound
    if "mirror" not in settings.applied:
        yield "it has no mirror: set mirror_address"
    elif not passage.mirror:
        yield (
            f"{address} is known by DNS alone, which would be cut off, too: write its address into "
            "/etc/hosts there"
        )
    for tool in found.needed:
        if tool not in found.tools:
            yield f"there is no {tool}-restore: apt-get install iptables"
    past = sorted({each.driver for each in found.networks if each.containers} & set(_PAST_US))
    if past:
        yield f"containers are in a Docker network of {', '.join(past)}, past the host's own rules"


def verdicts(before: HostFacts, after: HostFacts, apt: str) -> tuple[Verdict, ...]:
    """Everything that is said of a cut, a reboot and what came up then.

    Args:
        before: as read before the reboot.
        after: as read at the end, before the cut was lifted.
        apt: what apt said when it could not do its part, else "".
    """
    return (
        _judged("cut", "cut off since it booted, but for answers and the mirror", Layer.LIVE,
                lambda: _cut(before, after)),
        _judged("containers", "every container that ran before runs, and is healthy",
                Layer.EFFECTIVE, lambda: _containers(before, after)),
        _judged("apt", "apt reads the mirror's packages, and would install ours",
                Layer.EFFECTIVE, lambda: _apt(apt)),
        _judged("outbound", "nothing tries to get out", Layer.EFFECTIVE, lambda: _outbound(after)),
    )  # fmt: skip


def settled(facts: HostFacts) -> bool:
    """Whether the boot is over, and no container still starts."""
    try:
        running = [each for each in facts.containers.containers if each.running]
        booted = facts.outbound.system not in ("", "initializing", STARTING)
    except Unreadable:
        return False
    return booted and not any(each.health == STARTING for each in running)


def _judged(name: str, expected: str, layer: Layer, look: Callable[[], Found]) -> Verdict:
    return judge(Question(f"accept.{name}", expected), ((layer, look),))


def _cut(before: HostFacts, after: HostFacts) -> Found:
    found = after.outbound
    if before.boot.boot_id == after.boot.boot_id:
        return Found(False, "it did not reboot", f"boot id: {after.boot.boot_id}", _ASKED)
    for tool in found.uncut:
        said = f"{tool} -t mangle -S POSTROUTING: first {found.first.get(tool) or 'no rule'}"
        return Found(False, "the way out was open", said, "journalctl -b -u apuhost-cut.service")
    if found.unit != "active":
        said = f"systemctl is-active apuhost-cut.service: {found.unit or 'no answer'}"
        return Found(False, "nobody wrote down who tried", said, _ASKED)
    return Found(True, f"cut off for {(after.boot.uptime_s or 0) // MINUTE_S} min")


def _containers(before: HostFacts, after: HostFacts) -> Found:
    ran = [each.name for each in before.containers.containers if each.running]
    if not ran:
        return Found(None, "no container ran before")
    return several(ran, lambda name: _healthy(after.containers.named(name), name))


def _healthy(now: Container | None, name: str) -> Found:
    if now is None:
        return Found(
            False,
            "is gone",
            f"docker inspect {name}: no such container",
            f"docker ps -a --filter name={name}",
        )
    state = (now.health if now.running else None) or now.status
    said = f"docker inspect {name}: {state}"
    good = now.running and now.health in (None, "healthy")
    return Found(good, "runs" if good else state, said, f"{LOGS} {name}")


def _apt(said: str) -> Found:
    if said:
        return Found(
            False, "apt cannot do without the outside", said, "apuhost verify INVENTORY -v"
        )
    return Found(True, "it would")


def _outbound(after: HostFacts) -> Found:
    found = after.outbound
    tried = [_told(each, after.containers.containers) for each in found.attempts]
    packets = sum(found.stopped.values())
    if tried:
        shown = "; ".join(dict.fromkeys(tried[:_SHOWN]))
        more = f"; and {len(tried) - _SHOWN} more" if len(tried) > _SHOWN else ""
        said = f"the kernel's log of {packets} packets: {shown}{more}"
        return Found(False, tried[0], said, _WAY_OUT.format(found.attempts[0].destination))
    if packets:
        said = f"iptables -t mangle -S -v: {packets} packets dropped"
        return Found(False, "something did, and no log tells what", said, "journalctl -kb")
    return Found(True, "nothing did")


def _told(attempt: Attempt, containers: Sequence[Container]) -> str:
    port = f" port {attempt.port}" if attempt.port is not None else ""
    where = f"{attempt.destination}{port} ({attempt.protocol})"
    return f"{where} by {_by(attempt, containers)}"


def _by(attempt: Attempt, containers: Sequence[Container]) -> str:
    """Of whom: a container by its address or its control group, a process, or a user."""
    for each in containers:
        if attempt.source in each.addresses or (each.id and each.id in attempt.cgroup):
            return f"container {each.name}"
    unit = attempt.cgroup.rpartition("/")[2]
    if attempt.process:
        return f"{attempt.process} ({unit})" if unit else attempt.process
    if attempt.user is not None:
        return f"a process of user {attempt.user}"
    return f"{attempt.source}: nobody knows who"
