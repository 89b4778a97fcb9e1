"""What a mirror's host keeps and serves: bundles, the registry's trees, its certificates.

Bundles are brought by `apuhost bundle install`, which marks each that is whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.mirror import FOLDER
from apuhost.probes.pairs import whole_number

STORE = "/var/lib/apuhost/mirror"
BUNDLES = f"{STORE}/bundles"
MARK = ".whole"
"""What a bundle's folder has beside it, under its name and this, when every file was checked."""

CURRENT = f"{STORE}/current"
TREES = f"{STORE}/registry"
AUTHORITY = f"{STORE}/ca"

REGISTRY, FILES = "apuhost-registry.service", "apuhost-files.service"
REGISTRY_CONF = f"{FOLDER}/registry.yml"
FILES_CONF = f"{FOLDER}/nginx.conf"

_MOST_BYTES = 256 * 1024

# The times are ctimes, as in units.py.
_READ = f"""
digest() {{ sha256sum <"$1" | cut -d' ' -f1; }}
for mark in bundles/*{MARK}; do
  [ -e "$mark" ] || continue
  folder=${{mark%{MARK}}}
  printf 'bundle %s %s\\n' "${{folder#bundles/}}" "$(digest "$folder/lock.json")"
done
[ ! -h current ] || printf 'current %s\\n' "$(readlink current)"
for tree in registry/*; do [ ! -d "$tree" ] || printf 'tree %s\\n' "${{tree#registry/}}"; done
moment() {{ date -u -d "$(openssl x509 -in "$1" -noout "-$2" | cut -d= -f2)" +%s; }}
for name in ca server; do
  file=ca/$name.crt
  [ -f "$file" ] || continue
  times="$(moment "$file" startdate) $(moment "$file" enddate)"
  printf 'certificate %s %s\\n' "$name" "$times"
done
if [ -f ca/server.crt ]; then
  printf 'names %s\\n' "$(openssl x509 -in ca/server.crt -noout -ext subjectAltName |
    sed -n '2s/^ *//p')"
  openssl verify -no_check_time -CAfile ca/ca.crt ca/server.crt >/dev/null && echo signed yes
fi
[ ! -f ca/ca.crt ] || printf 'authority %s\\n' "$(digest ca/ca.crt)"
newer() {{
  since=$(systemctl show --timestamp=us+utc "$1" -p ExecMainStartTimestamp | cut -d= -f2)
  [ -z "$since" ] || find "$2" ca/server.crt ca/server.key -newerct "$since" ! -newerct now \\
    -printf "newer $1 %p\\n"
}}
newer {REGISTRY} {REGISTRY_CONF}
newer {FILES} {FILES_CONF}
"""
COMMAND = f"""
if cd {STORE} 2>/dev/null; then ({_READ}) | head -c {_MOST_BYTES}; fi
echo end
"""


@dataclass(frozen=True)
class Certificate:
    """From when until when it holds, in seconds since the epoch."""

    since: int
    until: int


@dataclass(frozen=True)
class Serving:
    """What is there; nothing of it on a host that is no mirror.

    Attributes:
        bundles: the SHA-256 of the lock of each whole bundle, by its serial.
        current: where the link of what is served leads, as `bundles/7`; "" without one.
        trees: the registry's folders, each of one lock's images.
        authority: the CA's certificate.
        authority_digest: SHA-256 of its file; "" without one.
        server: the certificate that both services show.
        names: of it, as openssl prints them: `IP Address:192.0.2.2`.
        signed: whether the CA signed it.
        newer: for a unit the files that it read at its start and that changed since.
    """

    bundles: Mapping[str, str]
    current: str
    trees: tuple[str, ...]
    authority: Certificate | None
    authority_digest: str
    server: Certificate | None
    names: str
    signed: bool
    newer: Mapping[str, tuple[str, ...]]


def parse(text: str) -> Serving:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: they were cut.
    """
    lines = [line for line in text.split("\n") if line]
    if lines[-1:] != ["end"]:
        raise ParseError("what the mirror keeps ends in the middle")
    told = [tuple(line.split(" ", 2)) for line in lines[:-1]]
    whole: dict[str, str] = {}
    certificates: dict[str, Certificate] = {}
    newer: dict[str, tuple[str, ...]] = {}
    for each in told:
        match each:
            case ("bundle", serial, digest):
                whole[serial] = digest
            case ("certificate", name, times):
                certificates |= _certificate(name, times)
            case ("newer", unit, path):
                newer[unit] = (*newer.get(unit, ()), path)
    return Serving(
        bundles=whole,
        current=_last(told, "current"),
        trees=tuple(each[1] for each in told if each[0] == "tree"),
        authority=certificates.get("ca"),
        authority_digest=_last(told, "authority"),
        server=certificates.get("server"),
        names=_last(told, "names"),
        signed=("signed", "yes") in told,
        newer=newer,
    )


def _last(told: list[tuple[str, ...]], word: str) -> str:
    return next((" ".join(each[1:]) for each in reversed(told) if each[0] == word), "")


def _certificate(name: str, times: str) -> dict[str, Certificate]:
    """One that cannot be read, since it is broken or openssl is away, is as good as none."""
    since, _, until = times.partition(" ")
    first, last = whole_number(since), whole_number(until)
    return {} if first is None or last is None else {name: Certificate(first, last)}
