"""Packages, groups, device nodes, Vulkan, units and the port: what the system's programs print."""

from collections.abc import Iterable, Mapping

from tests.support.stack.frames import framed

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
    known = ("docker", "apuhost-ollama", "apuhost-models", "apuhost-firewall")
    absent = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
    there = {"docker", *(path.rpartition("/")[2].removesuffix(".service") for path in files)}
    shown = [
        unit(
            f"{name}.service",
            **(({} if name in there else absent) | dict((changed or {}).get(name, {}))),
        )
        for name in known
    ]
    told = {"units": "\n".join(shown), "untrusted": untrusted, "newer": newer}
    return framed({**told, **files})


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
