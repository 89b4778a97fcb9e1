"""Settings: one frozen model per role, filled from the role's defaults and the host's data.

The defaults stand in roles/*/defaults/main.yml, what a variable may be in words in
meta/argument_specs.yml; here are the types and ranges.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from apuhost import kernels, roles, sizing
from apuhost.probes import cmdline

Model = TypeVar("Model", bound=BaseModel)

MAX_TIMEOUT_MS = 3_600_000
SHOWN_LENGTH = 60

IOMMU_KEYS = ("amd_iommu", "iommu", "iommu.passthrough")
GTT_KEY = "ttm.pages_limit"
LOCKUP_KEY = "amdgpu.lockup_timeout"
MANAGED = frozenset({*IOMMU_KEYS, GTT_KEY, LOCKUP_KEY})
"""Keys that kernel_* settings speak for; kernel_extra_args may not repeat them."""

# pyinfra's own keys (ConnectorData of its ssh connector and its global arguments): an offline test
# compares them with the installed pyinfra, which is too slow to import here.
PYINFRA_KEYS = tuple(
    """
    ssh_hostname ssh_port ssh_user ssh_password ssh_key ssh_key_password ssh_allow_agent
    ssh_look_for_keys ssh_forward_agent ssh_config_file ssh_known_hosts_file
    ssh_strict_host_key_checking ssh_paramiko_connect_kwargs ssh_connect_retries
    ssh_connect_retry_min_delay ssh_connect_retry_max_delay ssh_file_transfer_protocol
    _sudo _sudo_user _use_sudo_login _sudo_password _preserve_sudo_env _su_user _use_su_login
    _preserve_su_env _su_shell _su_password _doas _doas_user _dzdo _dzdo_user _shell_executable
    _chdir _env _success_exit_codes _timeout _get_pty _stdin _temp_dir _ignore_errors
    _continue_on_error _if _parallel _run_once _serial _retries _retry_delay _retry_until
    """.split()  # noqa: SIM905  (a list of names, not of strings)
)

# A parameter travels through a double-quoted shell string and a line split at blanks.
# It begins with a letter: the kernel hands what follows a lone "--" to init.
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*(=[A-Za-z0-9_.,:@%+/=\-]*)?")

BOOT_CRITICAL = frozenset({"root", "ro", "rw", "init", "rdinit", "initrd", "BOOT_IMAGE"})
"""Keys that decide whether the host boots at all: nobody sets or removes them through apuhost."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class KernelSettings(_Model):
    """The kernel role: GRUB's kernel parameters."""

    kernel_gtt_gib: Literal["auto"] | Annotated[int, Field(ge=1, le=2048)]
    kernel_amd_iommu: Literal["off", "pt", "default"]
    kernel_lockup_timeout_ms: int | str
    kernel_extra_args: list[str]
    kernel_remove_args: list[str]

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
        return value

    @field_validator("kernel_extra_args")
    @classmethod
    def _parameters(cls, values: list[str]) -> list[str]:
        for value in values:
            if not _PARAMETER.fullmatch(value):
                raise ValueError(f"{value!r} is not a kernel parameter")
            if cmdline.canonical(value.partition("=")[0]) in MANAGED | BOOT_CRITICAL:
                raise ValueError(f"{value!r} is not for kernel_extra_args")
        keys = [cmdline.canonical(value.partition("=")[0]) for value in values]
        if len(keys) != len(set(keys)):
            raise ValueError("a key stands twice: of a key, the kernel line shows the last value")
        return values

    @field_validator("kernel_remove_args")
    @classmethod
    def _keys(cls, values: list[str]) -> list[str]:
        for value in values:
            if "=" in value or not _PARAMETER.fullmatch(value):
                raise ValueError(f"{value!r} is not the key of a kernel parameter")
            if cmdline.canonical(value) in MANAGED | BOOT_CRITICAL:
                raise ValueError(f"{value!r} is not for kernel_remove_args")
        return values


class Simulated(_Model):
    """Hardware that a rehearsal VM stands in for. Honoured on virtual machines only."""

    memory_gib: Annotated[float, Field(gt=0, le=4096)]
    gpu: Annotated[str, Field(pattern=r"^1002:[0-9a-f]{4}$")]

    @property
    def memory_kib(self) -> int:
        """MemTotal in KiB."""
        return int(self.memory_gib * sizing.KIB_PER_GIB)


class HostSettings(_Model):
    """What is said of a host itself, not of a role."""

    host_simulated: Simulated | None = None
    host_reboot_timeout_s: Annotated[int, Field(ge=10, le=7200)] = 600


HOST_DESCRIPTIONS = {
    "host_reboot_timeout_s": "seconds that a reboot may take until it is called lost, 10 to 7200",
    "host_simulated": 'None, or {"memory_gib": 61, "gpu": "1002:1900"} on a virtual machine',
}


@dataclass(frozen=True)
class Settings:
    """All settings of one host."""

    kernel: KernelSettings
    host: HostSettings


@dataclass(frozen=True)
class Problem:
    """One setting that cannot be right: `sentence` says what it is and what is allowed."""

    host: str
    key: str
    sentence: str


def resolve(host: str, data: Mapping[str, Any]) -> tuple[Settings | None, tuple[Problem, ...]]:
    """Settings of one host from its merged data, or every problem that stands in the way."""
    kernel, kernel_problems = _fill(
        host,
        KernelSettings,
        roles.defaults("kernel") | _of(KernelSettings, data),
        roles.descriptions("kernel"),
    )
    own, own_problems = _fill(host, HostSettings, _of(HostSettings, data), HOST_DESCRIPTIONS)
    problems = (*unknown(host, data), *kernel_problems, *own_problems)
    if problems or kernel is None or own is None:
        return None, problems
    return Settings(kernel, own), ()


def variables() -> tuple[str, ...]:
    """Every variable that an inventory may set for apuhost."""
    return (*KernelSettings.model_fields, *HostSettings.model_fields)


def unknown(host: str, data: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Keys that are neither a setting nor pyinfra's own, each with the nearest right one."""
    known = (*variables(), *PYINFRA_KEYS)
    return tuple(
        Problem(host, key, f"{key} is not a setting{_nearest(key, known)}")
        for key in data
        if key not in known
    )


def _nearest(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1, cutoff=0.6)
    return f" ({close[0]}?)" if close else ""


def _of(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key in model.model_fields}


def _fill(
    host: str, model: type[Model], values: Mapping[str, Any], allowed: Mapping[str, str]
) -> tuple[Model | None, tuple[Problem, ...]]:
    try:
        return model.model_validate(values), ()
    except ValidationError as error:
        # Of a union every member complains: one sentence a key.
        wrong = {str(detail["loc"][0]): detail for detail in reversed(error.errors())}
        return None, tuple(
            Problem(host, key, f"{key} is {_shown(values.get(key))}: {allowed[key]}{_why(detail)}")
            for key, detail in reversed(wrong.items())
        )


def _why(detail: ErrorDetails) -> str:
    """What our own validators say, in brackets; pydantic's words say no more than `allowed`."""
    if detail["type"] != "value_error":
        return ""
    return f" ({detail['msg'].removeprefix('Value error, ')})"


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        return "not a plain value"
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
