"""What apt and Docker answer of the site's mirror: asked only where there is one, nothing is kept.

The images are asked for as dockerd asks, with the certificate that lies beside the registry's name
in its folder. `docker manifest inspect` is the client's own request: the daemon is not needed, and
apt's downloader would not do, since registries give OCI's index only to who says to accept it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.mirror import APT_OPTIONS, CERTIFICATE, CERTIFICATES, LOCK, SOURCE

_ANSWER_S = 8
_MOST_BYTES = 1024 * 1024

TIMEOUT_S = 90
"""apt makes its cache of the mirror's lists, twice; then each image is asked for."""

# apt's cache of the mirror alone stays in memory: on disk it would take the place of the one of all
# sources, which whoever asks apt next would wait for (apt_sources, in every run).
_ALONE = f"{APT_OPTIONS} -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache="

# The lock is JSON in lines (lockfile.as_text). Where an image is there: oci/storage.py.
_READ = f"""
apt-config dump | grep -iE '^Acquire::https::(.*::)?(Verify-(Peer|Host)|CAInfo) ' |
  sed -n 's/^Acquire::https::\\(.*\\) "\\(.*\\)";$/tls \\1 \\2/Ip'
if [ -r {SOURCE} ]; then
  apt-cache {_ALONE} policy | sed -n 's/^ *-*[0-9][0-9]* \\([^ ]*:[^ ]* .*\\)/source \\1/p'
  sed -n 's/^ *"name": "\\([a-z0-9][a-z0-9.+-]*\\)",$/\\1/p' {LOCK} |
    xargs -r apt-cache {_ALONE} policy |
    awk '/^[^ ].*:$/ {{ name = substr($0, 1, length($0) - 1) }}
      /^  Candidate: [^(]/ {{ print "candidate", name, $2 }}'
fi
command -v docker >/dev/null &&
for file in {CERTIFICATES}/*/ca.crt; do
  cmp -s "$file" {CERTIFICATE} || continue
  registry=${{file%/ca.crt}}; registry=${{registry##*/}}
  sed -n 's/^ *"reference": "\\([^"]*\\)",$/\\1/p' {LOCK} |
    sed 's/:[^:@/]*@/@/; s~^\\([^/]*\\):\\([0-9]*\\)/~\\1_\\2/~' |
  while read -r image; do
    said=$(timeout {_ANSWER_S} docker manifest inspect "$registry/$image" 2>&1 >/dev/null) &&
      said=there || said="${{said:-no answer within {_ANSWER_S} s}}"
    printf 'image %s/%s %s\\n' "$registry" "$image" "$(printf %s "$said" | tr '\\n' ' ')"
  done
done
echo end
"""
COMMAND = f"""
[ -r {LOCK} ] || {{ echo end; exit 0; }}
({_READ}) | head -c {_MOST_BYTES}
"""

THERE = "there"


@dataclass(frozen=True)
class MirrorAnswers:
    """What apt reads with the mirror's source alone, and what it would install of it.

    `sources` are apt's own words, such as `https://192.0.2.1:8443/apt trixie/main amd64 Packages`;
    `images` tells of each of the lock's, by its name at the mirror: THERE, or what was said; `tls`
    is what apt is told of certificates below Acquire::https, by its name in small letters.
    """

    sources: tuple[str, ...]
    candidates: Mapping[str, str]
    images: Mapping[str, str]
    tls: Mapping[str, str]

    def told(self, option: str, host: str) -> str:
        """What apt is told of certificates of a host: of it, else of all; "" where nothing."""
        name = option.lower()
        return self.tls.get(f"{host}::{name}") or self.tls.get(name, "")


def parse(text: str) -> MirrorAnswers:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: they were cut.
    """
    lines = [line for line in text.split("\n") if line]
    if lines[-1:] != ["end"]:
        raise ParseError("the answers end in the middle")
    return MirrorAnswers(
        tuple(_told(lines, "source")),
        dict(_pairs(lines, "candidate")),
        dict(_pairs(lines, "image")),
        {name.lower(): value for name, value in _pairs(lines, "tls")},
    )


def _told(lines: Iterable[str], kind: str) -> Iterator[str]:
    return (line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} "))


def _pairs(lines: Iterable[str], kind: str) -> Iterator[tuple[str, str]]:
    for told in _told(lines, kind):
        name, _, value = told.partition(" ")
        yield name, value.strip()
