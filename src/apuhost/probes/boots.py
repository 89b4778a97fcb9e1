"""What the host saved of its boots, and when: of the newest ones before this one, what is in it.

The program of the boot role saves them (roles/boot), one compressed file each.
"""

import binascii
import gzip
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number

FOLDER = "/var/lib/apuhost/boots"
MAGIC = b"\x1f\x8b"
"""What a file of gzip begins with (RFC 1952)."""

MOST_SENT = 3
_MOST_SENT_BYTES = 6 * 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024

# The first line has this boot's id: of it the other probes tell.
COMMAND = f"""
now=$(cat /proc/sys/kernel/random/boot_id)
left={MOST_SENT} room={_MOST_SENT_BYTES}
cd {FOLDER} 2>/dev/null || {{ echo end; exit 0; }}
for file in $(ls -t | grep -xE '[0-9a-f-]{{36}}\\.gz'); do
  boot=${{file%.gz}}
  known=$(stat -L -c '%s %Y' "$file") || continue
  set -- $known
  echo "boot $boot $1 $2"
  if [ "$boot" != "$now" ] && [ "$left" -gt 0 ] && [ "$1" -le "$room" ]; then
    left=$((left - 1)) room=$((room - $1))
    echo "saved $boot $(base64 -w 0 <"$file")"
  fi
done
echo end
"""

_ID = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class KeptBoot:
    """One boot: its id, the file's bytes, when it was saved (seconds since 1970).

    `text` is what was saved; None where it was not sent. `damaged`: what was sent is no such file.
    """

    boot_id: str
    size: int
    saved_at: int
    text: str | None
    damaged: bool


@dataclass(frozen=True)
class Boots:
    """The boots that the host keeps, the one that was saved last first."""

    kept: tuple[KeptBoot, ...]

    def of(self, boot_id: str) -> KeptBoot | None:
        """Return what is kept of a boot."""
        return next((each for each in self.kept if each.boot_id == boot_id), None)


def parse(text: str) -> Boots:
    """Read the lines that COMMAND prints; a line of another form is passed over.

    Raises:
        ParseError: they were cut.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != "end":
        raise ParseError("the list of saved boots ends in the middle")
    sent = {}
    for line in lines:
        match line.split(" "):
            case ["saved", boot_id, encoded]:
                sent[boot_id] = _opened(encoded)
    return Boots(tuple(each for line in lines if (each := _kept(line, sent))))


def _kept(line: str, sent: Mapping[str, str | None]) -> KeptBoot | None:
    match line.split(" "):
        case ["boot", boot_id, size, saved_at] if _ID.fullmatch(boot_id):
            numbers = whole_number(size), whole_number(saved_at)
            if numbers[0] is None or numbers[1] is None:
                return None
            text = sent.get(boot_id)
            damaged = boot_id in sent and text is None
            return KeptBoot(boot_id, numbers[0], numbers[1], text, damaged)
    return None


def _opened(encoded: str) -> str | None:
    try:
        return opened(b64decode(encoded, validate=True))
    except (ValueError, binascii.Error, ParseError):
        return None


def opened(raw: bytes) -> str:
    """The text of a saved file.

    Raises:
        ParseError: it is damaged, or larger than anything that a host saves.
    """
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        text = unpacker.decompress(raw, _MOST_BYTES)
    except zlib.error as error:
        raise ParseError("a saved boot is damaged") from error
    if not unpacker.eof:
        raise ParseError("a saved boot is cut, or too large")
    return text.decode("utf-8", "surrogateescape")


def listed(files: Iterable[Path], this_boot: str) -> str:
    """What COMMAND prints of these files where it is not run: on the host that judges itself.

    Raises:
        OSError: one cannot be read.
    """
    lines = []
    for file in sorted(files, key=lambda each: -each.stat().st_mtime):
        known, boot_id = file.stat(), file.name.removesuffix(".gz")
        lines.append(f"boot {boot_id} {known.st_size} {int(known.st_mtime)}\n")
        if boot_id != this_boot and len(lines) <= MOST_SENT * 2:
            lines.append(f"saved {boot_id} {b64encode(file.read_bytes()).decode()}\n")
    return f"{''.join(lines)}end\n"


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text of COMMAND with a change made in each saved boot; a damaged one is left out."""
    return "".join(_rewritten(line, change) for line in text.splitlines(keepends=True))


def _rewritten(line: str, change: Callable[[str], str]) -> str:
    match line.rstrip("\n").split(" "):
        case ["saved", boot_id, encoded]:
            saved = _opened(encoded)
            if saved is None:
                return ""
            raw = change(saved).encode("utf-8", "surrogateescape")
            return f"saved {boot_id} {b64encode(gzip.compress(raw, mtime=0)).decode()}\n"
    return line


def without_saved(text: str) -> str:
    """The text of COMMAND without what is in the saved boots."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("saved "))
