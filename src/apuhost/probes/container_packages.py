"""Mesa's packages in Ollama's container, which has its own whatever the host has.

dpkg's list is read where the container's first process sees it (proc_pid_root(5)): nothing is run
in the container. What stands there is the image's word, so it is bounded, and read as a plain file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S

_MOST_BYTES = 8 * 1024 * 1024  # of a list, as of a host's
_MOST_PACKAGES = 100
_READ_S = 5
_LINE = re.compile(r"package ([a-z0-9][a-z0-9+.-]*) (\S+)")

# A paragraph a package (deb-control(5)).
_PACKAGES = """
  BEGIN { RS = ""; FS = "\\n" }
  {
    name = version = ""
    whole = 0
    for (n = 1; n <= NF; n++) {
      if ($n ~ /^Package: /) name = substr($n, 10)
      if ($n ~ /^Version: /) version = substr($n, 10)
      if ($n == "Status: install ok installed") whole = 1
    }
    if (whole && name ~ /^(mesa-|libvulkan)/) print "package " name " " version
  }
  END { print "end" }
"""
_PID = "{{.State.Pid}}"
COMMAND = f"""
{CONTAINER}
refuse() {{ printf 'refused %s\\n' "$1"; exit 0; }}
id=$(ollama_container) || refuse 'docker does not answer'
[ -n "$id" ] || {{ echo absent; exit 0; }}
pid=$(timeout {DOCKER_TIMEOUT_S} docker inspect --type container --format '{_PID}' "$id") ||
  refuse 'docker does not answer'
[ "$pid" -gt 0 ] || refuse "Ollama's container does not run"
list=/proc/$pid/root/var/lib/dpkg/status
[ -f "$list" ] || refuse "Ollama's container has no list of packages"
[ "$(wc -c <"$list")" -le {_MOST_BYTES} ] || refuse "its list of packages is too long"
timeout {_READ_S} awk '{_PACKAGES}' "$list" | head -n {_MOST_PACKAGES}
"""


@dataclass(frozen=True)
class ContainerPackages:
    """Versions of Mesa's and Vulkan's installed packages; None without a container of Ollama's."""

    installed: Mapping[str, str] | None


def parse(text: str) -> ContainerPackages:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: the list could not be read, and why; or it was cut.
    """
    lines = text.rstrip("\n").split("\n")
    if lines == ["absent"]:
        return ContainerPackages(None)
    if lines[0].startswith("refused "):
        raise ParseError(lines[0].removeprefix("refused "))
    if lines[-1] != "end":
        raise ParseError("the packages were not listed to the end")
    found = (match for line in lines[:-1] if (match := _LINE.fullmatch(line)))
    return ContainerPackages({match[1]: match[2] for match in found})
