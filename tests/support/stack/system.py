"""Packages, groups, device nodes, Vulkan, units and the port: what the system's programs print."""

import gzip
from base64 import b64encode
from collections.abc import Iterable, Mapping

from apuhost.probes.units import SCRIPT, UNITS
from apuhost.round_trip import Reading
from tests.support.stack.frames import framed, sha256

RENDER, VIDEO = 992, 44

PACKAGES = {
    "mesa-vulkan-drivers": "25.0.7-2",
    "vulkan-tools": "1.4.309.0+dfsg1-1",
    "firmware-amd-graphics": "20250410-2",
    "docker.io": "26.1.5+dfsg1-9",
    "docker-cli": "26.1.5+dfsg1-9",
    "docker-compose": "2.26.1-4",
}


def packages(*lacking: str, broken: str = "") -> str:
    """The list of dpkg without some packages, and perhaps with one that was left half-way."""
    lines = [
        f"ii |{name}|{version}|amd64\n"
        for name, version in PACKAGES.items()
        if name not in (*lacking, broken)
    ]
    halfway = f"iF |{broken}|1|amd64\n" if broken else ""
    return f"native amd64\n{''.join(lines)}{halfway}end\n"


def accounts(*, render: int = RENDER, members: str = "admin", docker: str = "") -> str:
    """The groups that count, and the users root and admin."""
    return (
        f"group render:x:{render}:{members}\ngroup video:x:{VIDEO}:{members}\n"
        f"group docker:x:997:{docker}\nuser root\nuser admin\nend\n"
    )


def nodes(*, mode: str = "660", gid: int = RENDER, group: str = "render", kfd: bool = True) -> str:
    """The device nodes of one GPU."""
    rocm = f"node {mode} 0 {gid} {group} /dev/kfd\n" if kfd else ""
    return (
        f"node 660 0 {VIDEO} video /dev/dri/card0\n"
        f"node {mode} 0 {gid} {group} /dev/dri/renderD128\n{rocm}"
    )


BANNER = (
    "==========\nVULKANINFO\n==========\n\nVulkan Instance Version: 1.4.309\n\nDevices:\n========\n"
)
RADV = (
    "GPU0:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n"
    "\tvendorID           = 0x1002\n\tdeviceID           = 0x1900\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU\n"
    "\tdeviceName         = AMD Radeon 780M Graphics (RADV PHOENIX)\n"
    "\tdriverID           = DRIVER_ID_MESA_RADV\n\tdriverName         = radv\n"
    "\tdriverInfo         = Mesa 25.0.7-2\n\tconformanceVersion = 1.4.0.0\n"
)
LLVMPIPE = (
    "GPU1:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n"
    "\tvendorID           = 0x10005\n\tdeviceID           = 0x0000\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU\n"
    "\tdeviceName         = llvmpipe (LLVM 19.1.7, 256 bits)\n"
    "\tdriverID           = DRIVER_ID_MESA_LLVMPIPE\n\tdriverName         = llvmpipe\n"
    "\tdriverInfo         = Mesa 25.0.7-2 (LLVM 19.1.7)\n\tconformanceVersion = 1.3.1.1\n"
)


def vulkaninfo(*devices: str) -> str:
    """The summary of these devices."""
    return f"{BANNER}{''.join(devices)}"


def unit(name: str, **changes: str) -> str:
    """A unit that did its work, other in some properties."""
    shown = {
        "Id": name,
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "exited",
        "Result": "success",
        "UnitFileState": "enabled",
        "ExecMainStatus": "0",
        "NeedDaemonReload": "no",
        **changes,
    }
    return "".join(f"{key}={value}\n" for key, value in shown.items())


def units(
    files: Mapping[str, str],
    *,
    untrusted: str = "",
    newer: str = "",
    changed: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The units of docker and ours, some of them other in some properties, and files of ours."""
    absent = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
    there = {"docker.service", *(path.rpartition("/")[2] for path in files)}
    others = {
        name if "." in name else f"{name}.service": as_ for name, as_ in (changed or {}).items()
    }
    done = {"apuhost-boot.service": {"ActiveState": "inactive", "SubState": "dead"}}
    shown = [
        unit(
            name,
            **((done.get(name, {}) if name in there else absent) | dict(others.get(name, {}))),
        )
        for name in UNITS
    ]
    told = {"units": "\n".join(shown), "untrusted": untrusted, "newer": newer}
    script = next((sha256(text) for path, text in files.items() if path == SCRIPT), "")
    read = {path: text for path, text in files.items() if path != SCRIPT}
    return framed({**told, "script": script, **read})


def firewall(
    *listening: str,
    rules: Iterable[str] = (),
    forward: Iterable[str] = ("-A FORWARD -j DOCKER-USER",),
    led: str = "11434",
    flags: str = "",
) -> str:
    """FORWARD, DOCKER-USER with rules behind it, ports that Docker leads on, and who listens."""
    chains = ("-N DOCKER-USER", *forward, *rules)
    shown = {"iptables": "\n".join(chains), "led": led, "dockerd": flags}
    sockets = listening or ("0.0.0.0:22", "127.0.0.1:11434")
    shown["ss"] = "\n".join(f"LISTEN 0 4096 {socket} 0.0.0.0:*" for socket in sockets)
    return framed({**shown, "end": ""})


BOOT_ID = "2d50da51-0000-4000-8000-000000000001"
BEFORE = "11111111-2222-4333-8444-555555555555"


NOW = 1_795_943_640
"""When the host was read: 2026-11-29 09:14."""

SAVED_AT = NOW - 60
DAY_BEFORE = NOW - 86_400


def boots(*past: str, this: int | None = SAVED_AT, sent: bool = True) -> str:
    """What is kept of this boot, saved at a time, and of boots before it, the newest first."""
    lines = [] if this is None else [f"boot {BOOT_ID} 90000 {this}\n"]
    for number, text in enumerate(past):
        boot_id = f"{number + 1}{BEFORE[1:]}"
        lines.append(f"boot {boot_id} 90000 {DAY_BEFORE - number * 86_400}\n")
        raw = gzip.compress(text.encode("utf-8", "surrogateescape"), mtime=0)
        lines += [f"saved {boot_id} {b64encode(raw).decode()}\n"] if sent else []
    return f"{''.join(lines)}end\n"


def saved(readings: Mapping[str, Reading], at: int = DAY_BEFORE) -> str:
    """What a host saves of these readings."""
    mark = "==apuhost-0123456789abcdef=="
    framed_readings = "".join(
        f"{mark} begin {name}\n{reading.text}\n{mark} end {name} {reading.status}\n"
        for name, reading in readings.items()
        if name != "boots"
    )
    return f"apuhost-boot {mark} {BEFORE} {at}\n{framed_readings}{mark} whole\n"
