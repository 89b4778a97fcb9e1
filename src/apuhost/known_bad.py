"""Kernels and GPU firmware that are known to hang these GPUs: a table with its sources.

A row holds where all that it names holds. What only AMD's compute stack (ROCm) meets is marked so.
"""

import re
from dataclasses import dataclass

_RELEASE = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?")
_DATE = re.compile(r"(?:^|:)(20[0-9]{6})(?![0-9])")


@dataclass(frozen=True)
class KnownBad:
    """GPUs by gfx target, kernels before a version, a MES firmware version, and its packages.

    `packages`: the first date of linux-firmware with that MES version, and the first without it
    again; None where a package does not tell.
    """

    gfx: tuple[str, ...]
    kernels_before: tuple[int, int, int] | None
    mes: int | None
    packages: tuple[str, str] | None
    rocm_only: bool
    effect: str
    fix: str
    source: str

    @property
    def firmware(self) -> str:
        """The firmware in words, for people."""
        if self.mes is None:
            return "any"
        told = f"MES 0x{self.mes:x}"
        return (
            f"{told} ({self.packages[0]} to before {self.packages[1]})" if self.packages else told
        )

    @property
    def kernels(self) -> str:
        """The kernels in words, for people."""
        before = self.kernels_before
        return "any" if before is None else f"before {'.'.join(map(str, before))}"


KNOWN_BAD = (
    KnownBad(
        gfx=("gfx1150", "gfx1151"),
        kernels_before=None,
        mes=0x83,
        packages=("20251125", "20260110"),
        rocm_only=False,
        effect="GPU hangs, memory access faults",
        fix="GPU firmware of 20251111 or of 20260110 and later, then reboot",
        source="ROCm issues 5724 and 5616",
    ),
    KnownBad(
        gfx=("gfx1152",),
        kernels_before=(6, 19, 10),
        mes=0x82,
        packages=None,
        rocm_only=False,
        effect="GPU hangs that end the session",
        fix="a kernel of 6.19.10 and later, or GPU firmware of 20260221, then reboot",
        source="ROCm issue 5844",
    ),
    KnownBad(
        gfx=("gfx1151", "gfx1152"),
        kernels_before=(6, 9, 0),
        mes=None,
        packages=None,
        rocm_only=True,
        effect="hangs when a compute job's waves are saved",
        fix="a newer kernel (6.12.117, 6.17.0-42 and 7.0.0-44 have the fix), then reboot",
        source="ROCm issue 5844, amdgpu of 6.8.0-151",
    ),
)


def known_bad(gfx: str, *, rocm: bool) -> tuple[KnownBad, ...]:
    """The rows of a GPU, by its gfx target; those of ROCm alone only with ROCm."""
    return tuple(row for row in KNOWN_BAD if gfx in row.gfx and (rocm or not row.rocm_only))


def has_kernel(row: KnownBad, release: str) -> bool:
    """Whether `uname -r` names one of a row's kernels; a release that names none does not."""
    found = _RELEASE.match(release)
    if row.kernels_before is None or found is None:
        return row.kernels_before is None
    return (int(found[1]), int(found[2]), int(found[3] or 0)) < row.kernels_before


def has_firmware(row: KnownBad, mes: int | None, package: str | None) -> bool | None:
    """Whether a GPU runs a row's firmware; None where neither MES nor package tells.

    Args:
        row: of the table.
        mes: the MES version that the driver loaded.
        package: the version of linux-firmware or firmware-amd-graphics: with a date in it.
    """
    if row.mes is None:
        return True
    if mes is not None:
        return mes == row.mes
    date = _DATE.search(package or "")
    if row.packages is None or date is None:
        return None
    return True if row.packages[0] <= date[1] < row.packages[1] else None
