"""One boot in the kernel log: where the next one begins, and what its messages tell."""

import re
from dataclasses import dataclass, field

from apuhost.probes.kernel_lines import KernelLine
from apuhost.probes.logged_gpus import LoggedGpus, gets_memory_again, read_gpu_message
from apuhost.probes.logged_iommu import LoggedIommu, read_iommu_message

_MOST_UNKNOWN = 256
_WRAPPED = " \\"  # Linux 6.19 breaks a long line, and prints other messages between its parts


@dataclass
class Boot:
    """What was read of one boot so far.

    `copies`: prefix and text of the parameter line, by its two headings. `unknown`: parameters
    that nobody takes, in their order. `latest_s`: the kernel's time of its latest message.
    """

    gpus: LoggedGpus = field(default_factory=LoggedGpus)
    iommu: LoggedIommu = field(default_factory=LoggedIommu)
    copies: dict[str, tuple[str, str]] = field(default_factory=dict)
    cmdline: str | None = None
    unknown: dict[str, None] = field(default_factory=dict)
    latest_s: float = 0.0


_OWNER = re.compile(
    r"(?P<driver>[A-Za-z][\w-]{0,40}) (?P<pci>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):\s*"
)
_UNNAMED = re.compile(r"amdgpu:|\[drm[\]:]|\[\w{0,9}hub")
_NEW = re.compile(r"Linux version [0-9]|-- (?:Boot [0-9a-f]+|Reboot) --")
_COPY = re.compile(r"(?P<heading>Kernel c|C)ommand line: ?(?P<line>.*)")
_OF_PARAMETERS = re.compile(r"ommand line|unknown parameter")
_UNKNOWN = re.compile(r'Unknown (?:kernel )?command line parameters:?\s*(?P<quote>"?)(?P<rest>.*)')
_UNKNOWN_END = re.compile(r'",\s*will\s*be\s*passed')
_UNKNOWN_OF_MODULE = re.compile(r"([\w-]{1,60}): unknown parameter '([^']{1,200})' ignored")
TELLING = re.compile(
    r"amdgpu|\[drm|hub\w*\]|iommu|IOMMU|AMD-Vi|DMAR|ommand line|Unknown kernel|Linux version"
    r"|unknown parameter|\] type |Freeing unused|^-- |apuhost: "
)
"""What the beginning of each message has that tells something."""


def boot_after(boot: Boot, line: KernelLine) -> Boot:
    """The boot that a message belongs to, with what it tells: this one, or a new one."""
    owner = _OWNER.match(line.text)
    pci = owner["pci"] if owner else None
    ours = owner["driver"] == "amdgpu" if owner else _UNNAMED.match(line.text) is not None
    text = line.text[owner.end() :] if owner else line.text
    if (
        _NEW.match(line.text)
        or _is_other_copy(boot, line)
        or (ours and _again(boot, line, pci, text))
    ):
        boot = Boot()
    boot.latest_s = max(boot.latest_s, line.uptime_s or 0.0)
    _read_parameters(boot, line)
    read_iommu_message(boot.iommu, pci, line.text)
    if ours:
        read_gpu_message(boot.gpus, pci, text)
    return boot


def _is_other_copy(boot: Boot, line: KernelLine) -> bool:
    """Whether it is the parameter line under the same heading again, at another time or changed.

    The same line twice is a log that was put together from two searches.
    """
    found = _COPY.match(line.text)
    before = boot.copies.get(found["heading"]) if found else None
    if found is None or before is None or before[1].endswith(_WRAPPED):
        return False
    return before != (line.prefix, found["line"])


def _again(boot: Boot, line: KernelLine, pci: str | None, text: str) -> bool:
    """Whether a GPU gets its memory again, and earlier than a message that stands before."""
    at = line.uptime_s
    return at is not None and at < boot.latest_s and gets_memory_again(boot.gpus, pci, text)


def _read_parameters(boot: Boot, line: KernelLine) -> None:
    if not _OF_PARAMETERS.search(line.text):
        return
    if copy := _COPY.match(line.text):
        _read_copy(boot, line.prefix, copy["heading"], copy["line"])
    elif unknown := _UNKNOWN.match(line.text):
        _add_unknown(boot, _unknown_words(unknown["quote"], unknown["rest"]))
    elif of_module := _UNKNOWN_OF_MODULE.match(line.text):
        _add_unknown(boot, [f"{of_module[1]}.{of_module[2]}"])


def _read_copy(boot: Boot, prefix: str, heading: str, copy: str) -> None:
    """The last copy counts, unless it is the beginning of the one before: then it is cut."""
    before = boot.copies.get(heading, ("", ""))[1]
    if before.endswith(_WRAPPED):
        copy = before.removesuffix(_WRAPPED) + " " + copy
    boot.copies[heading] = (prefix, copy)
    line = copy.removesuffix(_WRAPPED).strip()
    if boot.cmdline is None or not boot.cmdline.startswith(line):
        boot.cmdline = line


def _unknown_words(quote: str, rest: str) -> list[str]:
    """The words of the list, less one that the end of the text has cut."""
    if not quote:
        return rest.split()
    end = _UNKNOWN_END.search(rest)
    return rest[: end.start()].split() if end else rest.split()[:-1]


def _add_unknown(boot: Boot, words: list[str]) -> None:
    for word in words:
        if len(boot.unknown) < _MOST_UNKNOWN:
            boot.unknown[word] = None
