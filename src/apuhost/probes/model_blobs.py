"""The digests that the files of models really have: asked for only on demand, of a mirror's client.

Nobody else looks: Ollama takes a file that is there for what its name says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.container_commands import DOCKER_TIMEOUT_S
from apuhost.probes.mirror import LOCK
from apuhost.probes.model_store import FIND

ALL_S = 85
"""For all files together; what was not read until then is not told of."""

TIMEOUT_S = DOCKER_TIMEOUT_S + ALL_S + 5

# openssl uses what the processor has for it, sha256sum of older coreutils does not. Both stand
# before the name, since what is below the volume is the container's.
_HASH = """
digest=$({ openssl dgst -sha256 -r || sha256sum; } 2>/dev/null <"$1/$2" | cut -c 1-64)
[ -n "$digest" ] && printf "%s %s\\n" "$2" "$digest"
"""
COMMAND = f"""
[ -r {LOCK} ] || {{ echo end; exit 0; }}
{FIND}
case "$store" in */models) ;; *) echo end; exit 0 ;; esac
blobs=$store/blobs
[ "$(readlink -f "$blobs")" = "$(readlink -f "$source")${{blobs#"$source"}}" ] || exit 0
find "$blobs" -maxdepth 1 -type f -size +0 -printf '%f\\n' | grep -xE 'sha256-[0-9a-f]{{64}}' |
  timeout {ALL_S} xargs -r -P 4 -n 1 sh -c '{_HASH}' hash "$blobs"
echo end
"""


@dataclass(frozen=True)
class ModelBlobs:
    """By the name of a file, such as sha256-HEX, what its bytes hash to, in hex."""

    digests: Mapping[str, str]

    @property
    def wrong(self) -> tuple[str, ...]:
        """Names of files that hold other bytes than they say."""
        found = self.digests.items()
        return tuple(sorted(name for name, digest in found if name != f"sha256-{digest}"))


def parse(text: str) -> ModelBlobs:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: they were cut, or Docker does not answer.
    """
    lines = [line for line in text.split("\n") if line]
    if lines[-1:] != ["end"]:
        raise ParseError("the files of models could not be found, or were not read to the end")
    told = (line.split(" ") for line in lines[:-1])
    return ModelBlobs({words[0]: words[1] for words in told if len(words) == 2})  # noqa: PLR2004
