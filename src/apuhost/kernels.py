"""What a kernel version makes of the parameters: a table with its sources.

The rows were read from the distributions' own kernels (modinfo texts of Ubuntu 6.8.0-151,
6.14.0-37, 6.17.0-42, 7.0.0-44, Debian 6.12.117 and 7.2.13); versions between two rows follow the
older one.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

from apuhost.errors import ApuhostError

RINGS = ("GFX", "Compute", "SDMA", "Video")

_MILLISECONDS = re.compile(r"0|-?[1-9][0-9]{0,8}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_OCTAL = re.compile(r"0[0-7]{1,22}")
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]{1,16}")


class LockupTimeoutError(ApuhostError):
    """The driver would refuse this amdgpu.lockup_timeout and leave the host without a GPU."""


@dataclass(frozen=True)
class RingTimeouts:
    """Milliseconds until each ring's job counts as hung; negative means never."""

    gfx: int
    compute: int
    sdma: int
    video: int

    def values(self) -> tuple[int, int, int, int]:
        """In the order of amdgpu.lockup_timeout's list form."""
        return (self.gfx, self.compute, self.sdma, self.video)

    def __str__(self) -> str:
        rings: dict[int, list[str]] = {}
        for ring, ms in zip(RINGS, self.values(), strict=True):
            rings.setdefault(ms, []).append(ring)
        if len(rings) == 1:
            return f"{self.gfx} ms for every ring"
        return ", ".join(f"{'/'.join(names)} {ms} ms" for ms, names in rings.items())


@dataclass(frozen=True)
class LockupBehaviour:
    """How kernels from `since` on read amdgpu.lockup_timeout."""

    since: tuple[int, int]
    default: RingTimeouts
    one_value_covers_compute: bool
    source: str


LOCKUP_BEHAVIOURS = (
    LockupBehaviour(
        since=(0, 0),
        default=RingTimeouts(10000, 60000, 10000, 10000),
        one_value_covers_compute=False,
        source="modinfo amdgpu of 6.8.0-151, 6.12.117, 6.14.0-37",
    ),
    LockupBehaviour(
        since=(6, 17),
        default=RingTimeouts(10000, 10000, 10000, 10000),
        one_value_covers_compute=False,
        source="modinfo amdgpu of 6.17.0-42",
    ),
    LockupBehaviour(
        since=(7, 0),
        default=RingTimeouts(2000, 2000, 2000, 2000),
        one_value_covers_compute=True,
        source="modinfo amdgpu of 7.0.0-44 and 7.2.13",
    ),
)


def version(release: str) -> tuple[int, int]:
    """Major and minor of `uname -r`; (0, 0) for text that names none."""
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def lockup_behaviour(release: str) -> LockupBehaviour:
    """The row for a kernel release."""
    return [row for row in LOCKUP_BEHAVIOURS if row.since <= version(release)][-1]


def ring_timeouts(text: str | None, release: str) -> RingTimeouts:
    """What each ring gets from amdgpu.lockup_timeout=`text` on this kernel (None: not set).

    Raises:
        LockupTimeoutError: not one to four whole numbers (the driver then fails to start).
    """
    behaviour = lockup_behaviour(release)
    default = behaviour.default.values()
    typed = [] if text in (None, "") else _numbers(str(text))
    if len(typed) == 1:
        compute = typed[0] if behaviour.one_value_covers_compute else 0
        typed = [typed[0], compute, typed[0], typed[0]]
    typed += [0] * (len(default) - len(typed))
    # 0 keeps that ring's default (amdgpu_device_get_job_timeout_settings).
    return RingTimeouts(*(ms or kept for ms, kept in zip(typed, default, strict=True)))


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    # No leading zero: the driver reads the number with base 0, where that means octal.
    if len(parts) > len(RINGS) or not all(_MILLISECONDS.fullmatch(part) for part in parts):
        raise LockupTimeoutError(
            f'amdgpu.lockup_timeout "{text}": one number of ms, or four (GFX,Compute,SDMA,Video)'
        )
    return [int(part) for part in parts]


def same_meaning(key: str, wanted: str | None, found: str | None, release: str) -> bool:
    """Whether this kernel makes the same of both values of a parameter (None: a bare key)."""
    if found == wanted:
        return True
    if wanted is None or found is None:
        return False
    match key:
        case "ttm.pages_limit":
            return _number(found) == _number(wanted)
        case "amdgpu.lockup_timeout":
            return _same_timeouts(wanted, found, release)
        case "amd_iommu":
            # Its options are read one by one; off among them is enough (amd_iommu_setup).
            return wanted in found.split(",")
        case _:
            return False


def _number(text: str) -> int | None:
    """What kstrtoul makes of it with base 0; None where it refuses."""
    for form, base in ((_DECIMAL, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if form.fullmatch(text):
            return int(text, base)
    return None


def _same_timeouts(wanted: str, found: str, release: str) -> bool:
    with suppress(LockupTimeoutError):
        return ring_timeouts(wanted, release) == ring_timeouts(found, release)
    return False
