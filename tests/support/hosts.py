"""A host's facts, written as the probes would print them; every part can be another."""

import re
from collections.abc import Mapping
from functools import cache

import yaml

from apuhost.changes import HostPlan, boot, compose, models, ollama
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.probes import grub
from apuhost.probes.files import TextFile
from apuhost.round_trip import Reading
from apuhost.settings import Settings, resolve
from tests.support import stack
from tests.support.stack import framed

RELEASE = "6.12.117+deb13-amd64"
GIB = 1024**3
LINE = "BOOT_IMAGE=/boot/vmlinuz-6.12.117+deb13-amd64 root=UUID=2a ro"
PARAMETERS = "amd_iommu=off ttm.pages_limit=12582912 amdgpu.lockup_timeout=10000"
DROP_IN = "/etc/default/grub.d/zz-apuhost.cfg"

GATHERED = "2026-11-29T09:14:00+00:00"
NOW = stack.NOW
UPTIME = 240
BOOTED_AT = NOW - UPTIME

DEFAULT_GRUB = 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n'

GPU_780M = (
    f"gpu pci=0000:c6:00.0 vendor=0x1002 device=0x1900 driver=amdgpu gtt={48 * GIB} vram={GIB}\n"
)

PARTS: Mapping[str, str] = {
    "machine": "hostname=minipc\nvirtualization=none\nsys_vendor=GMKtec\n",
    "os_release": (
        'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n'
    ),
    "kernel": f"running {RELEASE}\ninstalled {RELEASE} 1600000000 1600000000 amdgpu ttm\n",
    "cmdline": f"{LINE} quiet {PARAMETERS}\n",
    "meminfo": f"MemTotal:       {63 * 1024 * 1024} kB\n",
    "boot": (
        f"boot_id=2d50da51-0000-4000-8000-000000000001\nbooted_at={BOOTED_AT}\nnow={NOW}\nuptime={UPTIME}\n"
    ),
    "loader": (
        "efi=yes\ninfo=GRUB 2.12\ntool=grub-mkconfig\ntool=grub-script-check\n"
        "tool=update-initramfs\nfile=/boot/grub/grub.cfg\nfile=/etc/default/grub\n"
    ),
    "modules": (
        "loaded ttm\nloaded amdgpu\n"
        "known ttm pages_limit\nknown amdgpu lockup_timeout\nknown amdgpu gttsize\n"
        "live ttm pages_limit 12582912\nlive amdgpu lockup_timeout 10000\n"
    ),
    "gpus": GPU_780M,
    "gpu_firmware": (
        "card amdgpu dev=0000:c6:00.0 unique=0000:c6:00.0\n"
        "MES_KIQ feature version: 6, firmware version: 0x0000006c\n"
        "MES feature version: 1, firmware version: 0x00000058\n"
    ),
    "iommu": "groups=0\ntranslated=0\ndescribed=no\n",
    "cpuinfo": (
        "vendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen 7 8845HS w/ Radeon 780M Graphics\n"
        "flags\t\t: fpu vme avx512f\n\n"
    ),
    "dmi_memory": "".join(
        f"Memory Device\n\tSize: 32 GB\n\tLocator: DIMM {slot}\n\tType: DDR5\n"
        "\tSpeed: 5600 MT/s\n\tConfigured Memory Speed: 5600 MT/s\n"
        for slot in (0, 1)
    ),
    "kernel_log": (
        f"[    0.000000] Linux version {RELEASE} (debian-kernel@lists.debian.org)\n"
        f"[    0.000000] Command line: {LINE} quiet {PARAMETERS}\n"
        f'[    0.011222] Unknown kernel command line parameters "{LINE.partition(" ")[0]}", '
        "will be passed to user space.\n"
        "[    3.100100] amdgpu 0000:c6:00.0: amdgpu: VRAM: 1024M 0x0000008000000000 - "
        "0x000000803FFFFFFF (1024M used)\n"
        "[    3.100200] [drm] amdgpu: 1024M of VRAM memory ready\n"
        "[    3.100300] [drm] amdgpu: 49152M of GTT memory ready.\n"
        "[    4.000000] [drm] Initialized amdgpu 3.61.0 for 0000:c6:00.0 on minor 0\n"
    ),
    "disk": "/dev/nvme0n1p2 2000000000000 1 1000000000000 1% /\n",
    "packages": stack.packages(),
    "apt_sources": "candidate firmware-amd-graphics 20250410-2\n",
    "accounts": stack.accounts(),
    "nodes": stack.nodes(),
    "vulkaninfo": stack.vulkaninfo(stack.RADV, stack.LLVMPIPE),
    "docker": stack.docker(),
    "daemon_json": stack.daemon_json(),
    "containers": stack.containers(),
    "container_packages": stack.container_packages(),
    "compose": "",
    "ollama_api": stack.ollama_api(stack.loaded()),
    "model_store": stack.model_store(stack.QWEN),
    "runners": stack.runners(stack.command()),
    "ollama_log": stack.ollama_log(stack.COMPUTE),
    "units": stack.units({}),
    "firewall": stack.firewall(),
    "mirror": "",
    "mirror_serving": "end\n",
    "mirror_answers": "end\n",
    "boots": stack.boots(),
}
"""Every probe's text but the GRUB files', modprobe's, and the files that the roles render."""


