"""One kernel parameter, looked at in the files, the boot menu, the running line and /sys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apuhost.changes.kernel import GRUB_CFG
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.kernels import same_meaning
from apuhost.probes import cmdline, grub, grub_cfg
from apuhost.probes.cmdline import Cmdline
from apuhost.verdicts import Found, Layer, Look

NOWHERE = "no file under /etc/default sets it"
DEPLOY = "apuhost deploy INVENTORY"
DOCTOR = "apuhost doctor INVENTORY"
OVERRULE = "overrule that file with one of the same name in /etc/modprobe.d"
REBOOT = "reboot (the new line is in place), or apuhost deploy INVENTORY"


@dataclass(frozen=True)
class Parameter:
    """A key and what it should be; `wanted` is None where it should not be set, "" for a flag.

    `say` turns a value into words with a unit, for the report.
    """

    key: str
    wanted: str | None
    release: str
    say: Callable[[str], str] = str

    def holds(self, line: Cmdline) -> bool:
        """Whether this line gives the parameter its wanted meaning."""
        if self.wanted is None:
            return self.key not in line
        found = line.effective(self.key)
        if not self.wanted:
            return self.key in line and not found
        return self.key in line and same_meaning(self.key, self.wanted, found, self.release)

    def seen(self, line: Cmdline) -> str:
        """What this line has for it, as written."""
        if self.key not in line:
            return f"no {self.key}"
        value = line.effective(self.key)
        return self.key if value is None else f"{self.key}={value}"

    def worded(self, line: Cmdline) -> str:
        """What this line means for it, in words."""
        if self.key not in line:
            return f"{self.key} is not set"
        value = line.effective(self.key)
        return f"{self.key} is set" if value is None else self.say(value)


def configured(parameter: Parameter, facts: HostFacts) -> Found:
    """The GRUB files (unless only a shell could tell), then every normal entry of grub.cfg."""
    files = grub.configured(facts.grub.files)
    line = cmdline.read(f"{files.linux} {files.linux_default}")
    if not files.undetermined and not parameter.holds(line):
        where = grub.sources(facts.grub.files, parameter.key)
        seen = f"{', '.join(where)}: {parameter.seen(line)}" if where else NOWHERE
        return Found(False, parameter.worded(line), seen, DEPLOY)
    for option in facts.modprobe.options if parameter.wanted is None else ():
        if f"{option.module}.{option.parameter}" == parameter.key:
            seen = f"{option.path} has options {option.module} {option.parameter}={option.value}"
            fix = DEPLOY if option.path.startswith("/etc/") else OVERRULE
            return Found(False, parameter.say(option.value or ""), seen, fix)
    return _menu(parameter, facts.grub_cfg)


def _menu(parameter: Parameter, menu: grub_cfg.GrubCfg) -> Found:
    entries = menu.normal_entries
    if not entries:
        raise Unreadable(f"{GRUB_CFG} has no Linux entry")
    for entry in entries:
        line = cmdline.read(entry.arguments)
        if not parameter.holds(line):
            return Found(
                False,
                parameter.worded(line),
                f'{GRUB_CFG}, "{entry.title}" has {parameter.seen(line)}',
                DEPLOY,
            )
    return Found(True, parameter.worded(cmdline.read(entries[0].arguments)))


def booted(parameter: Parameter, facts: HostFacts) -> Found:
    """The running kernel line."""
    line = facts.cmdline
    if parameter.holds(line):
        return Found(True, parameter.worded(line))
    return Found(False, parameter.worded(line), f"/proc/cmdline has {parameter.seen(line)}", REBOOT)


def live(parameter: Parameter, facts: HostFacts) -> Found:
    """The loaded module's own value: what somebody wrote to /sys, or modprobe gave it."""
    path = f"/sys/module/{parameter.key.replace('.', '/parameters/')}"
    value = facts.modules.live.get(parameter.key)
    if value is None:
        raise Unreadable(f"{path} is not there: the module is not loaded")
    if parameter.wanted is None or same_meaning(
        parameter.key, parameter.wanted, value, parameter.release
    ):
        return Found(True, parameter.say(value))
    return Found(False, parameter.say(value), f"{path} has {value or 'nothing'}", "reboot")


def by_depth(layers: Iterable[Look]) -> list[Look]:
    """Looks in the order in which their layers take effect."""
    return sorted(layers, key=lambda look: list(Layer).index(look[0]))


def looks(parameter: Parameter, facts: HostFacts) -> tuple[Look, ...]:
    """Configured and booted: the two layers that every kernel parameter has."""
    return (
        (Layer.CONFIGURED, lambda: configured(parameter, facts)),
        (Layer.BOOTED, lambda: booted(parameter, facts)),
    )


def release_of(facts: HostFacts) -> str:
    """`uname -r`; where it cannot be read, the kernel table's oldest row judges."""
    try:
        return facts.kernel.running
    except Unreadable:
        return ""  # kernel.modules says unknown then
