"""The running kernel and the installed ones, each with the GPU modules that it has."""

import re
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number

# ctime, not mtime: dpkg gives files the mtime of the build, ctime is when they were installed.
# depmod's lists, not modinfo: that unpacks each module, seconds for amdgpu on a slow machine.
# An initramfs holds a copy of modprobe.d: it is stale when it is older than a file that apuhost
# changed there, which the ctime of the backup beside it tells.
COMMAND = """
printf 'running %s\\n' "$(uname -r)"
for image in /boot/vmlinuz-*; do
  [ -f "$image" ] || continue
  release=${image#/boot/vmlinuz-}
  initramfs=/boot/initrd.img-$release
  printf 'installed %s %s %s' "$release" "$(stat -c %Z "$image")" \\
    "$(stat -c %Z "$initramfs" 2>/dev/null || echo -)"
  [ -f "$initramfs" ] && find /etc/modprobe.d/ -name '*.before-apuhost*' \\
    -newercm "$initramfs" -printf ' stale' -quit
  for module in amdgpu ttm amdttm; do
    grep -qs "/$module\\.ko" "/lib/modules/$release/modules.dep" \\
      "/lib/modules/$release/modules.builtin" && printf ' %s' "$module"
  done
  echo
done
"""

_RELEASE = re.compile(r"[0-9]+\.[0-9]")  # what `running` says in prose is none


@dataclass(frozen=True)
class InstalledKernel:
    """One /boot/vmlinuz-RELEASE; times are ctimes in seconds since the epoch."""

    release: str
    installed_at: int | None
    initramfs_at: int | None
    initramfs_stale: bool
    modules: frozenset[str]


@dataclass(frozen=True)
class Kernels:
    """The running release (`uname -r`) and every kernel under /boot."""

    running: str
    installed: tuple[InstalledKernel, ...]


def parse(text: str) -> Kernels:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: the running kernel is not named.
    """
    running = None
    installed = []
    for line in text.splitlines():
        match line.split():
            case ["running", release] if _RELEASE.match(release):
                running = release
            case ["installed", release, image, initramfs, *modules]:
                installed.append(
                    InstalledKernel(
                        release,
                        whole_number(image),
                        whole_number(initramfs),
                        "stale" in modules,
                        frozenset(modules) - {"stale"},
                    )
                )
    if running is None:
        raise ParseError("the running kernel is not named")
    return Kernels(running, tuple(installed))