def menu(*lines: str) -> str:
    """A grub.cfg with one normal and one recovery entry per kernel line."""
    entries = "".join(
        f"menuentry 'Debian GNU/Linux' {{\n\tlinux\t/boot/vmlinuz-{RELEASE} root=UUID=2a ro "
        f"{line}\n\tinitrd\t/boot/initrd.img\n}}\n"
        f"menuentry 'Debian GNU/Linux (recovery mode)' {{\n\tlinux\t/boot/vmlinuz-{RELEASE} "
        "root=UUID=2a ro single\n}\n"
        for line in lines
    )
    return f"### BEGIN /etc/grub.d/10_linux ###\n{entries}### END /etc/grub.d/10_linux ###\n"


def drop_in(parameters: str = PARAMETERS) -> str:
    """Our drop-in as the role renders it."""
    return (
        "# Written by apuhost; edits here are overwritten. "
        "The settings are kernel_* in the inventory.\n"
        "# Way back: docs/way-back.md "
        "(this file removed, *.before-apuhost files put back, update-grub).\n"
        f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {parameters}"\n'
    )


def host_facts(
    *,
    grub: Mapping[str, str] | None = None,
    grub_cfg: str | None = None,
    modprobe: Mapping[str, str] | None = None,
    **parts: str,
) -> HostFacts:
    """A healthy reference host, deployed by apuhost, but for the parts that are given."""
    sources = {"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in()} if grub is None else grub
    text = menu(f"quiet {PARAMETERS}") if grub_cfg is None else grub_cfg
    texts = {
        **PARTS,
        "grub": framed(sources),
        "grub_cfg": framed({"/boot/grub/grub.cfg": text}),
        "modprobe": framed(modprobe or {}),
        "compose": framed({compose.PATH: rendered()[compose.PATH]}),
        "units": stack.units(unit_files()),
        **parts,
    }
    made = texts["containers"].replace(stack.MADE_FROM, made_from())
    return facts_of({**texts, "containers": made})


def facts_of(texts: Mapping[str, str]) -> HostFacts:
    """A host whose probes print these texts."""
    readings = {name: Reading(text, 0) for name, text in texts.items()}
    return HostFacts("minipc", GATHERED, readings)


@cache
def rendered() -> Mapping[str, str]:
    """The files of the roles ollama and models as a deploy of the reference host writes them."""
    facts, asked = facts_of(PARTS), settings()
    derived = derive(asked, facts)
    changes = (
        *compose.file(derived, facts),
        *ollama.unit(derived, facts),
        *models.program(derived, facts),
        *models.unit(derived, facts),
        *boot.files(derived, facts),
    )
    return {change.path: change.after for change in changes}


@cache
def made_from() -> str:
    """The label of a container that was made of the reference host's compose file."""
    service = yaml.safe_load(rendered()[compose.PATH])["services"]["ollama"]
    return str(service["labels"]["apuhost.made-from"])


def unit_files() -> dict[str, str]:
    """Those that the probe of units reads."""
    return {path: text for path, text in rendered().items() if path != compose.PATH}


def deployed(facts: HostFacts, plan: HostPlan) -> HostFacts:
    """The same host after its plan was carried out: files written, menu built, rebooted if due."""
    written = {change.path: change.after for change in plan.files}
    sources = {file.path: file.text for file in facts.grub.files}
    sources |= {path: text for path, text in written.items() if path.startswith("/etc/default/")}
    sources = dict(sorted(sources.items()))
    options = {file.path: written.get(file.path, file.text) for file in facts.modprobe.files}
    lines = grub.configured(tuple(TextFile(path, text) for path, text in sources.items()))
    line = f"{lines.linux} {lines.linux_default}".strip()
    parts = {name: reading.text for name, reading in facts.readings.items()}
    if plan.reboot:
        parts |= {"cmdline": f"{LINE} {line}\n", "boot": _next_boot(facts)}
    parts |= {
        "grub": framed(sources),
        "grub_cfg": framed({"/boot/grub/grub.cfg": menu(line)}),
        "modprobe": framed(options),
        "kernel": parts["kernel"].replace(" stale", ""),
        "loader": "".join(
            each for each in parts["loader"].splitlines(True) if not each.startswith("newer=")
        ),
    }
    return HostFacts(facts.host, facts.gathered, {n: Reading(t, 0) for n, t in parts.items()})


def _next_boot(facts: HostFacts) -> str:
    later = f"booted_at={facts.boot.booted_at + 10**9}"
    text = facts.readings["boot"].text.replace(f"booted_at={facts.boot.booted_at}", later)
    return re.sub(r"firmware=.*\n", "", text)


REFERENCE = {
    "name": stack.QWEN.name,
    "digest": stack.QWEN.digest,
    "parameters": {"num_batch": 512, "draft_num_predict": 2},
    "preload": True,
}
"""The model of the reference host, as an inventory asks for it."""


def settings(**data: object) -> Settings:
    """Settings from host data, which must be right; the reference model where none is named."""
    resolved, problems = resolve("minipc", {"models_list": [REFERENCE], **data})
    if resolved is None:
        raise ValueError(problems)
    return resolved
