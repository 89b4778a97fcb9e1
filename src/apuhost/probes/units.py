"""systemd's units of ours and docker's, our files beside them, and what is newer than dockerd."""

from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError, files
from apuhost.probes.files import TextFile
from apuhost.probes.pairs import pairs, whole_number

DOCKER = "docker.service"
UNITS = (
    DOCKER,
    "apuhost-ollama.service",
    "apuhost-models.service",
    "apuhost-firewall.service",
    "apuhost-boot.service",
    "apuhost-boot.timer",
    "apuhost-registry.service",
    "apuhost-files.service",
)

RELOADED = "/run/apuhost/docker-reloaded"
"""Touched when dockerd has taken up daemon.json without a restart: a reload reads nothing else."""

SCRIPT = "/usr/local/lib/apuhost/probes"
"""The script of all probes, which the host runs by itself: its digest tells enough."""

_CERTIFICATES = "/usr/local/share/ca-certificates/apuhost*.crt"
_TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
_DAEMON_JSON = "/etc/docker/daemon.json"
_READ_AT_START = f"/etc/systemd/system/{DOCKER}.d {_CERTIFICATES}"
_PROPERTIES = (
    "Id,LoadState,ActiveState,SubState,Result,UnitFileState,ExecMainStatus,NeedDaemonReload"
)

# update-ca-certificates copies each file's lines as they are into one file, and links to it. The
# times are ctimes: a file that was moved into place keeps its mtime. The folder of drop-ins counts
# too: it changes when one goes. A file may be written in the second in which dockerd starts.
COMMAND = f"""
frame() {{ printf '==> %d %s\\n%s\\n' "${{#2}}" "$1" "$2"; }}
untrusted() {{
  for file in {_CERTIFICATES}; do
    [ -f "$file" ] || continue
    if ! [ -r {_TRUSTED} ] || grep -qvxF -f {_TRUSTED} "$file"; then
      echo "$file is not in {_TRUSTED}"
    fi
  done
  for link in /etc/ssl/certs/apuhost*.pem; do
    [ -h "$link" ] && ! [ -e "$link" ] && echo "$link is trusted, its certificate is gone"
  done
}}
newer() {{
  since=$(systemctl show --timestamp=us+utc {DOCKER} -p ExecMainStartTimestamp | cut -d= -f2)
  [ -n "$since" ] || return
  find {_READ_AT_START} -newerct "$since" ! -newerct now \\
    '(' -type d -o -name '*.conf' -o -name '*.crt' ')'
  set --
  [ -e {RELOADED} ] && set -- -cnewer {RELOADED}
  find {_DAEMON_JSON} -newerct "$since" ! -newerct now "$@"
}}
frame units "$(systemctl show -p {_PROPERTIES} {" ".join(UNITS)})"
frame untrusted "$(untrusted)"
frame newer "$(newer)"
frame script "$([ ! -r {SCRIPT} ] || sha256sum <{SCRIPT} | cut -d' ' -f1)"
""" + files.command(
    "/etc/systemd/system/apuhost-*.service",
    "/etc/systemd/system/apuhost-*.timer",
    "/etc/apuhost/boot/*",
    *(f"/usr/local/lib/apuhost/{name}" for name in ("preload", "firewall", "boot")),
    _CERTIFICATES,
    "/etc/apt/apt.conf.d/*apuhost*",
)


@dataclass(frozen=True)
class Unit:
    """One unit in systemd's words; `main_status` is the exit status of its last main process."""

    id: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    unit_file_state: str
    main_status: int | None
    need_daemon_reload: bool


@dataclass(frozen=True)
class Units:
    """Units by their names; one that systemd does not know has the load state "not-found".

    `untrusted` says why certificates of ours are not what the host trusts; `newer_than_docker`
    are paths that dockerd reads at its start and that changed since; `script` is the SHA-256 of
    SCRIPT, "" where it is not there.
    """

    units: Mapping[str, Unit]
    files: tuple[TextFile, ...]
    untrusted: tuple[str, ...]
    newer_than_docker: tuple[str, ...]
    script: str

    def known(self, name: str) -> bool:
        """Whether systemd knows a unit of that name, which can be started then."""
        unit = self.units.get(name)
        return unit is not None and unit.load_state != "not-found"

    def text(self, path: str) -> str | None:
        """Return the text of a file of ours, or None: there is no such file."""
        return next((file.text for file in self.files if file.path == path), None)


def parse(text: str) -> Units:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    found = files.parse_files(text)
    told = {file.path: file.text for file in found if not file.path.startswith("/")}
    if not {"units", "untrusted", "newer"} <= told.keys():
        raise ParseError("systemd's answer is not there")
    shown = (_unit(dict(pairs(block))) for block in told["units"].split("\n\n"))
    return Units(
        units={unit.id: unit for unit in shown if unit.id},
        files=tuple(file for file in found if file.path.startswith("/")),
        untrusted=_lines(told["untrusted"]),
        newer_than_docker=_lines(told["newer"]),
        script=told.get("script", ""),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)


def _unit(values: Mapping[str, str]) -> Unit:
    return Unit(
        id=values.get("Id", ""),
        load_state=values.get("LoadState", ""),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        unit_file_state=values.get("UnitFileState", ""),
        main_status=whole_number(values.get("ExecMainStatus")),
        need_daemon_reload=values.get("NeedDaemonReload") == "yes",
    )
