"""What the kernel role may be told."""

import math
import re
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from apuhost import hazards, kernels, sizing
from apuhost.probes import cmdline
from apuhost.settings.model import Model, each_once, refuse

MAX_TIMEOUT_MS = 3_600_000
IOMMU_KEYS = ("amd_iommu", "iommu", "iommu.passthrough")
GTT_KEY = "ttm.pages_limit"
LOCKUP_KEY = "amdgpu.lockup_timeout"
MANAGED = frozenset({*IOMMU_KEYS, GTT_KEY, LOCKUP_KEY})
"""Keys that kernel_* settings speak for; kernel_extra_args may not repeat them."""

# A parameter travels through a double-quoted shell string and a line split at blanks.
# It begins with a letter: the kernel hands what follows a lone "--" to init.
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*(=[A-Za-z0-9_.,:@%+/=\-]*)?")

BOOT_CRITICAL = frozenset(
    {"root", "rootfstype", "rootflags", "ro", "rw", "init", "rdinit", "initrd", "BOOT_IMAGE"}
    | {"boot", "nfsroot"}  # initramfs-tools(7): where the root file system comes from
)
"""Keys that decide whether the host boots at all: nobody sets or removes them through apuhost."""


class KernelSettings(Model):
    """The kernel role: GRUB's kernel parameters."""

    kernel_gtt_gib: Literal["auto"] | Annotated[int, Field(ge=1, le=2048)]
    kernel_amd_iommu: Literal["off", "pt", "default"]
    kernel_lockup_timeout_ms: int | str
    kernel_remove_args: list[str]
    kernel_extra_args: list[str]

    @field_validator("kernel_lockup_timeout_ms")
    @classmethod
    def _timeouts(cls, value: int | str) -> int | str:
        try:
            rings = kernels.ring_timeouts(str(value), "7.0").values()
        except kernels.LockupTimeoutError as error:
            raise ValueError(str(error)) from error
        # Nothing at all is for the driver "not set"; two or three leave rings to its version.
        if not str(value) or str(value).count(",") not in (0, len(rings) - 1):
            raise ValueError("one number, or four")
        if not all(-1 <= ms <= MAX_TIMEOUT_MS for ms in rings):
            raise ValueError("out of range")
        refuse([_too_short(min((ms for ms in rings if ms > 0), default=0))])
        return value

    @field_validator("kernel_extra_args")
    @classmethod
    def _parameters(cls, values: list[str], info: ValidationInfo) -> list[str]:
        refuse(map(_not_extra, values))
        removed = {cmdline.canonical(key) for key in info.data.get("kernel_remove_args", ())}
        refuse(
            f"{value!r} is to be gone by kernel_remove_args: leave it out of one of the two"
            for value in values
            if cmdline.canonical(value.partition("=")[0]) in removed
        )
        keys = Counter(cmdline.canonical(value.partition("=")[0]) for value in values)
        refuse(
            f"{key} stands twice: of a key, the kernel line shows the last value"
            for key, count in keys.items()
            if count > 1
        )
        return values

    @field_validator("kernel_remove_args")
    @classmethod
    def _keys(cls, values: list[str]) -> list[str]:
        refuse(map(_not_removed, values))
        each_once(map(cmdline.canonical, values))
        return values


def _too_short(ms: int) -> str:
    """A ring's limit under which not even the shortest batch of a prompt gets done."""
    least, tokens = sizing.SHORT_CONTEXT, sizing.automatic_batch(sizing.SHORT_CONTEXT)
    takes = math.ceil(1000 * sizing.prefill_step_s(tokens, least))
    if not 0 < ms < takes:
        return ""
    return f"{ms} ms, and a batch of {tokens} tokens at {least} takes {takes} ms (as on a 780M)"


def _not_extra(value: str) -> str:
    if not _PARAMETER.fullmatch(value):
        return f"{value!r} is not a kernel parameter"
    argument = cmdline.read(value).arguments[0]
    why = hazards.unreached(argument) or hazards.unbound(argument, ())
    return _not_ours(value, "kernel_extra_args") or (f"{value!r} {why}" if why else "")


def _not_removed(value: str) -> str:
    if "=" in value or not _PARAMETER.fullmatch(value):
        return f"{value!r} is not the key of a kernel parameter"
    return _not_ours(value, "kernel_remove_args")


def _not_ours(value: str, setting: str) -> str:
    """Why nobody sets or removes this parameter here; "" for others."""
    taken = cmdline.canonical(value.partition("=")[0]) in MANAGED | BOOT_CRITICAL
    return f"{value!r} is not for {setting}" if taken else ""
