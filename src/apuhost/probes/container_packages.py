"""Mesa's packages in Ollama's container, which has its own whatever the host has.

dpkg's list is read where the container's first process sees it (proc_pid_root(5)): nothing is run
in the container. What stands there is the container's word. The kernel follows an absolute link
below that root from the reader's own root, where it would name a file of the host's, so a list
behind a link is refused. It is opened once, and of it only the names and versions of Mesa's
packages are printed, each bounded: that holds even where a link is put there meanwhile.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S

_MOST_BYTES = 8 * 1024 * 1024  # of a list, as of a host's
_MOST_PACKAGES = 100
_MOST_CHARACTERS = 80
"""Of a name, and of a version."""

_READ_S = 5
_LINE = re.compile(
    rf"package ([a-z0-9][a-z0-9+.-]{{0,{_MOST_CHARACTERS - 1}}}) ([!-~]{{1,{_MOST_CHARACTERS}}})"
)

# A paragraph a package (deb-control(5)). mawk before 1.3.4-20200717 does not know {1,80}.
_PACKAGES = f"""
  function bounded(word) {{ return word ~ /^[!-~]+$/ && length(word) <= {_MOST_CHARACTERS} }}
  BEGIN {{ RS = ""; FS = "\\n" }}
  {{
    name = version = ""
    whole = 0
    for (n = 1; n <= NF; n++) {{
      if ($n ~ /^Package: /) name = substr($n, 10)
      if ($n ~ /^Version: /) version = substr($n, 10)
      if ($n == "Status: install ok installed") whole = 1
    }}
    if (whole && name ~ /^(mesa-|libvulkan)/ && bounded(name) && bounded(version))
      print "package " name " " version
  }}
  END {{ print "end" }}
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
root=/proc/$pid/root
list=$root/var/lib/dpkg/status
for place in "$root/var" "$root/var/lib" "$root/var/lib/dpkg" "$list"; do
  [ ! -L "$place" ] || refuse "${{place#"$root"}} is a link in Ollama's container: not followed"
done
if [ ! -e "$list" ]; then
  [ -d "$root/." ] || refuse "Ollama's container does not run"
  echo end
  exit 0
fi
[ -f "$list" ] || refuse "${{list#"$root"}} is no plain file in Ollama's container"
{{
  found=$(head -c {_MOST_BYTES} | timeout {_READ_S} awk '{_PACKAGES}')
  [ "$(head -c 1 | wc -c)" -eq 0 ] ||
    refuse "${{list#"$root"}} of Ollama's container is too long"
}} <"$list"
printf '%s\\n' "$found" | head -n {_MOST_PACKAGES}
"""


@dataclass(frozen=True)
class ContainerPackages:
    """Versions of Mesa's and Vulkan's installed packages; None without a container of Ollama's.

    An image without dpkg has none.
    """

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
